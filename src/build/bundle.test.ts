import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { makeRelease, noise, problemsOn, type TestRelease, testKey } from '../../tests/bundles.ts';
import { needs } from '../../tests/tier.ts';
import { openBundle } from '../bundle/bundle.ts';
import { type ClosureItem, closure } from '../bundle/closure.ts';
import { type BundleRole, bundleRepository } from '../bundle/document.ts';
import { openMedia } from '../media/media.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { ownArchitecture } from '../oci/image.ts';
import { createLayoutWriter } from '../oci/layout.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { run, runOrThrow } from '../process/run.ts';
import { tagLink } from '../store/path.ts';
import { type BuildBundleOptions, type BuiltBundle, buildBundle } from './bundle.ts';
import { buildImage } from './image.ts';

const key = testKey();
let directory: string;
let release: TestRelease;
let count = 0;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-build-bundle-'));
  release = await makeRelease({
    version: '1.1.0',
    previous: ['1.0.0'],
    dir: directory,
    key: key.pair,
    images: { web: {}, os: { config: { labels: { 'ostree.linux': '6.12.1', version: '1.1' } } } },
  });
});
after(() => rm(directory, { recursive: true }));

function freshPath(): string {
  count += 1;
  return join(directory, `out-${count}`);
}

async function build(options: Partial<BuildBundleOptions> = {}): Promise<BuiltBundle & { out: string }> {
  const out = options.out ?? freshPath();
  const images = release.sources;
  const built = await buildBundle({
    payload: release.payloadSource,
    images,
    privatePem: key.pair.privatePem,
    out,
    ...options,
  });
  return { ...built, out };
}

const problems = (path: string) => problemsOn(path, key.trusted);

test('a bundle says what it is made of', async () => {
  const { document } = release;
  assert.equal(document.name, 'ocp-release-bundle-1.1.0-x86_64');
  assert.deepEqual(document.previous, ['1.0.0']);
  assert.deepEqual(document.versions, { '1.1.0': release.payload });
  const os = document.images.find((each) => each.name === 'os');
  assert.deepEqual(document.os, { tag: 'os', digest: os?.digest, version: '1.1', kernel: '6.12.1' });
  assert.deepEqual(
    document.images.map((each) => [each.name, each.role, each.source, each.repository, each.tag]),
    [
      ['os', 'component', 'images.test.example/sluice/os', 'openshift/release', '1.1.0-os'],
      ['web', 'component', 'images.test.example/sluice/web', 'openshift/release', '1.1.0-web'],
      [
        'payload',
        'payload',
        'release.sluice.internal/openshift/release-images',
        'openshift/release-images',
        hexOf(release.payload),
      ],
    ],
  );
});

test('the same input gives the same bundle, signed anew', async () => {
  const again = await build();
  assert.equal(again.digest, release.digest);
  const other = await build({ images: new Map(), payload: await oneLayout() });
  assert.equal(other.digest, release.digest, "images in the payload's own layout need no source");
});

/** A layout that holds the payload and its images. */
async function oneLayout(): Promise<string> {
  const layout = join(directory, 'one-layout');
  await cp(join(directory, 'payload-1.1.0'), layout, { recursive: true });
  await cp(join(directory, 'images-1.1.0', 'blobs'), join(layout, 'blobs'), { recursive: true });
  return `oci:${layout}:1.1.0`;
}

test('the closure holds each thing once in each repository, children before parents', async () => {
  const media = await openMedia(release.path);
  const bundle = await openBundle(media.content, { digest: release.digest }, [key.trusted]);
  const items: ClosureItem[] = [];
  for await (const item of closure(media.content, bundle)) items.push(item);
  const places = items.map((item) => `${item.repository}@${item.digest}`);
  assert.equal(new Set(places).size, places.length);
  assert.equal(places.at(-1), `${bundleRepository}@${release.digest}`);
  assert.deepEqual(items.at(-1)?.tags, [release.name]);
  const blobs = (
    await readdir(join(release.path, 'docker/registry/v2/blobs/sha256'), { recursive: true })
  ).filter((name) => name.endsWith('data'));
  assert.equal(new Set(items.map((item) => item.digest)).size, blobs.length);
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'manifest') continue;
    const raw = await media.content.manifest(item.repository, item.digest);
    const manifest = JSON.parse(Buffer.from(raw?.bytes ?? []).toString()) as { layers: { digest: Digest }[] };
    for (const layer of manifest.layers) {
      const at = places.indexOf(`${item.repository}@${layer.digest}`);
      assert.ok(at >= 0 && at < index);
    }
  }
  await media.close();
});

