import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noise } from '../../tests/bundles.ts';
import { needs } from '../../tests/tier.ts';
import { runOrThrow } from '../process/run.ts';
import type { Tree } from '../store/tree.ts';
import { openTree } from './media.ts';

let directory: string;
let source: string;

/** Small and large, packed and not, with ends that share a block, with a hole, deep, and many in one directory. */
const files = new Map<string, Uint8Array>([
  ['empty', new Uint8Array(0)],
  ['small', Buffer.from('small')],
  ['zeros', new Uint8Array(3_000_000)],
  ['noise', noise('noise', 2_500_000)],
  ['even', noise('even', 1024 * 1024)],
  ['text', Buffer.from('a line that packs well\n'.repeat(60_000))],
  [`deep/${'d/'.repeat(20)}file`, Buffer.from('deep')],
  ['a name with spaces and ünïcode', Buffer.from('name')],
]);
for (let index = 0; index < 1500; index += 1)
  files.set(`many/${'x'.repeat(60)}${index}`, Buffer.from(`${index}`));

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-squashfs-'));
  source = join(directory, 'source');
  for (const [path, bytes] of files) {
    await mkdir(join(source, path, '..'), { recursive: true });
    await writeFile(join(source, path), bytes);
  }
  await symlink('small', join(source, 'link'));
  await truncate(join(source, 'zeros'), 3_000_000);
});
after(() => rm(directory, { recursive: true }));

async function make(name: string, ...options: string[]): Promise<string> {
  const path = join(directory, name);
  await runOrThrow('mksquashfs', [source, path, '-noappend', '-no-progress', '-quiet', ...options]);
  return path;
}

async function compare(tree: Tree): Promise<void> {
  for (const [path, bytes] of files) {
    const file = await tree.open(path);
    assert.ok(file !== undefined, path);
    assert.equal(file.size, bytes.length, path);
    assert.equal(Buffer.compare(await file.read(0, file.size), bytes), 0, path);
    // Readers start anywhere and stop anywhere.
    for (const [from, length] of [
      [bytes.length - 10, 100],
      [131_070, 5],
      [1_048_570, 20],
    ] as const) {
      if (from < 0 || from > bytes.length) continue;
      assert.deepEqual(
        Buffer.from(await file.read(from, length)),
        Buffer.from(bytes.subarray(from, from + length)),
        path,
      );
    }
    await file.close();
  }
  assert.equal(await tree.open('link'), undefined, 'links are not followed');
  assert.equal(await tree.open('many'), undefined);
  assert.equal(await tree.open('none/at/all'), undefined);
  assert.equal((await tree.list('many')).length, 1500);
  assert.deepEqual(await tree.list('small'), []);
  assert.ok((await tree.list('')).some((entry) => entry.name === 'deep' && entry.directory));
}

for (const options of [
  ['-comp', 'gzip'],
  ['-comp', 'zstd'],
  ['-comp', 'gzip', '-b', '4096'],
  ['-comp', 'zstd', '-no-fragments'],
  ['-comp', 'gzip', '-noI', '-noD', '-noF', '-b', '1M'],
  ['-comp', 'xz', '-noI', '-noD', '-noF', '-noId'],
]) {
  test(`squashfs ${options.join(' ')} reads as its source`, needs('mksquashfs'), async () => {
    const { tree, format } = await openTree(await make('image', ...options));
    assert.equal(format, 'squashfs');
    await compare(tree);
    await tree.close();
  });
}

test('xz, which Node cannot unpack, is named with a way out', needs('mksquashfs'), async () => {
  const path = await make('xz', '-comp', 'xz');
  const { tree } = await openTree(path);
  await assert.rejects(tree.list(''), { code: 'MediaUnreadable', message: /xz/, next: /Mount/ });
  await tree.close();
});

test('an image that is cut, and each kind of damage, is named as such', needs('mksquashfs'), async () => {
  const path = await make('cut', '-comp', 'zstd');
  const bytes = await readFile(path);
  await writeFile(path, bytes.subarray(0, bytes.length - 8192));
  await assert.rejects(openTree(path), { code: 'MediaUnreadable', message: /not written whole/ });
  // Wherever a byte is changed: an error that says so, or the content; never a crash, never without end.
  const places = Array.from({ length: 60 }, (_, index) => Math.floor((index * bytes.length) / 60));
  for (const at of [...places, ...Array.from({ length: 96 }, (_, index) => index)]) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 0xff;
    await writeFile(path, changed);
    const opened = await openTree(path).catch((error: unknown) => requireExpected(error, at));
    if (opened === undefined) continue;
    try {
      for (const name of ['small', 'text', 'noise']) await (await opened.tree.open(name))?.read(0, 100_000);
      await opened.tree.list('many');
    } catch (error) {
      requireExpected(error, at);
    } finally {
      await opened.tree.close();
    }
  }
});

function requireExpected(error: unknown, at: number): undefined {
  const { code, message } = error as { code: string; message: string };
  assert.match(code, /MediaUnreadable|MediaLost/, `${at}: ${message}`);
}
