import assert from 'node:assert/strict';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { imageOf, type SampleEntry, type SampleImage, tarOf } from '../../tests/content.ts';
import { isSluiceError } from '../errors/error.ts';
import type { Digest } from './digest.ts';
import type { ContentSource } from './source.ts';
import { type UnpackOptions, unpackImage } from './unpack.ts';

const file = (name: string, data = name, mode = 0o644): SampleEntry => ({ header: { name, mode }, data });
const symlink = (name: string, linkname: string): SampleEntry => ({
  header: { name, type: 'symlink', linkname },
});
const directory = (name: string, mode = 0o755): SampleEntry => ({
  header: { name, type: 'directory', mode },
});

/** An image in memory; `change` may spoil a blob on its way. */
function sourceOf(
  image: SampleImage,
  change: (digest: Digest, bytes: Buffer) => Buffer = (_, bytes) => bytes,
): ContentSource {
  return {
    label: 'memory',
    manifest: async (_, reference) => (reference === image.raw.digest ? image.raw : undefined),
    async blob(_, digest) {
      const bytes = image.blobs.get(digest);
      if (bytes === undefined) return undefined;
      const changed = change(digest, bytes);
      return {
        size: changed.length,
        stream: (async function* () {
          yield changed;
        })(),
      };
    },
    tags: async () => [],
    referrers: async () => [],
  };
}

async function unpack(
  t: TestContext,
  layers: SampleEntry[][],
  options: UnpackOptions & { compress?: 'gzip' | 'zstd' | 'none' } = {},
) {
  const base = await mkdtemp(join(tmpdir(), 'sluice-unpack-'));
  t.after(() => rm(base, { recursive: true }));
  const rootfs = join(base, 'rootfs');
  const image = imageOf(await Promise.all(layers.map(tarOf)), options);
  const config = await unpackImage(sourceOf(image), 'a', image.raw.digest, rootfs, {
    platform: { os: 'linux', architecture: 'amd64' },
    ...options,
  });
  return { base, rootfs, config };
}

for (const compress of ['gzip', 'zstd', 'none'] as const) {
  test(`layers lie above each other (${compress})`, async (t) => {
    const { rootfs, config } = await unpack(
      t,
      [
        [
          directory('d', 0o700),
          file('d/a'),
          file('d/b'),
          file('bin/tool', 'one', 0o755),
          file('gone'),
          directory('o'),
          file('o/x'),
        ],
        [
          file('d/.wh.a', ''),
          file('.wh.gone', ''),
          file('o/y'),
          file('o/.wh..wh..opq', ''),
          file('bin/tool', 'two', 0o4755),
          symlink('link', '/d/b'),
        ],
      ],
      { compress },
    );
    assert.deepEqual((await readdir(rootfs)).sort(), ['bin', 'd', 'link', 'o']);
    assert.deepEqual(await readdir(join(rootfs, 'd')), ['b']);
    assert.deepEqual(await readdir(join(rootfs, 'o')), ['y']);
    assert.equal(await readFile(join(rootfs, 'bin/tool'), 'utf8'), 'two');
    assert.equal((await stat(join(rootfs, 'bin/tool'))).mode & 0o7777, 0o755);
    assert.equal((await stat(join(rootfs, 'd'))).mode & 0o777, 0o700);
    assert.equal(await readlink(join(rootfs, 'link')), '/d/b');
    assert.deepEqual(config.entrypoint, ['/bin/hello']);
  });
}

