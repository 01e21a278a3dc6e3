import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { needs, repository } from '../../tests/tier.ts';
import { deltaTag, readDelta } from '../bundle/delta.ts';
import { bundleRepository } from '../bundle/document.ts';
import { problemsOf, verifyMedia } from '../bundle/medium.ts';
import { openMedia } from '../media/media.ts';
import type { Digest } from '../oci/digest.ts';
import { runOrThrow } from '../process/run.ts';
import { openStore } from '../store/store.ts';
import { buildBundle } from './bundle.ts';
import { putDelta } from './delta.ts';

const key = testKey();
let directory: string;
let release: TestRelease;
let next: TestRelease;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-output-'));
  const images = { web: {}, api: {}, os: { config: { labels: { 'ostree.linux': '6.12.1' } } } };
  release = await makeRelease({
    version: '1.1.0',
    dir: directory,
    key: key.pair,
    images,
    blobBytes: 400_000,
  });
  next = await makeRelease({
    version: '1.1.1',
    previous: ['1.1.0'],
    dir: directory,
    key: key.pair,
    images,
    blobBytes: 400_000,
  });
});
after(() => rm(directory, { recursive: true }));

const build = (out: string, more: Partial<Parameters<typeof buildBundle>[0]> = {}) =>
  buildBundle({
    payload: release.payloadSource,
    images: release.sources,
    privatePem: key.pair.privatePem,
    out,
    ...more,
  });

async function verify(path: string) {
  const media = await openMedia(path);
  try {
    const report = await verifyMedia(media, [key.trusted]);
    const problems = problemsOf(report);
    return {
      format: media.format,
      problems,
      delta: report.bundles[0]?.delta,
      digest: report.bundles[0]?.bundle?.digest,
    };
  } finally {
    await media.close();
  }
}

test(
  'a squashfs image is written, mounted by no one, verified, and is what unsquashfs reads',
  needs('mksquashfs'),
  async () => {
    const out = join(directory, 'x.squashfs');
    const built = await build(out);
    assert.equal(built.digest, release.digest);
    assert.deepEqual(await verify(out), {
      format: 'squashfs',
      problems: [],
      delta: undefined,
      digest: release.digest,
    });
    const { stdout } = await runOrThrow('unsquashfs', ['-l', out]);
    assert.match(stdout, /docker\/registry\/v2\/blobs\/sha256/);
    assert.match(stdout, /sluice-media\.json/);
  },
);

test('parts of an image and of a directory are one bundle again', needs('xorriso'), async () => {
  const iso = await build(join(directory, 'split.iso'), { splitBytes: 1024 * 1024 });
  assert.ok(iso.files.length > 2, String(iso.files));
  assert.match(iso.files[0] ?? '', /split\.iso\.parts$/);
  assert.deepEqual(await verify(iso.files[0] ?? ''), {
    format: 'iso',
    problems: [],
    delta: undefined,
    digest: release.digest,
  });
  const out = join(directory, 'parts');
  const parts = await build(out, { splitBytes: 1024 * 1024 });
  assert.equal(parts.files[0], join(out, 'sluice.tar.parts'));
  assert.deepEqual(await verify(out), {
    format: 'tar',
    problems: [],
    delta: undefined,
    digest: release.digest,
  });
  await rm(join(out, 'sluice.tar.001'));
  await assert.rejects(verify(out), { code: 'MediaUnreadable', message: /part 2 of \d is missing/ });
  await assert.rejects(build(out, { splitBytes: 1024 * 1024 }), { code: 'Conflict' });
});

test('C6 a build that is killed goes on where it stopped, and gives the same bundle', async () => {
  const out = join(directory, 'killed.tar');
  const points = ['store-blob-written', 'store-blob-renamed', 'store-manifest-linked', 'store-tag-indexed'];
  const program = join(directory, 'build.ts');
  await writeFile(
    program,
    `import { buildBundle } from '${repository}/src/build/bundle.ts';
await buildBundle(${JSON.stringify({
      payload: release.payloadSource,
      privatePem: key.pair.privatePem,
      out,
      images: [...release.sources],
    }).replace(/"images":(\[.*\])\}$/, '"images": new Map($1)}')});`,
  );
  for (const point of points) {
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, SLUICE_FAULT: point },
      stdio: 'ignore',
    });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    assert.notEqual(code, 0, point);
    assert.ok(code !== null || signal !== null);
    const names = await readdir(directory);
    assert.ok(!names.includes('killed.tar'), 'nothing stands under the name before it is whole');
    assert.ok(
      names.some((name) => /^killed\.tar\.[0-9a-f]{12}\.partial$/.test(name)),
      point,
    );
  }
  let copied = 0;
  const built = await build(out, { onProgress: ({ bytesDone }) => (copied = bytesDone) });
  assert.ok(copied > 0);
  assert.equal(built.digest, release.digest);
  assert.deepEqual(await verify(out), {
    format: 'tar',
    problems: [],
    delta: undefined,
    digest: release.digest,
  });
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.startsWith('killed.tar')),
    ['killed.tar'],
  );
});