test('C4 what could not get everything is never signed, and the next build goes on from there', async () => {
  const layout = join(directory, 'lacking');
  await cp(join(directory, 'images-1.1.0'), layout, { recursive: true });
  const web = release.document.images.find((each) => each.name === 'web')?.digest ?? release.digest;
  const manifest = JSON.parse(await readFile(join(layout, 'blobs', 'sha256', hexOf(web)), 'utf8'));
  const layer = join(layout, 'blobs', 'sha256', manifest.layers[0].digest.slice(7));
  const good = await readFile(layer);
  const images = new Map([...release.sources, ['web', `oci:${layout}:web`]]);
  const out = freshPath();
  for (const [damage, code] of [
    [() => rm(layer), 'ContentMissing'],
    [() => writeFile(layer, good.subarray(0, -1)), 'DigestMismatch'],
    [() => writeFile(layer, Buffer.concat([good.subarray(0, -1), Buffer.from([1])])), 'DigestMismatch'],
  ] as const) {
    await damage();
    await assert.rejects(build({ images, out }), { code, message: /web.*sha256:/ });
    const repositories = join(out, 'docker/registry/v2/repositories/openshift');
    assert.equal((await readdir(repositories).catch((): string[] => [])).includes('release-bundles'), false);
    await assert.rejects(readFile(join(out, 'sluice-media.json')), { code: 'ENOENT' });
  }
  await writeFile(layer, good);
  assert.equal((await build({ images, out })).digest, release.digest);
  assert.deepEqual(await problems(out), []);
});

test('an image that is not the one the payload names is refused, with both digests', async () => {
  const out = { directory: join(directory, 'other'), reference: 'web' };
  const other = await buildImage({ out, files: [{ path: '/other', data: 'x' }] });
  const images = new Map([...release.sources, ['web', `oci:${out.directory}:web`]]);
  await assert.rejects(build({ images }), {
    code: 'DigestMismatch',
    message: new RegExp(`web.*${other.digest}.*names sha256`),
  });
});

test('images without a source, unknown names and wrong roles are refused by name', async () => {
  await assert.rejects(build({ images: new Map() }), { code: 'ReferenceUnresolved', message: /os, web/ });
  const typo = new Map([...release.sources, ['wbe', release.sources.get('web') ?? '']]);
  await assert.rejects(build({ images: typo }), { code: 'ReferenceUnresolved', message: /"wbe"/ });
  const roles = new Map<string, BundleRole>([['x.example/y', 'check']]);
  await assert.rejects(build({ roles }), { code: 'Usage' });
  await assert.rejects(build({ osImage: 'nothing' }), { code: 'ReferenceUnresolved' });
  await assert.rejects(build({ privatePem: key.pair.publicPem }), { code: 'InputInvalid' });
});

test('an image is found by its repository in the payload, and others travel under their own path', async () => {
  const tools = { directory: join(directory, 'tools'), reference: 'curl' };
  const curl = await buildImage({ out: tools, files: [{ path: '/curl', data: 'x' }] });
  const images = new Map([
    ['images.test.example/sluice/web', release.sources.get('web') ?? ''],
    ['os', release.sources.get('os') ?? ''],
    ['quay.example/a/b/c/curl:8.1', `oci:${tools.directory}:curl`],
    ['quay.example/check', `oci:${tools.directory}:curl`],
  ]);
  const roles = new Map<string, BundleRole>([['quay.example/check', 'check']]);
  const built = await build({ images, roles });
  const others = built.document.images.filter((each) => !['component', 'payload'].includes(each.role));
  assert.deepEqual(
    others.map((each) => [each.name, each.role, each.repository, each.tag, each.digest]),
    [
      ['quay.example/a/b/c/curl', 'additional', 'a/b/c/curl', '8.1', curl.digest],
      ['quay.example/check', 'check', 'check', hexOf(curl.digest), curl.digest],
    ],
  );
  assert.deepEqual(await problems(built.out), []);
});

test('S2 signatures and referrers of an index and of its children travel along', async () => {
  const layout = join(directory, 'index');
  const writer = await createLayoutWriter(layout);
  const child = await buildImage({
    out: { directory: layout, reference: 'child' },
    files: [{ path: '/a', data: 'a' }],
  });
  const platform = { os: 'linux', architecture: 'amd64' };
  const index = await writer.manifest(
    { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [{ ...child, platform }] },
    mediaTypes.ociIndex,
  );
  await writer.tag('multi', index);
  const attach = async (text: string, more: object) => {
    const config = await writer.blob(Buffer.from('{}'), mediaTypes.ociEmpty);
    const layer = await writer.blob(Buffer.from(text), 'application/octet-stream');
    const manifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      artifactType: 'test/attestation',
      config,
      layers: [layer],
      ...more,
    };
    return await writer.manifest(manifest, mediaTypes.ociManifest);
  };
  await writer.tag(`sha256-${hexOf(index.digest)}.sig`, await attach('signature of the index', {}));
  await writer.tag(`sha256-${hexOf(child.digest)}.att`, await attach('attestation of the child', {}));
  await writer.tag('', await attach('referrer of the child', { subject: child }));
  const images = new Map([...release.sources, ['x.example/multi:1', `oci:${layout}:multi`]]);
  const built = await build({ images });
  const image = built.document.images.find((each) => each.role === 'additional');
  assert.equal(image?.attached.length, 3);
  assert.deepEqual(await problems(built.out), []);
  const media = await openMedia(built.out);
  const bundle = await openBundle(media.content, { name: built.document.name }, [key.trusted]);
  const tags: string[] = [];
  for await (const item of closure(media.content, bundle))
    if (item.repository === 'multi') tags.push(...item.tags);
  assert.deepEqual(
    tags.sort(),
    ['1', `sha256-${hexOf(index.digest)}.sig`, `sha256-${hexOf(child.digest)}.att`].sort(),
  );
  assert.equal((await media.content.referrers('multi', child.digest)).length, 1);
  await media.close();
});

