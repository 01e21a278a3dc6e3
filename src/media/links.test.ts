import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runOrThrow } from '../process/run.ts';
import { directoryTree } from '../store/tree.ts';
import { findPartList, openParts } from './parts.ts';

/** A FIFO outside of any tree; `marker` appears once anybody has opened it, however briefly. */
async function trap(t: TestContext): Promise<{ directory: string; fifo: string; marker: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-tree-'));
  const fifo = join(directory, 'fifo');
  const marker = join(directory, 'opened');
  await runOrThrow('mkfifo', [fifo]);
  const writer = spawn('sh', ['-c', 'exec 3>"$1"; : > "$2"', 'sh', fifo, marker], { stdio: 'ignore' });
  t.after(async () => {
    writer.kill('SIGKILL');
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
    await rm(directory, { recursive: true });
  });
  return { directory, fifo, marker };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 200));

test('a link is judged before what it leads to is opened', async (t) => {
  const { directory, fifo, marker } = await trap(t);
  const root = join(directory, 'medium');
  await mkdir(join(root, 'inner'), { recursive: true });
  await writeFile(join(root, 'inner', 'file'), 'x');
  await writeFile(join(directory, 'secret'), 'x');
  await symlink(fifo, join(root, 'device'));
  await symlink('/dev/null', join(root, 'null'));
  await symlink('../secret', join(root, 'outside'));
  await symlink('..', join(root, 'inner', 'up'));
  await symlink('inner/file', join(root, 'inside'));
  await runOrThrow('mkfifo', [join(root, 'own-fifo')]);
  await settled();
  const tree = directoryTree(root);
  for (const path of ['device', 'null', 'outside', 'own-fifo', 'inner', 'absent', 'inner/file/x']) {
    assert.equal(await tree.open(path), undefined, path);
  }
  await settled();
  assert.equal(existsSync(marker), false, 'the FIFO was opened');
  for (const path of ['inside', 'inner/file', 'inner/up/inside']) {
    const file = await tree.open(path);
    assert.equal(Buffer.from((await file?.read(0, 10)) ?? '').toString(), 'x', path);
    await file?.close();
  }
});

test('the parts of an image, and their list, are files of their directory', async (t) => {
  const { directory, fifo, marker } = await trap(t);
  const root = join(directory, 'medium');
  await mkdir(root);
  await writeFile(join(root, 'x.iso.parts'), `${'0'.repeat(64)}  x.iso.000\n`);
  await symlink(fifo, join(root, 'x.iso.000'));
  await settled();
  const list = await findPartList(root);
  assert.ok(list);
  await assert.rejects(openParts(list), { code: 'MediaUnreadable', message: /part 1 of 1 is missing/ });
  await rm(join(root, 'x.iso.parts'));
  await symlink('/dev/zero', join(root, 'x.iso.parts'));
  await assert.rejects(openParts(list), { code: 'MediaUnreadable', message: /no list of parts/ });
  await settled();
  assert.equal(existsSync(marker), false, 'the FIFO was opened');
});