test('a delta carries only what its base lacks, is the same bundle, and says what it needs', async () => {
  const shared = new Map([...next.sources, ['web', next.sources.get('web') ?? '']]);
  const whole = await verify(next.path);
  const out = join(directory, 'delta');
  // The base holds api and os of the next release too, as neighbouring releases do.
  const base = join(directory, 'base');
  const other = new Map([
    ...release.sources,
    ['images.test.example/same/api:1', next.sources.get('api') ?? ''],
    ['images.test.example/same/os:1', next.sources.get('os') ?? ''],
  ]);
  await build(base, { images: other });
  const built = await buildBundle({
    payload: next.payloadSource,
    images: shared,
    privatePem: key.pair.privatePem,
    out,
    since: base,
  });
  assert.equal(built.digest, whole.digest, 'the same identity as the whole bundle');
  assert.deepEqual(
    built.delta?.since.map((each) => each.name),
    ['ocp-release-bundle-1.1.0-x86_64'],
  );
  const found = await verify(out);
  assert.deepEqual(found.problems, []);
  assert.ok((found.delta?.lacks.size ?? 0) >= 2);
  const bytes = async (path: string) => Number((await runOrThrow('du', ['-sb', path])).stdout.split('\t')[0]);
  assert.ok((await bytes(out)) < 0.6 * (await bytes(next.path)), 'two of three images stay at home');
  await assert.rejects(build(join(directory, 'same'), { since: release.path }), {
    code: 'Conflict',
    message: /empty/,
  });
  // The cluster's own list serves as well, and gives the same.
  const inventory = join(directory, 'inventory.json');
  const blobs = [...(built.delta?.lacks.keys() ?? [])];
  const releases = (built.delta?.since ?? []).map(({ name, digest }) => ({ name, bundleDigest: digest }));
  await writeFile(inventory, JSON.stringify({ formatVersion: 1, releases, blobs }));
  const again = await buildBundle({
    payload: next.payloadSource,
    images: shared,
    privatePem: key.pair.privatePem,
    out: join(directory, 'delta2'),
    since: inventory,
  });
  assert.deepEqual(again.delta, built.delta);
  // A release that is there besides is not needed, and may go before the delta arrives.
  const besides = { name: 'ocp-release-bundle-9.9.9-x86_64', bundleDigest: `sha256:${'9'.repeat(64)}` };
  const said = [
    { ...besides, holds: [0] },
    ...releases.map((each) => ({ ...each, holds: blobs.map((_, index) => index) })),
  ];
  await writeFile(inventory, JSON.stringify({ formatVersion: 1, releases: said, blobs }));
  const fewest = await buildBundle({
    payload: next.payloadSource,
    images: shared,
    privatePem: key.pair.privatePem,
    out: join(directory, 'delta3'),
    since: inventory,
  });
  assert.deepEqual(fewest.delta, built.delta);
  // A base of which nothing is needed makes no delta.
  await writeFile(
    inventory,
    JSON.stringify({ formatVersion: 1, releases: [besides], blobs: [besides.bundleDigest] }),
  );
  const none = await buildBundle({
    payload: next.payloadSource,
    images: shared,
    privatePem: key.pair.privatePem,
    out: join(directory, 'delta4'),
    since: inventory,
  });
  assert.equal(none.delta, undefined);
  assert.match(none.notes.join('\n'), /inventory\.json holds nothing of it/);
  assert.equal((await verify(join(directory, 'delta4'))).delta, undefined);
  await writeFile(inventory, JSON.stringify({ formatVersion: 1, releases }));
  await assert.rejects(build(join(directory, 'no'), { since: inventory }), {
    code: 'InputInvalid',
    message: /which blobs/,
  });
});

