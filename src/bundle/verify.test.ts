import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { needs } from '../../tests/tier.ts';
import { putBlob } from '../build/sign.ts';
import { openMedia } from '../media/media.ts';
import { type Digest, digestOf, hexOf } from '../oci/digest.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { treeContent } from '../store/content.ts';
import { blobData, layerLink, revisionLink, tagLink } from '../store/path.ts';
import { openStore } from '../store/store.ts';
import { directoryTree } from '../store/tree.ts';
import { signatureAnnotation, signatureTag, signManifest, simpleSigningMediaType } from '../trust/cosign.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { openBundle } from './bundle.ts';
import { bundleRepository, componentRepository } from './document.ts';
import { type MediaReport, problemsOf, verifyMedia } from './medium.ts';

const key = testKey();
let directory: string;
let release: TestRelease;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-verify-'));
  release = await makeRelease({
    version: '1.1.0',
    previous: ['1.0.0'],
    dir: directory,
    key: key.pair,
    images: { web: {}, db: { config: { labels: { 'ostree.linux': '6.12.1' } } } },
  });
});
after(() => rm(directory, { recursive: true }));

async function check(path: string, keys: TrustedKey[] = [key.trusted]): Promise<MediaReport> {
  const media = await openMedia(path);
  try {
    return await verifyMedia(media, keys);
  } finally {
    await media.close();
  }
}

async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Runs `act` on a changed copy of the file, and puts the old content back. */
async function withFlip<T>(
  root: string,
  file: string,
  at: (size: number) => number,
  act: () => Promise<T>,
): Promise<T> {
  const path = join(root, file);
  const bytes = await readFile(path);
  const changed = Buffer.from(bytes);
  const place = at(bytes.length);
  changed[place] = (changed[place] ?? 0) ^ 0x01;
  await writeFile(path, changed);
  try {
    return await act();
  } finally {
    await writeFile(path, bytes);
  }
}

test('a whole bundle has no problems, and every file of it was hashed', async () => {
  const report = await check(release.path);
  assert.deepEqual(problemsOf(report), []);
  const [bundle] = report.bundles;
  assert.equal(bundle?.bundle?.signedBy.name, 'test');
  assert.equal(bundle?.bundle?.digest, release.digest);
  const blobs = (await filesBelow(release.path)).filter((file) => file.endsWith('/data'));
  assert.deepEqual([...(bundle?.hashed ?? [])].map(blobData).sort(), blobs.sort());
});

test('a flipped bit in any file of a bundle is found', async () => {
  const files = await filesBelow(release.path);
  assert.ok(files.length > 30, `${files.length} files`);
  for (const file of files) {
    for (const at of [() => 0, (size: number) => size >> 1, (size: number) => size - 1]) {
      const found = await withFlip(release.path, file, at, async () => problemsOf(await check(release.path)));
      assert.notDeepEqual(found, [], `${file} at byte ${at((await stat(join(release.path, file))).size)}`);
    }
  }
});

test('a flipped bit in a blob names the image and the digest', async () => {
  const image = release.document.images.find((each) => each.name === 'web');
  const layer = await largestBlobOf(image?.digest);
  const found = await withFlip(
    release.path,
    blobData(layer),
    (size) => size >> 1,
    () => check(release.path),
  );
  const [problem, ...others] = problemsOf(found);
  assert.deepEqual(others, []);
  assert.equal(problem?.image, 'web');
  assert.equal(problem?.digest, layer);
  assert.equal(problem?.code, 'DigestMismatch');
});

test('a flipped bit in a manifest, a link and a tag name the image too', async () => {
  const image = release.document.images.find((each) => each.name === 'web');
  assert.ok(image);
  for (const file of [
    blobData(image.digest),
    revisionLink(componentRepository, image.digest),
    tagLink(componentRepository, image.tag),
    layerLink(componentRepository, await largestBlobOf(image.digest)),
  ]) {
    const found = await withFlip(
      release.path,
      file,
      (size) => size - 2,
      () => check(release.path),
    );
    assert.ok(
      problemsOf(found).some((each) => each.image === 'web' && each.digest !== undefined),
      `${file}: ${JSON.stringify(problemsOf(found))}`,
    );
  }
});

