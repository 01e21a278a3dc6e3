import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readlink, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { needs } from '../../tests/tier.ts';
import { SluiceError } from '../errors/error.ts';
import { digestOf } from '../oci/digest.ts';
import { runOrThrow } from '../process/run.ts';
import { blobData } from '../store/path.ts';
import { formatHint, hintFile, parseHint } from './hint.ts';
import { openMedia } from './media.ts';

let directory: string;
let release: TestRelease;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-media-'));
  release = await makeRelease({ version: '1.0.0', dir: directory, key: testKey().pair, blobBytes: 300_000 });
});
after(() => rm(directory, { recursive: true }));

test('a directory of media opens with its hint', async () => {
  const media = await openMedia(release.path);
  assert.equal(media.format, 'directory');
  assert.deepEqual(media.hint, { bundles: [{ name: release.name, digest: release.digest }] });
  assert.deepEqual(await media.content.repositories(), [
    'openshift/release',
    'openshift/release-bundles',
    'openshift/release-images',
  ]);
  await media.close();
});

test('a broken hint keeps no bundle from being found', async () => {
  const copy = join(directory, 'broken-hint');
  await cp(release.path, copy, { recursive: true });
  await writeFile(join(copy, hintFile), '{"formatVersion":1,"bundles":[{}]}');
  const media = await openMedia(copy);
  assert.deepEqual(media.hint, { bundles: [] });
  assert.ok((await media.content.tags('openshift/release-bundles')).includes(release.name));
  await media.close();
});

test('what carries no content is refused by what it is', async () => {
  const empty = join(directory, 'empty');
  await mkdir(empty);
  await assert.rejects(openMedia(empty), { code: 'MediaUnreadable', message: /carries no content/ });
  const text = join(directory, 'text');
  await writeFile(text, 'x'.repeat(50_000));
  await assert.rejects(openMedia(text), {
    code: 'MediaUnreadable',
    message: /no ISO image, squashfs image or tar/,
  });
  await writeFile(text, '');
  await assert.rejects(openMedia(text), { code: 'MediaUnreadable' });
  await assert.rejects(openMedia(join(directory, 'absent')), { code: 'NotFound' });
  await assert.rejects(openMedia('/dev/null'), {
    code: 'MediaUnreadable',
    message: '/dev/null is a character device, neither a disk nor an image',
  });
  // Nobody writes to it: whoever opened it would wait for ever.
  const pipe = join(directory, 'pipe');
  await runOrThrow('mkfifo', [pipe]);
  await assert.rejects(openMedia(pipe), { code: 'MediaUnreadable', message: /is a pipe/ });
});

test('media that are let go are not read on from: the reader is told, and no file stays open', async (t) => {
  const image = join(directory, 'let-go.tar');
  await runOrThrow('tar', ['-C', release.path, '-cf', image, '.']);
  const layer = release.document.images.flatMap(({ repository }) => repository)[0] ?? '';
  for (const path of [release.path, image]) {
    await t.test(path === image ? 'an image file' : 'a directory', async () => {
      const media = await openMedia(path);
      const [digest] = (await media.content.links(layer, 'blob')).slice(0, 1);
      assert.ok(digest !== undefined);
      const file = await media.content.openBlob(layer, digest);
      assert.ok(file !== undefined && file.size > 1);
      await file.read(0, 1);
      await media.close();
      assert.deepEqual(await openBelow(path), []);
      await assert.rejects(file.read(1, 1), { code: 'MediaLost', message: /is not attached any more/ });
      await assert.rejects(media.content.openBlob(layer, digest), { code: 'MediaLost' });
      await file.close();
    });
  }
});

/** Files of this process that are open at a path or below it. */
async function openBelow(path: string): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(links)).filter((target) => target === path || target.startsWith(`${path}/`));
}

test('I8 a disk that is pulled out in mid-copy is lost media, and the same disk can be read again', async () => {
  const disk = join(directory, 'disk');
  await cp(release.path, disk, { recursive: true });
  const media = await openMedia(disk);
  const name = release.document.images.find((each) => each.name === 'web');
  assert.ok(name);
  const digest = name.digest;
  assert.ok(await media.content.manifest(name.repository, digest));
  await rename(disk, `${disk}.out`);
  await assert.rejects(media.tree.open(blobData(release.digest)), { code: 'MediaLost' });
  await assert.rejects(media.tree.list('docker/registry/v2/blobs'), { code: 'MediaLost' });
  // Another disk in its place is not it, although it has such files.
  await cp(release.path, disk, { recursive: true });
  await assert.rejects(media.tree.open('absent'), { code: 'MediaLost' });
  await rm(disk, { recursive: true });
  await rename(`${disk}.out`, disk);
  assert.equal(await media.tree.open('absent'), undefined);
  const file = await media.tree.open(blobData(digest));
  assert.ok(file);
  await file.close();
  await media.close();
});

test('I8 a file that becomes shorter while it is read is lost media', async () => {
  const disk = join(directory, 'shorter');
  await cp(release.path, disk, { recursive: true });
  const media = await openMedia(disk);
  const path = blobData(release.digest);
  const file = await media.tree.open(path);
  assert.ok(file);
  await truncate(join(disk, path), 10);
  await assert.rejects(file.read(0, file.size), { code: 'MediaLost' });
  await file.close();
  await media.close();
});

test('a hint is read as it was written, and any other text is refused or read, never more', () => {
  const hint = { bundles: [{ name: 'b', digest: digestOf(Buffer.from('1')) }] };
  assert.deepEqual(parseHint(formatHint(hint)), hint);
  fc.assert(
    fc.property(fc.oneof(fc.json().map(Buffer.from), fc.uint8Array()), (bytes) => {
      try {
        parseHint(bytes);
      } catch (error) {
        assert.ok(error instanceof SluiceError);
      }
    }),
  );
});

test(
  'I2 media are known by what they hold, not by a label that a copy to a stick would change',
  needs('xorriso'),
  async () => {
    const path = join(directory, 'label.iso');
    const layout = ['-iso-level', '3', '-R', '-D', '-V', 'NO NAME'];
    await runOrThrow('xorriso', ['-as', 'mkisofs', '-quiet', ...layout, '-o', path, release.path]);
    const media = await openMedia(path);
    assert.deepEqual(
      media.hint.bundles.map((each) => each.name),
      [release.name],
    );
    await media.close();
  },
);