test('what is left out counts only where a trusted key says so, of this very bundle', async (t) => {
  const copied = async () => {
    const root = await mkdtemp(join(directory, 'claimed-'));
    t.after(() => rm(root, { recursive: true, force: true }));
    await cp(join(directory, 'delta'), root, { recursive: true });
    return { root, store: await openStore(root) };
  };
  const codes = async (root: string) => [...new Set((await verify(root)).problems.map((each) => each.code))];
  const read = async (root: string, bundle: Digest) => {
    const media = await openMedia(root);
    return await readDelta(media.content, bundle, [key.trusted]).finally(() => media.close());
  };

  // Whoever takes blobs away cannot call the rest a delta.
  const stranger = await copied();
  const subject = await stranger.store.manifest(bundleRepository, next.digest);
  assert.ok(subject !== undefined);
  const { mediaType, digest, bytes } = subject;
  const lacks = (await read(stranger.root, next.digest))?.lacks ?? new Map();
  await putDelta(
    stranger.store,
    { bundle: next.digest, since: [], lacks },
    testKey('stranger').pair.privatePem,
    {
      mediaType,
      digest,
      size: bytes.length,
    },
  );
  await assert.rejects(read(stranger.root, next.digest), { code: 'SignatureUntrusted' });
  assert.ok((await codes(stranger.root)).includes('SignatureUntrusted'));

  // Nor with what was signed of another bundle.
  const other = await copied();
  const signed = await other.store.resolveTag(bundleRepository, deltaTag(next.digest));
  assert.ok(signed !== undefined);
  await other.store.tag(bundleRepository, deltaTag(release.digest), signed);
  await assert.rejects(read(other.root, release.digest), {
    code: 'DigestMismatch',
    message: new RegExp(`was made for ${next.digest}`),
  });
});

test('a delta becomes whole in its directory, and says so; a whole bundle becomes no delta', async () => {
  const out = join(directory, 'delta-then-whole');
  const base = join(directory, 'base');
  const options = { payload: next.payloadSource, images: next.sources, privatePem: key.pair.privatePem };
  await buildBundle({ ...options, out, since: base });
  assert.notEqual((await verify(out)).delta, undefined);
  await buildBundle({ ...options, out });
  const whole = await verify(out);
  assert.deepEqual([whole.delta, whole.problems], [undefined, []]);
  await assert.rejects(buildBundle({ ...options, out, since: base }), { code: 'Conflict', message: /whole/ });
});

test('a build goes on with nothing that a build of another kind has left', needs('xorriso'), async (t) => {
  const out = join(directory, 'kinds.iso');
  const options = { payload: next.payloadSource, images: next.sources, privatePem: key.pair.privatePem, out };
  const path = process.env.PATH;
  t.after(() => {
    process.env.PATH = path;
  });
  // What writes the image is not to be found: everything but the file is ready.
  process.env.PATH = join(directory, 'nothing');
  await assert.rejects(buildBundle({ ...options, since: join(directory, 'base') }), /xorriso/);
  await assert.rejects(buildBundle(options), /xorriso/);
  process.env.PATH = path;
  const left = (await readdir(directory)).filter((name) => /^kinds\.iso\.[0-9a-f]{12}\.partial$/.test(name));
  assert.equal(left.length, 2);
  for (const name of left) {
    await mkdir(join(directory, name, 'sluice-program'));
    await writeFile(join(directory, name, 'sluice-program', 'SHA256SUMS'), 'of a build with the program');
  }
  await buildBundle(options);
  const found = await verify(out);
  assert.deepEqual([found.delta, found.problems], [undefined, []]);
});

test('what is missing from a delta beside what was signed as left out is a problem', async () => {
  const media = await openMedia(join(directory, 'delta'));
  const raw = await media.content.manifest('openshift/release', '1.1.1-web');
  await media.close();
  const layer = JSON.parse(Buffer.from(raw?.bytes ?? []).toString()).layers[0].digest.slice(7) as string;
  await rm(join(directory, 'delta/docker/registry/v2/blobs/sha256', layer.slice(0, 2), layer, 'data'));
  const found = await verify(join(directory, 'delta'));
  assert.match(found.problems[0]?.problem ?? '', new RegExp(layer));
});

test('a name that ends as a file of another format does is no directory, unless one is there', async () => {
  for (const name of ['u2.zip', 'u.tar.gz', 'u.tgz', 'u.img', 'u.raw', 'u.qcow2', 'u.ISO']) {
    const out = join(directory, name);
    await assert.rejects(build(out), {
      code: 'Usage',
      message: new RegExp(`${name.replaceAll('.', '\\.')}: no \\.\\w+ file can be written`),
      next: /\.iso, \.squashfs or \.tar/,
    });
    assert.ok(!(await readdir(directory)).some((each) => each.startsWith(name)), name);
  }
  for (const name of ['usb.zip', 'release-1.1']) {
    if (name === 'usb.zip') await mkdir(join(directory, name));
    await build(join(directory, name));
    assert.equal((await verify(join(directory, name))).problems.length, 0);
  }
});
