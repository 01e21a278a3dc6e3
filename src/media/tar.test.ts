import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { packTar, type TarEntry } from '../build/tar.ts';
import { SluiceError } from '../errors/error.ts';
import { runOrThrow } from '../process/run.ts';
import type { Tree } from '../store/tree.ts';
import { openDevice } from './device.ts';
import { isTar, tarTree } from './tar.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-tar-'));
});
after(() => rm(directory, { recursive: true }));

async function archive(entries: TarEntry[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of packTar(entries)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const file = (path: string, text: string): TarEntry => {
  const content = Buffer.from(text);
  return { kind: 'file', path, mode: 0o644, size: content.length, content };
};

async function open(bytes: Uint8Array): Promise<Tree> {
  const path = join(directory, 'test.tar');
  await writeFile(path, bytes);
  const device = await openDevice(path);
  try {
    return await tarTree(device);
  } catch (error) {
    await device.close();
    throw error;
  }
}

async function text(tree: Tree, path: string): Promise<string | undefined> {
  const opened = await tree.open(path);
  return opened === undefined ? undefined : Buffer.from(await opened.read(0, opened.size)).toString();
}

const long = `a/${'b'.repeat(200)}/${'c'.repeat(120)}`;

test('C26 what is written is read again, and GNU tar reads the same', async () => {
  const bytes = await archive([
    file('one', 'first'),
    { kind: 'directory', path: 'dir', mode: 0o755 },
    file('dir/two', 'second'),
    file(long, 'long'),
    { kind: 'link', path: 'link', target: 'one' },
    file('empty', ''),
  ]);
  const tree = await open(bytes);
  assert.equal(await text(tree, 'one'), 'first');
  assert.equal(await text(tree, 'dir/two'), 'second');
  assert.equal(await text(tree, long), 'long');
  assert.equal(await text(tree, 'empty'), '');
  assert.equal(await tree.open('link'), undefined, 'links of a foreign archive are not followed');
  assert.deepEqual(await tree.list('dir'), [{ name: 'two', directory: false }]);
  await tree.close();
  const { stdout } = await runOrThrow('tar', ['-xOf', join(directory, 'test.tar'), long]);
  assert.equal(stdout, 'long');
});

test('C26 what GNU tar writes is read: long names, pax, base-256 sizes', async () => {
  const name = 'n'.repeat(180);
  await writeFile(join(directory, name), 'content');
  for (const format of ['gnu', 'pax', 'ustar']) {
    const short = format === 'ustar' ? 'short' : name;
    await writeFile(join(directory, short), 'content');
    const path = join(directory, `${format}.tar`);
    await runOrThrow('tar', ['-C', directory, `--format=${format}`, '-cf', path, `./${short}`]);
    const device = await openDevice(path);
    assert.equal(await isTar(device), true);
    const tree = await tarTree(device);
    assert.equal(await text(tree, short), 'content', format);
    await tree.close();
  }
  const bytes = await archive([file('big', 'x'.repeat(1000))]);
  // The same size in base 256.
  bytes.fill(0, 124, 136);
  bytes[124] = 0x80;
  bytes.writeUInt32BE(1000, 132);
  checksum(bytes);
  const tree = await open(bytes);
  assert.equal((await tree.open('big'))?.size, 1000);
  await tree.close();
});

test('C26 concatenated archives and blocks of zeros in the middle are read through', async () => {
  const tree = await open(Buffer.concat([await archive([file('a', '1')]), await archive([file('b', '2')])]));
  assert.equal(await text(tree, 'a'), '1');
  assert.equal(await text(tree, 'b'), '2');
  await tree.close();
});

test('the last entry of a name counts, and names that leave the archive are no files', async () => {
  const tree = await open(
    await archive([file('a', 'old'), file('a', 'new'), file('../up', 'x'), file('b/../../c', 'x')]),
  );
  assert.equal(await text(tree, 'a'), 'new');
  assert.deepEqual(await tree.list(''), [{ name: 'a', directory: false }]);
  await tree.close();
});

test('a cut archive is refused', async () => {
  const bytes = await archive([file('a', 'x'.repeat(5000))]);
  await assert.rejects(open(bytes.subarray(0, 3000)), {
    code: 'MediaUnreadable',
    message: /not written whole/,
  });
});

test('whatever bytes are changed, reading ends, and with an operating error', async () => {
  const good = await archive([file('one', 'first'), file(long, 'long'), file('two', 'x'.repeat(2000))]);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 20 }),
      async (changes) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        // Changed headers shall be looked at, not refused for their sums.
        for (let at = 0; at + 512 <= bytes.length; at += 512)
          if (bytes[at + 257] === 0x75) checksum(bytes, at);
        try {
          const tree = await open(bytes);
          for (const entry of await tree.list('')) {
            const opened = await tree.open(entry.name);
            await opened?.read(0, Math.min(opened.size, 100));
          }
          await tree.close();
        } catch (error) {
          assert.ok(error instanceof SluiceError, String((error as Error).stack));
        }
      },
    ),
    { numRuns: 200 },
  );
});

function checksum(bytes: Buffer, at = 0): void {
  bytes.fill(0x20, at + 148, at + 156);
  const sum = bytes.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
}
