import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import { packTar, type TarEntry } from '../build/tar.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { createLayoutWriter, type LayoutWriter, openLayout } from '../oci/layout.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { type Payload, readPayload } from './payload.ts';

let directory: string;
let writer: LayoutWriter;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-payload-'));
  writer = await createLayoutWriter(directory);
});
after(() => rm(directory, { recursive: true }));

const digest = `sha256:${'1'.repeat(64)}`;
const references = (tags: object[] = [], name = '1.1.0') =>
  JSON.stringify({
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    metadata: { name },
    spec: { tags },
  });
const metadata = (more: object = {}) =>
  JSON.stringify({ kind: 'cincinnati-metadata-v0', version: '1.1.0', previous: ['1.0.0'], ...more });
const namespace = (name: string) => `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n`;

type Files = Record<string, string>;
type Packing = 'gzip' | 'zstd' | 'none';

async function layer(files: Files, packing: Packing = 'gzip') {
  const entries = Object.entries(files).map(([path, text]): TarEntry => {
    if (path.endsWith('/')) return { kind: 'directory', path: path.slice(0, -1), mode: 0o755 };
    if (path.startsWith('link:')) return { kind: 'link', path: path.slice(5), target: text };
    const content = Buffer.from(text);
    return { kind: 'file', path, mode: 0o444, size: content.length, content };
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of packTar(entries)) chunks.push(chunk);
  const tar = Buffer.concat(chunks);
  if (packing === 'none') return await writer.blob(tar, mediaTypes.ociLayerTar);
  if (packing === 'gzip') return await writer.blob(await promisify(gzip)(tar), mediaTypes.ociLayerGzip);
  return await writer.blob(await promisify(zstdCompress)(tar), mediaTypes.ociLayerZstd);
}

async function image(...layers: [Files, Packing?][]): Promise<Digest> {
  const config = { architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: [] } };
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: await writer.blob(Buffer.from(JSON.stringify(config)), mediaTypes.ociConfig),
    layers: await Promise.all(layers.map(([files, packing]) => layer(files, packing))),
  };
  return (await writer.manifest(manifest, mediaTypes.ociManifest)).digest;
}

async function read(digest: Digest): Promise<Payload> {
  return await readPayload(await openLayout(directory), 'any', digest);
}

const base: Files = {
  'release-manifests/': '',
  'release-manifests/image-references': references([
    {
      name: 'hyperkube',
      annotations: { 'io.openshift.build.versions': 'kubernetes=1.35.2,kubectl=1.35.2' },
      from: { kind: 'DockerImage', Name: `quay.io/x/hyperkube@${digest}` },
    },
  ]),
  'release-manifests/release-metadata': metadata({
    metadata: {
      url: 'https://example.org',
      'io.openshift.upgrades.graph.release.channels': 'stable-1, fast-1',
    },
  }),
  'release-manifests/0000_50_b_one.yaml': namespace('b1'),
  'release-manifests/0000_10_a_two.yaml': `${namespace('a1')}---\nnull\n---\n${namespace('a2')}`,
  'release-manifests/notes.txt': 'no manifest',
  'release-manifests/sub/0000_10_a_three.yaml': namespace('never'),
  'etc/other': 'x',
};

test('a payload is read with its images, versions and manifests in order', async () => {
  const payload = await read(await image([base]));
  assert.equal(payload.version, '1.1.0');
  assert.deepEqual(payload.previous, ['1.0.0']);
  assert.deepEqual(payload.channels, ['stable-1', 'fast-1']);
  assert.equal(payload.url, 'https://example.org');
  assert.equal(payload.kubernetesVersion, '1.35.2');
  assert.equal(payload.architecture, 'amd64');
  assert.equal(payload.images.get('hyperkube')?.repository, 'quay.io/x/hyperkube');
  assert.deepEqual(
    payload.manifests.map(({ file, index, runLevel, component, object }) => [
      file,
      index,
      runLevel,
      component,
      object.metadata.name,
    ]),
    [
      ['0000_10_a_two.yaml', 0, 10, 'a', 'a1'],
      ['0000_10_a_two.yaml', 1, 10, 'a', 'a2'],
      ['0000_50_b_one.yaml', 0, 50, 'b', 'b1'],
    ],
  );
  assert.deepEqual(payload.problems, []);
});

test('layers may be gzip, zstd or plain, and the last one counts', async () => {
  const over = { 'release-manifests/0000_50_b_one.yaml': namespace('newer') };
  for (const packing of ['gzip', 'zstd', 'none'] as const) {
    const payload = await read(await image([base, packing], [over, packing]));
    assert.deepEqual(payload.manifests.map((each) => each.object.metadata.name).sort(), [
      'a1',
      'a2',
      'newer',
    ]);
  }
});

