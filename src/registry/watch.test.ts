import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { watchFiles } from './watch.ts';

test('a file that is written, swapped or overwritten in place is noticed, in a watched directory too', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-watch-'));
  const abort = new AbortController();
  t.after(async () => {
    abort.abort();
    await rm(dir, { recursive: true });
  });
  const keys = join(dir, 'keys');
  await mkdir(keys);
  await writeFile(join(keys, 'a.pub'), 'one');
  await mkdir(join(dir, 'old'));
  await writeFile(join(dir, 'old', 'file'), 'old');
  await symlink('old', join(dir, 'data'));
  let changes = 0;
  watchFiles([keys, join(dir, 'data', 'file')], () => (changes += 1), { signal: abort.signal, pollMs: 20 });
  const change = async (what: string, act: () => Promise<unknown>) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = changes;
    await act();
    for (const end = Date.now() + 5_000; changes === before; ) {
      assert.ok(Date.now() < end, `${what} was not noticed`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await change('another key', () => writeFile(join(keys, 'b.pub'), 'two'));
  await change('a key that is overwritten', () => writeFile(join(keys, 'a.pub'), 'ONE'));
  await change('one that hides its time', async () => {
    const time = new Date(0);
    await writeFile(join(keys, 'a.pub'), 'two');
    await utimes(join(keys, 'a.pub'), time, time);
  });
  await change('a key that is taken away', () => rm(join(keys, 'a.pub')));
  await change('a link above a file that leads elsewhere', async () => {
    await mkdir(join(dir, 'new'));
    await writeFile(join(dir, 'new', 'file'), 'new');
    await symlink('new', join(dir, 'data.new'));
    await rename(join(dir, 'data.new'), join(dir, 'data'));
  });
});