test('C12 a missing blob, a cut blob and an emptied blob are found, each with its image', async (t) => {
  const copy = join(directory, 'copy');
  t.after(() => rm(copy, { recursive: true, force: true }));
  const image = release.document.images.find((each) => each.name === 'db');
  const layer = await largestBlobOf(image?.digest);
  for (const damage of [
    (path: string) => rm(path),
    async (path: string) => truncate(path, (await stat(path)).size - 1),
    (path: string) => truncate(path, 0),
  ]) {
    await rm(copy, { recursive: true, force: true });
    await cp(release.path, copy, { recursive: true });
    await damage(join(copy, blobData(layer)));
    const [problem] = problemsOf(await check(copy));
    assert.equal(problem?.image, 'db');
    assert.equal(problem?.digest, layer);
  }
});

test('S8 foreign-signed and unsigned bundles are refused, the keys named', async (t) => {
  const foreign = testKey('other');
  const report = await check(release.path, [foreign.trusted]);
  const [problem] = problemsOf(report);
  assert.equal(problem?.code, 'SignatureUntrusted');
  assert.match(
    problem?.problem ?? '',
    new RegExp(`key ${key.trusted.id}.*other \\(${foreign.trusted.id}\\)`),
  );
  assert.equal(problemsOf(await check(release.path, []))[0]?.code, 'SignatureUntrusted');

  const copy = join(directory, 'unsigned');
  t.after(() => rm(copy, { recursive: true, force: true }));
  await cp(release.path, copy, { recursive: true });
  const tag = `sha256-${hexOf(release.digest)}.sig`;
  await rm(join(copy, tagLink(bundleRepository, tag), '..', '..'), { recursive: true });
  // Without its tag the signature is still found as a referrer.
  assert.equal((await check(copy)).bundles[0]?.bundle?.signatures[0]?.tag, undefined);
  const [signature] = (await check(copy)).bundles[0]?.bundle?.signatures ?? [];
  assert.ok(signature);
  await rm(join(copy, revisionLink(bundleRepository, signature.digest)));
  const [unsigned] = problemsOf(await check(copy));
  assert.equal(unsigned?.code, 'SignatureMissing');
  assert.match(unsigned?.problem ?? '', /ocp-release-bundle-1\.1\.0-x86_64 carries no signature/);
});

test('a signature of another bundle under the tag of this one is refused', async (t) => {
  const other = await makeRelease({ version: '1.2.0', dir: directory, key: key.pair });
  const copy = join(directory, 'swapped');
  t.after(() => rm(copy, { recursive: true, force: true }));
  await cp(release.path, copy, { recursive: true });
  await cp(other.path, copy, { recursive: true });
  // The name of the new release now leads to the old one, which is signed well.
  await writeFile(join(copy, tagLink(bundleRepository, other.name)), release.digest);
  const found = problemsOf(await check(copy));
  assert.ok(
    found.some((each) => each.code === 'DigestMismatch' && /1\.2\.0.*stands.*1\.1\.0/.test(each.problem)),
    JSON.stringify(found),
  );
});

test('a signature manifest that names more than signatures is refused, and nothing of it is served', async (t) => {
  const copy = join(directory, 'stuffed');
  t.after(() => rm(copy, { recursive: true, force: true }));
  for (const stuffing of ['layer', 'config', 'many', 'text'] as const) {
    await rm(copy, { recursive: true, force: true });
    await cp(release.path, copy, { recursive: true });
    const tag = signatureTag(release.digest);
    const store = await openStore(copy);
    const raw = await store.manifest(bundleRepository, tag);
    assert.ok(raw);
    const manifest = JSON.parse(Buffer.from(raw.bytes).toString('utf8'));
    const put = (bytes: Buffer, type: string) => putBlob(store, bundleRepository, bytes, type);
    if (stuffing === 'layer')
      manifest.layers.push(await put(Buffer.alloc(300_000, 'x'), mediaTypes.ociLayerTar));
    if (stuffing === 'config') manifest.config = await put(Buffer.alloc(300_000, 'y'), mediaTypes.ociConfig);
    if (stuffing === 'many') manifest.layers.push(...Array.from({ length: 100 }, () => manifest.layers[0]));
    if (stuffing === 'text')
      manifest.layers.push(await put(Buffer.from('not a document'), simpleSigningMediaType));
    const bytes = Buffer.from(JSON.stringify(manifest));
    const digest = digestOf(bytes);
    await store.putManifest(bundleRepository, { digest, mediaType: mediaTypes.ociManifest, bytes });
    await store.tag(bundleRepository, tag, digest);
    await rm(join(copy, revisionLink(bundleRepository, raw.digest)));
    const content = treeContent(directoryTree(copy));
    await assert.rejects(openBundle(content, { digest: release.digest }, [key.trusted]), stuffing);
    assert.notDeepEqual(problemsOf(await check(copy)), [], stuffing);

    // Beside the true one it does no harm, and does not travel.
    await store.putManifest(bundleRepository, raw);
    const { signatures } = await openBundle(content, { digest: release.digest }, [key.trusted]);
    assert.deepEqual(
      signatures.map((each) => each.digest),
      [raw.digest],
    );
  }
});