test('nothing is written outside of the image, whatever links lead there', async (t) => {
  const { base, rootfs } = await unpack(t, [
    [
      symlink('abs', '/'),
      symlink('up', '../../../..'),
      symlink('lib', 'usr/lib'),
      file('abs/one'),
      file('up/two'),
      file('lib/three'),
      symlink('target', '/etc/passwd'),
      file('target', 'replaced'),
      symlink('later', `${tmpdir()}/sluice-outside`),
      { header: { name: 'hard', type: 'link', linkname: 'one' } },
      { header: { name: 'tty', type: 'character-device', devmajor: 5, devminor: 0 } },
      { header: { name: 'fifo', type: 'fifo' } },
    ],
    [file('later/four')],
  ]);
  assert.deepEqual(await readdir(base), ['rootfs']);
  assert.equal(await readFile(join(rootfs, 'one'), 'utf8'), 'abs/one');
  assert.equal(await readFile(join(rootfs, 'hard'), 'utf8'), 'abs/one');
  assert.equal(await readFile(join(rootfs, 'two'), 'utf8'), 'up/two');
  assert.equal(await readFile(join(rootfs, 'usr/lib/three'), 'utf8'), 'lib/three');
  assert.equal((await lstat(join(rootfs, 'target'))).isFile(), true);
  assert.equal(await readFile(join(rootfs, tmpdir(), 'sluice-outside/four'), 'utf8'), 'later/four');
  await assert.rejects(lstat(join(rootfs, 'tty')));
});

test('entries that climb, circle or hide nonsense are refused, and leave nothing', async (t) => {
  const hostile: [string, SampleEntry[]][] = [
    ['leaves the image', [file('../evil')]],
    ['leaves the image', [file('a/../../evil')]],
    ['in a circle', [symlink('a', 'b'), symlink('b', 'a'), file('a/x')]],
    ['links to no file', [{ header: { name: 'h', type: 'link', linkname: 'none' } }]],
    ['is a file there', [file('f'), file('f/x')]],
    ['hides no file', [file('.wh...', '')]],
  ];
  for (const [why, entries] of hostile) {
    await assert.rejects(
      unpack(t, [[file('first'), ...entries]]),
      (error: Error) => isSluiceError(error, 'InputInvalid') && error.message.includes(why),
      why,
    );
  }
});

test('bytes and files have limits', async (t) => {
  const zeros = { header: { name: 'zeros' }, data: Buffer.alloc(4 * 1024 * 1024) };
  await assert.rejects(unpack(t, [[zeros]], { bytesMax: 1024 * 1024 }), (error) =>
    isSluiceError(error, 'InputTooLarge'),
  );
  await assert.rejects(unpack(t, [[file('a'), file('b'), file('c')]], { entriesMax: 2 }), (error) =>
    isSluiceError(error, 'InputTooLarge'),
  );
});

test('a layer with other bytes is refused and the directory emptied', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'sluice-unpack-'));
  t.after(() => rm(base, { recursive: true }));
  const image = imageOf([await tarOf([file('a', 'x'.repeat(100_000))])], { compress: 'none' });
  const layer = [...image.blobs.keys()][0];
  const spoil = (bytes: Buffer) =>
    Buffer.concat([bytes.subarray(0, 600), Buffer.from('y'), bytes.subarray(601)]);
  for (const change of [
    spoil,
    (bytes: Buffer) => bytes.subarray(0, 700),
    (bytes: Buffer) => Buffer.concat([bytes, bytes]),
  ]) {
    const source = sourceOf(image, (digest, bytes) => (digest === layer ? change(bytes) : bytes));
    await mkdir(join(base, 'r'), { recursive: true });
    const platform = { os: 'linux', architecture: 'amd64' };
    await assert.rejects(unpackImage(source, 'a', image.raw.digest, join(base, 'r'), { platform }), (error) =>
      isSluiceError(error, 'DigestMismatch'),
    );
    assert.deepEqual(await readdir(join(base, 'r')), []);
  }
});

test('C26 long names and deep paths come through', async (t) => {
  const long = `${'d'.repeat(120)}/${'e'.repeat(120)}/${'f'.repeat(200)}`;
  const { rootfs } = await unpack(t, [[file(long, 'deep')]]);
  assert.equal(await readFile(join(rootfs, long), 'utf8'), 'deep');
});
