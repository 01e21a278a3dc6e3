import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { noise } from '../../tests/bundles.ts';
import { needs } from '../../tests/tier.ts';
import { SluiceError } from '../errors/error.ts';
import { runOrThrow } from '../process/run.ts';
import type { Tree } from '../store/tree.ts';
import { openDevice } from './device.ts';
import { isoTree } from './iso.ts';

const iso = needs('xorriso');
const hex = 'ab'.repeat(32);
/** What every image here is made from: path → content. */
const files = new Map<string, Uint8Array>([
  ['sluice-media.json', Buffer.from('{}\n')],
  [`docker/registry/v2/blobs/sha256/ab/${hex}/data`, noise('blob', 100_001)],
  ['docker/registry/v2/repositories/a/b/c/d/e/_manifests/revisions/sha256/x/link', Buffer.from('deep')],
  [`long/${'n'.repeat(250)}.txt`, Buffer.from('long name')],
  ['Mixed Case/ünïcode', Buffer.from('not ASCII')],
  ['empty', new Uint8Array()],
]);
let directory: string;
let image: string;

before(async () => {
  if ('skip' in iso) return;
  directory = await mkdtemp(join(tmpdir(), 'sluice-iso-'));
  for (const [path, content] of files) await put(path, content);
  for (let index = 0; index < 200; index += 1)
    await put(`many/${'m'.repeat(60)}-${index}`, Buffer.from(`${index}`));
  image = await make('good.iso', ['-R', '-D']);
});
after(async () => {
  if (directory !== undefined) await rm(directory, { recursive: true });
});

