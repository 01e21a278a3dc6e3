import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { bytesOf, tarOf } from '../../tests/content.ts';
import { openTree } from '../media/media.ts';
import { type Digest, digestOf } from '../oci/digest.ts';
import { mediaTypes, parseManifest } from '../oci/manifest.ts';
import { openDockerArchive } from './docker-archive.ts';

type Files = Readonly<Record<string, Buffer | string>>;

async function archive(t: TestContext, files: Files, links: Readonly<Record<string, string>> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-docker-archive-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'saved.tar');
  const entries = Object.entries(files).map(([name, data]) => ({
    header: { name },
    data: Buffer.from(data),
  }));
  const linked = Object.entries(links).map(([name, linkname]) => ({
    header: { name, type: 'symlink' as const, linkname },
  }));
  await writeFile(path, await tarOf([...entries, ...linked]));
  const { tree } = await openTree(path);
  t.after(() => tree.close());
  return await openDockerArchive(tree);
}

const layer = Buffer.from('the bytes of a layer'.repeat(100));
const config = (...diffIds: Digest[]) =>
  JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: diffIds } });
const list = (...layers: string[]) =>
  JSON.stringify([{ Config: 'config.json', RepoTags: ['registry.example/x:1'], Layers: layers }]);
const layersOf = async (content: Awaited<ReturnType<typeof archive>>) => {
  const raw = await content.manifest('any', content.resolve('').digest);
  const manifest = parseManifest(raw?.bytes ?? new Uint8Array(0));
  assert.ok(manifest.kind === 'image');
  return manifest.layers;
};

test('a layer has the digest of its bytes, packed or not, and is given as it lies there', async (t) => {
  const diffId = digestOf(layer);
  for (const [bytes, mediaType] of [
    [layer, mediaTypes.ociLayerTar],
    [gzipSync(layer), mediaTypes.ociLayerGzip],
    [zstdCompressSync(layer), mediaTypes.ociLayerZstd],
  ] as const) {
    const content = await archive(t, {
      'manifest.json': list('layer'),
      'config.json': config(diffId),
      layer: bytes,
    });
    const layers = await layersOf(content);
    assert.deepEqual(layers, [{ mediaType, digest: digestOf(bytes), size: bytes.length }]);
    assert.deepEqual(await bytesOf(content, 'any', digestOf(bytes)), bytes);
  }
});

test('a layer that stands twice may lie there once, with a link for the other', async (t) => {
  const diffId = digestOf(layer);
  const content = await archive(
    t,
    {
      'manifest.json': list('a/layer.tar', 'b/layer.tar'),
      'config.json': config(diffId, diffId),
      'a/layer.tar': layer,
    },
    { 'b/layer.tar': '../a/layer.tar' },
  );
  assert.deepEqual(
    (await layersOf(content)).map((each) => each.digest),
    [diffId, diffId],
  );
});

test('an archive that contradicts itself is refused, and the place is named', async (t) => {
  const diffId = digestOf(layer);
  const cases: [Files, RegExp][] = [
    [{ 'manifest.json': '{}' }, /lists no images/],
    [{ 'manifest.json': '[{"Config":1}]' }, /manifest\.json\[0\] names no configuration/],
    [{ 'manifest.json': list('layer'), layer }, /names config\.json, which is not in it/],
    [{ 'manifest.json': list('layer'), 'config.json': config(), layer }, /tells of 0 layers, not of 1/],
    [{ 'manifest.json': list('layer'), 'config.json': config(diffId) }, /names layer, which is not in it/],
    [{ other: 'x' }, /names manifest\.json, which is not in it/],
  ];
  for (const [files, message] of cases) {
    await assert.rejects(archive(t, files), { code: 'InputInvalid', message });
  }
});