test('I10 other content under the same name is a conflict, and what stands there stays', async () => {
  const out = freshPath();
  await build({ out });
  await assert.rejects(build({ out, payloadRepository: 'x.example/other' }), {
    code: 'Conflict',
    message: /under the name/,
  });
  assert.deepEqual(await problems(out), []);
});

test('M12 images of one platform that is not the one wanted are told of, since they go along', async () => {
  const [own, other] = ownArchitecture() === 'arm64' ? ['arm64', 'amd64'] : [ownArchitecture(), 'arm64'];
  const told = async (platform: string) =>
    (await build({ platforms: [platform] })).notes.filter((note) => note.includes('goes along'));
  assert.deepEqual(await told(`linux/${own}`), []);
  assert.deepEqual(
    await told(`linux/${other}`),
    ['os', 'web'].map(
      (name) => `${name} is for linux/${own} alone, and goes along though linux/${other} is asked for`,
    ),
  );
});

test('a second release joins the first on the same media, and shares its blobs', async () => {
  const next = await makeRelease({ version: '1.2.0', previous: ['1.1.0'], dir: directory, key: key.pair });
  const out = freshPath();
  await build({ out });
  const blobs = async () =>
    (await readdir(join(out, 'docker/registry/v2/blobs/sha256'), { recursive: true })).length;
  const first = await blobs();
  await build({ out, payload: next.payloadSource, images: next.sources });
  assert.ok((await blobs()) > first);
  const media = await openMedia(out);
  assert.deepEqual(
    media.hint.bundles.map((each) => each.name),
    [release.name, next.name],
  );
  await media.close();
  assert.deepEqual(await problems(out), []);
});

test('output that would overwrite something else is refused', async () => {
  const full = freshPath();
  await mkdir(full);
  await writeFile(join(full, 'holiday.jpg'), 'x');
  await assert.rejects(build({ out: full }), { code: 'Conflict' });
  const file = `${freshPath()}.iso`;
  await writeFile(file, 'x');
  await assert.rejects(build({ out: file }), { code: 'Conflict' });
  await assert.rejects(build({ out: join(directory, 'absent', 'x.tar') }), { code: 'NotFound' });
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.includes('.partial')),
    [],
  );
});

test('an archive of a layout is a source as well', needs('skopeo'), async () => {
  const archive = join(directory, 'web.tar');
  await runOrThrow('skopeo', [
    'copy',
    '--preserve-digests',
    release.sources.get('web') ?? '',
    `oci-archive:${archive}:web`,
  ]);
  await writeFile(`${archive}.gz`, gzipSync(await readFile(archive)));
  for (const path of [archive, `${archive}.gz`]) {
    const images = new Map([...release.sources, ['web', `oci-archive:${path}:web`]]);
    const built = await build({ images });
    assert.equal(built.digest, release.digest);
  }
});

test(
  'C8 a full disk is told, nothing is signed, and the build goes on when there is space',
  needs('root'),
  async (t) => {
    const disk = freshPath();
    await mkdir(disk);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    if (mounted.code !== 0) return t.skip(`root: tmpfs cannot be mounted: ${mounted.stderr.trim()}`);
    t.after(() => runOrThrow('umount', [disk]));
    const big = { directory: join(directory, 'big'), reference: 'big' };
    await buildImage({ out: big, files: [{ path: '/big', data: noise('big', 3_000_000) }] });
    const images = new Map([...release.sources, ['x.example/big', `oci:${big.directory}:big`]]);
    const out = join(disk, 'media');
    await assert.rejects(build({ images, out }), { code: 'DiskFull' });
    await assert.rejects(readFile(join(out, tagLink(bundleRepository, release.name))), { code: 'ENOENT' });
    await runOrThrow('mount', ['-o', 'remount,size=10m', disk]);
    await build({ images, out });
    assert.deepEqual(await problems(out), []);
  },
);