test('whiteouts hide files and whole directories of the layers below', async () => {
  const gone = await read(await image([base], [{ 'release-manifests/.wh.0000_50_b_one.yaml': '' }]));
  assert.deepEqual(
    [...gone.files.keys()].filter((name) => name.startsWith('0000_')),
    ['0000_10_a_two.yaml'],
  );
  const again = {
    'release-manifests/.wh..wh..opq': '',
    'release-manifests/image-references': references(),
    'release-manifests/release-metadata': metadata(),
    'release-manifests/0000_20_c_new.yaml': namespace('c'),
  };
  const opaque = await read(await image([base], [again]));
  assert.deepEqual(
    opaque.manifests.map((each) => each.object.metadata.name),
    ['c'],
  );
  await assert.rejects(read(await image([base], [{ '.wh.release-manifests': '' }])), {
    code: 'InputInvalid',
  });
});

test('a link in the place of a file is not followed', async () => {
  const linked = { 'link:release-manifests/release-metadata': '/etc/passwd' };
  await assert.rejects(read(await image([base], [linked])), {
    code: 'InputInvalid',
    message: /release-metadata/,
  });
});

test('what is no payload, or contradicts itself, is refused by name', async () => {
  const cases: [Files, RegExp][] = [
    [{ 'etc/x': '' }, /not a release payload/],
    [{ ...base, 'release-manifests/image-references': references([], '1.2.0') }, /contradicts itself/],
    [{ ...base, 'release-manifests/release-metadata': metadata({ kind: 'v1' }) }, /cincinnati-metadata-v0/],
    [{ ...base, 'release-manifests/release-metadata': metadata({ version: '1.1' }) }, /semantic version/],
    [{ ...base, 'release-manifests/release-metadata': metadata({ previous: '1.0.0' }) }, /previous/],
    [
      {
        ...base,
        'release-manifests/image-references': references([
          { name: 'a', from: { kind: 'DockerImage', name: 'quay.io/x/a:latest' } },
        ]),
      },
      /tag a.*does not name its image by digest/,
    ],
  ];
  for (const [files, message] of cases)
    await assert.rejects(read(await image([files])), { code: 'InputInvalid', message });
});

test('P-104 a manifest that cannot be read is left out and told of', async () => {
  const payload = await read(
    await image([
      {
        ...base,
        'release-manifests/0000_60_d_bad.yaml': 'kind: {{index .Images "x"}\n  a: b',
        'release-manifests/0000_60_d_nameless.yaml': 'apiVersion: v1\nkind: ConfigMap\n',
      },
    ]),
  );
  assert.equal(payload.manifests.length, 3);
  assert.deepEqual(payload.problems.map((each) => each.file).sort(), [
    '0000_60_d_bad.yaml',
    '0000_60_d_nameless.yaml',
  ]);
});

test('P-106 an object twice in one file is told of, variants by feature set are not', async () => {
  const job = (name: string, set = '') =>
    `apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ${name}\n  namespace: x\n  annotations:\n    release.openshift.io/feature-set: "${set}"\n`;
  const payload = await read(
    await image([
      {
        ...base,
        'release-manifests/0000_60_d_variants.yaml': `${job('one', 'Default')}---\n${job('one', 'TechPreviewNoUpgrade')}`,
        'release-manifests/0000_61_d_twice.yaml': `${job('two')}---\n${job('two')}`,
      },
    ]),
  );
  assert.deepEqual(payload.problems, [
    { file: '0000_61_d_twice.yaml', problem: 'Job x/two stands there twice' },
  ]);
});

test('a changed byte in a layer is damage, not a bad payload', async () => {
  const digest = await image([base]);
  const manifest = JSON.parse(await readFile(join(directory, 'blobs', 'sha256', hexOf(digest)), 'utf8')) as {
    layers: { digest: Digest }[];
  };
  const path = join(directory, 'blobs', 'sha256', hexOf(manifest.layers[0]?.digest ?? digest));
  const good = await readFile(path);
  for (const at of [0, 12, good.length >> 1, good.length - 1]) {
    const bytes = Buffer.from(good);
    bytes[at] = (bytes[at] ?? 0) ^ 4;
    await writeFile(path, bytes);
    await assert.rejects(read(digest), { code: 'DigestMismatch' }, `byte ${at}`);
  }
  await rm(path);
  await assert.rejects(read(digest), { code: 'ContentMissing' });
  await writeFile(path, good);
  await read(digest);
});
