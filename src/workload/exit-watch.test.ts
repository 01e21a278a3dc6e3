import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { watchExits } from './exit-watch.ts';

test('an exit is heard of; a directory that cannot be watched is no error', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-exits-'));
  t.after(() => rm(directory, { recursive: true }));
  const heard = new EventTarget();
  const close = watchExits(directory, () => heard.dispatchEvent(new Event('exit')));
  const exit = once(heard, 'exit');
  await writeFile(join(directory, 'c'), '0');
  await exit;
  close();
  assert.doesNotThrow(() => watchExits(join(directory, 'nothing'), () => {})());
});
