import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSluiceError } from '../errors/error.ts';
import { emptyDigest } from './digest.ts';
import { manifestBytesMax, mediaTypes, parseManifest, referrerDescriptor } from './manifest.ts';

const config = { mediaType: mediaTypes.ociConfig, digest: emptyDigest, size: 0 };
const image = { schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers: [] };
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const refused = (bytes: Uint8Array, what: RegExp) =>
  assert.throws(
    () => parseManifest(bytes),
    (error: Error) => isSluiceError(error) && what.test(error.message),
  );

test('images and indexes are told apart, with and without a media type', () => {
  assert.equal(parseManifest(bytesOf(image)).kind, 'image');
  const { mediaType: _, ...untyped } = image;
  assert.equal(parseManifest(bytesOf(untyped)).mediaType, mediaTypes.ociManifest);
  assert.equal(
    parseManifest(bytesOf(untyped), mediaTypes.dockerManifest).mediaType,
    mediaTypes.dockerManifest,
  );
  const index = parseManifest(
    bytesOf({
      schemaVersion: 2,
      manifests: [{ ...config, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } }],
    }),
  );
  assert.equal(index.kind === 'index' && index.manifests[0]?.platform?.variant, 'v8');
});

test('what two readers could understand differently is refused', () => {
  refused(bytesOf({ ...image, manifests: [] }), /both an image and an index/);
  refused(bytesOf({ schemaVersion: 2 }), /neither/);
  refused(bytesOf({ ...image, mediaType: mediaTypes.ociIndex }), /does not fit/);
  refused(Buffer.from('{"schemaVersion":2,"layers":[],"layers":[],"config":{}}'), /twice/);
  refused(Buffer.from('{"schemaVersion":2,"layers":[],"l\\u0061yers":[]}'), /twice/);
  refused(Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/);
  refused(Buffer.from('['.repeat(100) + ']'.repeat(100)), /nested deeper/);
  refused(Buffer.alloc(manifestBytesMax + 1, 0x20), /larger than/);
});

test('schema 1 is refused and said so', () => {
  refused(bytesOf({ schemaVersion: 1, fsLayers: [] }), /schema 1/);
});

test('M10 sizes and digests of descriptors must be such', () => {
  for (const wrong of [
    { size: -1 },
    { size: 1.5 },
    { size: '1' },
    { size: 2 ** 60 },
    { digest: 'sha256:0' },
    { mediaType: 1 },
  ]) {
    refused(bytesOf({ ...image, layers: [{ ...config, ...wrong }] }), /layers\[0\]/);
  }
});

test('any bytes give a manifest or a SluiceError', () => {
  const json = fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), json), (bytes) => {
      try {
        parseManifest(bytes);
      } catch (error) {
        assert.ok(isSluiceError(error), String(error));
      }
    }),
  );
});

test('a list of referrers shows the type of the config where the manifest has none of its own', () => {
  const manifest = parseManifest(bytesOf({ ...image, annotations: { a: 'b' } }));
  assert.deepEqual(referrerDescriptor(emptyDigest, 3, manifest), {
    mediaType: mediaTypes.ociManifest,
    digest: emptyDigest,
    size: 3,
    artifactType: mediaTypes.ociConfig,
    annotations: { a: 'b' },
  });
});
