import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytesOf, imageOf, tarOf } from '../../tests/content.ts';
import { isSluiceError } from '../errors/error.ts';
import { hexOf, referrersTag } from './digest.ts';
import { createLayoutWriter, openLayout } from './layout.ts';
import { mediaTypes } from './manifest.ts';

test('a layout gives back what was written, by tag, by digest and by full name', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-layout-'));
  t.after(() => rm(directory, { recursive: true }));
  const image = imageOf([await tarOf([{ header: { name: 'a' }, data: 'x' }])]);
  const writer = await createLayoutWriter(directory);
  for (const bytes of image.blobs.values()) await writer.blob(bytes, 'application/octet-stream');
  const stored = await writer.manifest(image.raw.bytes, image.raw.mediaType);
  assert.equal(stored.digest, image.raw.digest); // M22: the very bytes, never written anew.
  await writer.tag('quay.io/a/b:1.0', stored);
  const layout = await openLayout(directory);
  assert.equal((await layout.resolve('')).digest, stored.digest);
  assert.equal((await layout.resolve('1.0')).digest, stored.digest);
  assert.deepEqual(await layout.tags('any'), ['quay.io/a/b:1.0']);
  assert.deepEqual((await layout.manifest('any', stored.digest))?.bytes, image.raw.bytes);
  for (const [digest, bytes] of image.blobs)
    assert.deepEqual(await bytesOf(layout, 'any', digest, 1), bytes.subarray(1));
  await assert.rejects(layout.resolve('2.0'), (error) => isSluiceError(error, 'NotFound'));

  await writer.tag('1.1', stored);
  await writer.tag('1.1', { ...stored, annotations: { again: 'yes' } });
  assert.deepEqual(await layout.tags('any'), ['1.1', 'quay.io/a/b:1.0']);

  const referrer = await writer.manifest(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      artifactType: 'x/sig',
      config: stored,
      layers: [],
      subject: stored,
    },
    mediaTypes.ociManifest,
  );
  await writer.tag('', referrer);
  assert.deepEqual(
    (await layout.referrers('any', stored.digest)).map((found) => found.artifactType),
    ['x/sig'],
  );
  await writer.tag(
    referrersTag(stored.digest),
    await writer.manifest({ schemaVersion: 2, manifests: [referrer, stored] }, mediaTypes.ociIndex),
  );
  assert.deepEqual(
    (await layout.referrers('any', stored.digest)).map((found) => found.digest),
    [referrer.digest],
  );

  await writeFile(join(directory, 'blobs/sha256', hexOf(stored.digest)), `${image.raw.bytes.toString()} `);
  await assert.rejects(layout.manifest('any', '1.1'), (error) => isSluiceError(error, 'DigestMismatch'));
});

test('what a layout lists besides images, of whatever type, hides nothing of them', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-layout-'));
  t.after(() => rm(directory, { recursive: true }));
  const writer = await createLayoutWriter(directory);
  const image = imageOf([Buffer.from('layer')]);
  await writer.tag('1', await writer.manifest(image.raw.bytes, image.raw.mediaType));
  const old = { schemaVersion: 1, name: 'x', tag: 'y', fsLayers: [], history: [] };
  await writer.tag('old', await writer.manifest(old, mediaTypes.dockerSchema1Signed));
  // The example of the specification.
  await writer.tag('', await writer.blob(Buffer.from('<xml/>'), 'application/xml'));
  const layout = await openLayout(directory);
  assert.deepEqual(await layout.referrers('any', image.raw.digest), []);
  assert.equal((await layout.manifest('any', '1'))?.digest, image.raw.digest);
  await assert.rejects(layout.manifest('any', 'old'), (error) => isSluiceError(error, 'InputInvalid'));
});

test('what is no layout is said so', async () => {
  await assert.rejects(openLayout('/nonexistent'), (error) => isSluiceError(error, 'NotFound'));
});