test('a second signature, by a key that is not known here, may stand beside the trusted one', async (t) => {
  const copy = join(directory, 'two-keys');
  t.after(() => rm(copy, { recursive: true, force: true }));
  await cp(release.path, copy, { recursive: true });
  const store = await openStore(copy);
  const tag = signatureTag(release.digest);
  const raw = await store.manifest(bundleRepository, tag);
  assert.ok(raw);
  const manifest = JSON.parse(Buffer.from(raw.bytes).toString('utf8'));
  const { payload, signatureBase64 } = signManifest({
    privatePem: testKey('other').pair.privatePem,
    dockerReference: `registry.example/${bundleRepository}`,
    digest: release.digest,
  });
  const layer = await putBlob(store, bundleRepository, Buffer.from(payload), simpleSigningMediaType);
  manifest.layers.push({ ...layer, annotations: { [signatureAnnotation]: signatureBase64 } });
  const bytes = Buffer.from(JSON.stringify(manifest));
  const digest = digestOf(bytes);
  await store.putManifest(bundleRepository, { digest, mediaType: mediaTypes.ociManifest, bytes });
  await store.tag(bundleRepository, tag, digest);
  await rm(join(copy, revisionLink(bundleRepository, raw.digest)));
  const opened = await openBundle(treeContent(directoryTree(copy)), { digest: release.digest }, [
    key.trusted,
  ]);
  assert.deepEqual(
    opened.signatures.map((each) => each.digest),
    [digest],
  );
});

test('directories that lie inside each other in circles are given up, and said', async () => {
  const media = await openMedia(release.path);
  const { tree } = media;
  let lists = 0;
  const circular: typeof tree = {
    ...tree,
    async list(path) {
      lists += 1;
      const found = await tree.list(path);
      const loops = path === 'docker/registry/v2' || path.includes('/loop');
      return loops
        ? [...found, { name: 'loop-a', directory: true }, { name: 'loop-b', directory: true }]
        : found;
    },
  };
  try {
    const report = await verifyMedia({ ...media, tree: circular }, [key.trusted], { entriesMax: 2000 });
    assert.deepEqual(
      problemsOf(report).map((each) => each.code),
      ['InputTooLarge'],
    );
    assert.ok(lists < 2100, `${lists} lists`);
  } finally {
    await media.close();
  }
});

test('the same bundle verifies from an ISO image and from a tar', needs('xorriso'), async () => {
  for (const out of [join(directory, 'bundle.iso'), join(directory, 'bundle.tar')]) {
    const built = await makeRelease({
      version: '1.1.0',
      previous: ['1.0.0'],
      dir: join(directory, 'again'),
      key: key.pair,
      images: { web: {}, db: { config: { labels: { 'ostree.linux': '6.12.1' } } } },
      out,
    });
    assert.equal(built.digest, release.digest, 'the same input gives the same bundle');
    assert.deepEqual(problemsOf(await check(out)), []);
  }
});

async function largestBlobOf(manifest: Digest | undefined): Promise<Digest> {
  assert.ok(manifest);
  const bytes = await readFile(join(release.path, blobData(manifest)), 'utf8');
  return (JSON.parse(bytes) as { layers: { digest: Digest }[] }).layers[0]?.digest ?? manifest;
}

test('a flipped bit in the manifest of the bundle, or of its signature, is told once', async () => {
  const media = await openMedia(release.path);
  const signature = await media.content.resolveTag(bundleRepository, signatureTag(release.digest));
  await media.close();
  assert.ok(signature !== undefined);
  for (const digest of [release.digest, signature]) {
    for (const at of [(size: number) => size >> 1, (size: number) => size - 1]) {
      const report = await withFlip(release.path, blobData(digest), at, () => check(release.path));
      const [problem, ...others] = problemsOf(report);
      assert.deepEqual(others, []);
      assert.equal(problem?.code, 'DigestMismatch');
      assert.match(problem?.problem ?? '', new RegExp(`the manifest ${digest} has been changed`));
    }
  }
});