async function put(path: string, content: Uint8Array): Promise<void> {
  const target = join(directory, 'tree', path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
}

async function make(name: string, options: string[], from = 'tree'): Promise<string> {
  const out = join(directory, name);
  const args = ['-as', 'mkisofs', '-quiet', '-iso-level', '3', ...options, '-V', 'SLUICE', '-o', out];
  await runOrThrow('xorriso', [...args, join(directory, from)]);
  return out;
}

async function openIso(path: string): Promise<Tree> {
  const device = await openDevice(path);
  try {
    return await isoTree(device);
  } catch (error) {
    await device.close();
    throw error;
  }
}

async function read(tree: Tree, path: string): Promise<Buffer | undefined> {
  const file = await tree.open(path);
  if (file === undefined) return undefined;
  const bytes = await file.read(0, file.size);
  await file.close();
  return Buffer.from(bytes);
}

test(
  'I4 names, depths and contents are those of the directory that the image was made from',
  iso,
  async () => {
    const tree = await openIso(image);
    for (const [path, content] of files) assert.deepEqual(await read(tree, path), Buffer.from(content), path);
    const root = await tree.list('');
    assert.deepEqual(root.map((entry) => entry.name).sort(), [
      'Mixed Case',
      'docker',
      'empty',
      'long',
      'many',
      'sluice-media.json',
    ]);
    assert.equal(root.find((entry) => entry.name === 'docker')?.directory, true);
    assert.equal(root.find((entry) => entry.name === 'empty')?.directory, false);
    assert.equal((await tree.list('many')).length, 200);
    assert.equal(await tree.open('docker'), undefined);
    assert.equal(await tree.open('absent/file'), undefined);
    assert.equal(await tree.open('EMPTY'), undefined);
    assert.deepEqual(await tree.list('empty'), []);
    await tree.close();
  },
);

test('reads at any offset give the same bytes as the file', iso, async () => {
  const tree = await openIso(image);
  const path = `docker/registry/v2/blobs/sha256/ab/${hex}/data`;
  const file = await tree.open(path);
  const content = Buffer.from(files.get(path) ?? []);
  assert.equal(file?.size, content.length);
  for (const [offset, length] of [
    [0, 1],
    [2047, 2],
    [99_999, 10],
    [100_001, 10],
    [5, 4096],
  ] as const) {
    assert.deepEqual(
      Buffer.from((await file?.read(offset, length)) ?? []),
      content.subarray(offset, offset + length),
    );
  }
  await tree.close();
});

test('I4 directories that were moved because of their depth are found at their old place', iso, async () => {
  const tree = await openIso(await make('relocated.iso', ['-R']));
  for (const [path, content] of files) assert.deepEqual(await read(tree, path), Buffer.from(content), path);
  await tree.close();
});

test('a file of several extents is one file', iso, async () => {
  const path = `docker/registry/v2/blobs/sha256/ab/${hex}/data`;
  const content = Buffer.from(files.get(path) ?? []);
  const bytes = await readFile(image);
  const first = Buffer.from(bytes.subarray(findRecord(bytes, content.length)));
  // The record becomes two: the first 2048 bytes, and the rest; the directory's sector has room for one more.
  const at = findRecord(bytes, content.length);
  const length = bytes[at] ?? 0;
  const second = Buffer.from(first.subarray(0, length));
  writeBoth(bytes, at + 10, 2048);
  bytes[at + 25] = (bytes[at + 25] ?? 0) | 0x80;
  writeBoth(second, 2, second.readUInt32LE(2) + 1);
  writeBoth(second, 10, content.length - 2048);
  second.copy(bytes, at + length);
  const split = join(directory, 'split.iso');
  await writeFile(split, bytes);
  const tree = await openIso(split);
  assert.deepEqual(await read(tree, path), content);
  const file = await tree.open(path);
  assert.deepEqual(Buffer.from((await file?.read(2040, 20)) ?? []), content.subarray(2040, 2060));
  await tree.close();
});

test('I4 an image without Rock Ridge is refused with the way to make one', iso, async () => {
  await mkdir(join(directory, 'plain'), { recursive: true });
  await writeFile(join(directory, 'plain', 'A.TXT'), 'x');
  const plain = await make('plain.iso', ['--norock'], 'plain');
  await assert.rejects(openIso(plain), (error: SluiceError) => {
    assert.equal(error.code, 'MediaUnreadable');
    assert.match(error.next, /-R -D/);
    return true;
  });
});

test('an image that was not written whole is refused before anything of it is read', iso, async () => {
  const cut = join(directory, 'cut.iso');
  await writeFile(cut, (await readFile(image)).subarray(0, -4096));
  await assert.rejects(openIso(cut), {
    code: 'MediaUnreadable',
    message: /not written whole/,
    next: /^Write the disk again from its source/,
  });
});

test('I8 an image that loses its end while it is read is lost media, not damage', iso, async () => {
  const copy = join(directory, 'vanishing.iso');
  await writeFile(copy, await readFile(image));
  const tree = await openIso(copy);
  const file = await tree.open(`docker/registry/v2/blobs/sha256/ab/${hex}/data`);
  await truncate(copy, 40_000);
  await assert.rejects(async () => await file?.read(0, 100_001), { code: 'MediaLost' });
  await tree.close();
});

test('whatever bytes are changed, reading ends, and with an operating error', iso, async () => {
  const good = await readFile(image);
  const path = join(directory, 'fuzzed.iso');
  // Volume descriptors and directories stand in the first sectors of the image.
  const from = 16 * 2048;
  const until = Math.min(good.length, 120 * 2048);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: from, max: until - 1 }), fc.nat(255)), {
        minLength: 1,
        maxLength: 40,
      }),
      async (changes) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        await writeFile(path, bytes);
        try {
          const tree = await openIso(path);
          try {
            await walk(tree, '', 0);
          } finally {
            await tree.close();
          }
        } catch (error) {
          assert.ok(error instanceof SluiceError, String((error as Error).stack));
        }
      },
    ),
    { numRuns: 60 },
  );
});

async function walk(tree: Tree, path: string, depth: number): Promise<void> {
  if (depth > 20) return;
  for (const entry of (await tree.list(path)).slice(0, 20)) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.directory) await walk(tree, inner, depth + 1);
    else {
      const file = await tree.open(inner);
      await file?.read(0, Math.min(file.size, 4096));
      await file?.close();
    }
  }
}

/** Where the directory record of the only file of this size is. */
function findRecord(bytes: Buffer, size: number): number {
  const wanted = Buffer.alloc(8);
  wanted.writeUInt32LE(size, 0);
  wanted.writeUInt32BE(size, 4);
  const at = bytes.indexOf(wanted, 16 * 2048);
  assert.ok(at > 0);
  return at - 10;
}

function writeBoth(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32LE(value, at);
  bytes.writeUInt32BE(value, at + 4);
}
