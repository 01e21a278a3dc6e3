import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bytesOf, imageOf, manifestOf, putBlob, putImage, tarOf } from '../../tests/content.ts';
import { isSluiceError } from '../errors/error.ts';
import { type Digest, digestOf, emptyDigest, referrersTag } from '../oci/digest.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { run } from '../process/run.ts';
import { treeContent } from './content.ts';
import { blobData, layerLink } from './path.ts';
import { openStore } from './store.ts';
import { directoryTree } from './tree.ts';

async function newStore(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'sluice-store-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  return await openStore(root);
}

const isCode =
  (...codes: Parameters<typeof isSluiceError>[1][]) =>
  (error: unknown) =>
    isSluiceError(error, ...codes);
const sample = async (text = 'hello') =>
  imageOf([await tarOf([{ header: { name: 'bin/hello', mode: 0o755 }, data: text }])]);
const big = (bytes: number) => {
  const data = randomBytes(bytes);
  return { data, digest: digestOf(data) };
};

test('what is put in is read back as distribution reads it', async (t) => {
  const store = await newStore(t);
  const image = await sample();
  await putImage(store, 'a/b/c', image, 'v1');
  const other = treeContent(directoryTree(store.root));
  assert.deepEqual(await other.repositories(), ['a/b/c']);
  assert.deepEqual(await other.tags('a/b/c'), ['v1']);
  assert.deepEqual((await other.manifest('a/b/c', 'v1'))?.bytes, image.raw.bytes);
  for (const [digest, bytes] of image.blobs) {
    assert.deepEqual(await bytesOf(other, 'a/b/c', digest), bytes);
    assert.equal(await store.blobState(digest, bytes.length), 'verified');
    assert.equal(await other.blob('a/b', digest), undefined); // A blob is readable where it is linked only.
    assert.equal(await readFile(join(store.root, layerLink('a/b/c', digest)), 'utf8'), digest);
  }
  assert.equal((await openStore(store.root)).root, store.root);
});

test('a tag moves, and names nothing that is not there', async (t) => {
  const store = await newStore(t);
  const [one, two] = [await sample('1'), await sample('2')];
  await putImage(store, 'a', one, 'v');
  await putImage(store, 'a', two, 'v');
  assert.equal(await store.resolveTag('a', 'v'), two.raw.digest);
  assert.equal((await store.manifest('a', one.raw.digest))?.digest, one.raw.digest);
  await assert.rejects(store.tag('a', 'w', digestOf(Buffer.from('x'))), isCode('ContentMissing'));
  await assert.rejects(store.tag('a', '../../w', two.raw.digest), isCode('InputInvalid'));
  await assert.rejects(store.linkLayers('../a', []), isCode('InputInvalid'));
});

test('a manifest is not taken before all that it names', async (t) => {
  const store = await newStore(t);
  const image = await sample();
  const [first, second] = [...image.blobs];
  assert.ok(first && second);
  await assert.rejects(store.putManifest('a', image.raw), isCode('ContentMissing'));
  await putBlob(store, ...first);
  await putBlob(store, ...second);
  await assert.rejects(store.putManifest('a', image.raw), isCode('ContentMissing')); // Not linked in this repository.
  await store.linkLayers('a', [...image.blobs.keys()]);
  await store.putManifest('a', image.raw);
  const absent = {
    ...image.descriptor,
    digest: digestOf(Buffer.from('x')),
    platform: { os: 'linux', architecture: 'arm64' },
  };
  const index = manifestOf(
    { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [image.descriptor, absent] },
    mediaTypes.ociIndex,
  );
  await assert.rejects(store.putManifest('a', index.raw), isCode('ContentMissing'));
  await store.putManifest('a', index.raw, { sparse: true });
  await assert.rejects(store.linkLayer('a', absent.digest), isCode('ContentMissing'));
  await assert.rejects(
    store.putManifest('a', { ...image.raw, bytes: Buffer.from('{}') }),
    isCode('DigestMismatch'),
  );
});

test('C2 a blob of the wrong length is absent, and one that came otherwise is hashed first', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(100_000);
  await putBlob(store, digest, data);
  const path = join(store.root, blobData(digest));
  await truncate(path, data.length - 1);
  assert.equal(await store.blobState(digest, data.length), 'absent');
  await putBlob(store, digest, data);
  assert.equal(await store.blobState(digest, data.length), 'verified');

  await writeFile(path, Buffer.concat([data.subarray(1), data.subarray(0, 1)])); // Right length, wrong bytes.
  await utimes(path, 2, 2); // A clock that ticks each 4 ms would not show a change at once.
  assert.equal(await store.blobState(digest, data.length), 'unverified');
  const writer = await store.begin(digest, data.length);
  assert.equal(writer?.offset, 0);
  await writer?.write(data);
  await writer?.commit();
  assert.deepEqual(await readFile(path), data);

  await utimes(path, 1, 1); // Right bytes, but who wrote them?
  assert.equal(await store.blobState(digest, data.length), 'unverified');
  assert.equal(await store.begin(digest, data.length), undefined);
  assert.equal(await store.blobState(digest, data.length), 'verified');
  assert.equal(await (await openStore(store.root)).blobState(digest, data.length), 'verified');
});

test('verifyBlob finds a flipped bit and takes the blob away', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(3_000_000);
  await putBlob(store, digest, data);
  assert.equal(await store.verifyBlob(digest, data.length), true);
  const flipped = Buffer.from(data);
  flipped[2_500_000] = (flipped[2_500_000] ?? 0) ^ 1;
  await writeFile(join(store.root, blobData(digest)), flipped);
  assert.equal(await store.verifyBlob(digest, data.length), false);
  assert.equal(await store.blobState(digest, data.length), 'absent');
});

test('C10 a copy goes on inside a blob, and starts anew where the kept bytes are wrong', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(3 * 1024 * 1024 + 5);
  const first = await store.begin(digest, data.length);
  for (let at = 0; at < 2_000_000; at += 64_000) await first?.write(data.subarray(at, at + 64_000));
  await first?.suspend();
  const second = await store.begin(digest, data.length);
  assert.ok(second !== undefined && second.offset >= 2_000_000);
  await second.write(data.subarray(second.offset));
  await second.suspend();
  const [partial] = await readdir(join(store.root, 'sluice/partial'));
  const whole = await store.begin(digest, data.length);
  assert.equal(whole?.offset, data.length); // To be hashed from the disk, not asked for again.
  await whole?.suspend();
  assert.ok(partial !== undefined);
  const [kept = ''] = await readdir(join(store.root, 'sluice/partial'));
  const spoiled = Buffer.from(data);
  spoiled[7] = (spoiled[7] ?? 0) ^ 1;
  await writeFile(join(store.root, 'sluice/partial', kept), spoiled); // The full length, wrong bytes.
  const wrong = await store.begin(digest, data.length);
  await assert.rejects(wrong?.commit() ?? Promise.resolve(), isCode('DigestMismatch'));
  const anew = await store.begin(digest, data.length);
  assert.equal(anew?.offset, 0);
  await anew?.write(spoiled.subarray(0, 1000));
  await anew?.suspend();
  const mixed = await store.begin(digest, data.length);
  assert.equal(mixed?.offset, 1000);
  await mixed?.write(data.subarray(1000));
  await assert.rejects(mixed?.commit() ?? Promise.resolve(), isCode('DigestMismatch'));
  assert.deepEqual(await readdir(join(store.root, 'sluice/partial')), []);
  const left = await store.begin(digest, data.length);
  await left?.write(spoiled.subarray(0, 1000));
  await left?.suspend();
  await store.putBlob(digest, data);
  assert.deepEqual(await readFile(join(store.root, blobData(digest))), data);
});

test('a paced blob is flushed piece by piece, and what was flushed stays when it is broken off', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(1_000_000);
  const pieceBytes = 64 * 1024;
  const partials = join(store.root, 'sluice/partial');
  const sizes: number[] = [];
  const pace = {
    pieceBytes,
    async flush<T>(act: () => Promise<T>): Promise<T> {
      const [name = ''] = await readdir(partials);
      sizes.push((await stat(join(partials, name))).size);
      return await act();
    },
  };
  const first = await store.begin(digest, data.length, { pace });
  for (let at = 0; at < 500_000; at += 9_000)
    await first?.write(data.subarray(at, Math.min(500_000, at + 9_000)));
  await first?.suspend();
  assert.ok(sizes.length >= 6, String(sizes));
  const second = await store.begin(digest, data.length, { pace });
  assert.equal(second?.offset, 500_000);
  await second?.write(data.subarray(500_000)); // As a medium gives it: much at once.
  await second?.commit();
  const steps = sizes.map((size, at) => size - (sizes[at - 1] ?? 0));
  assert.ok(
    steps.every((step) => step <= 2 * pieceBytes),
    String(steps),
  );
  assert.equal(sizes.at(-1), data.length);
  assert.deepEqual(await readFile(join(store.root, blobData(digest))), data);
});

test('C18 many at once for one blob: one writes, the others find it', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(2_000_000);
  let written = 0;
  const copy = async () => {
    const writer = await store.begin(digest, data.length);
    if (writer === undefined) return;
    written += 1;
    for (let at = 0; at < data.length; at += 100_000) await writer.write(data.subarray(at, at + 100_000));
    await writer.commit();
    await store.linkLayers('a', [digest]);
  };
  await Promise.all(Array.from({ length: 8 }, copy));
  assert.equal(written, 1);
  await Promise.all(Array.from({ length: 8 }, () => store.linkLayers('b', [digest])));
  assert.deepEqual(await bytesOf(store, 'b', digest), data);

  const { data: other, digest: otherDigest } = big(1000);
  const failing = await store.begin(otherDigest, other.length);
  const waiting = store.begin(otherDigest, other.length);
  const impatient = store.begin(otherDigest, other.length, { signal: AbortSignal.timeout(10) });
  await assert.rejects(impatient, /timeout/);
  await failing?.abort();
  const next = await waiting; // The one that failed does not hold the others.
  await next?.write(other);
  await next?.commit();
});

test('C18 a file that another living process writes to is left to it', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(10_000);
  const script = `
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, 'store.ts'))});
    const store = await openStore(process.argv[1]);
    const writer = await store.begin(process.argv[2], 10000);
    await writer.write(Buffer.alloc(600000 / 100));
    console.log('written');
    setTimeout(() => {}, 1e6);`;
  const { spawn } = await import('node:child_process');
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, store.root, digest], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  await putBlob(store, digest, data);
  assert.equal((await readdir(join(store.root, 'sluice/partial'))).length, 1);
  assert.equal(await store.purgeStale(0), 0);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(await store.purgeStale(0), 1);
});

test('C20 what ended processes left is removed by age, and nothing else', async (t) => {
  const store = await newStore(t);
  const partials = join(store.root, 'sluice/partial');
  const hex = '0'.repeat(64);
  for (const age of [1, 2, 3]) {
    const path = join(partials, `${hex}.999999-1-00000000.00000000000${age}.part`);
    await writeFile(path, 'x');
    await utimes(path, age, age);
  }
  await writeFile(join(partials, `${hex}.999999-1-00000000.000000000009.part`), 'young');
  await mkdir(join(store.root, 'docker/registry/v2/repositories/a/_uploads/1'), { recursive: true });
  assert.equal(await store.purgeStale(60_000), 3);
  assert.equal((await readdir(partials)).length, 1);
  assert.deepEqual(await readdir(join(store.root, 'docker/registry/v2/repositories/a/_uploads')), ['1']);
});

test('M6 M8 an empty blob stands under the digest of nothing only', async (t) => {
  const store = await newStore(t);
  await putBlob(store, emptyDigest, Buffer.alloc(0));
  const config = Buffer.from('{}');
  await putBlob(store, digestOf(config), config);
  await store.linkLayers('a', [emptyDigest, digestOf(config)]);
  assert.deepEqual(await bytesOf(store, 'a', emptyDigest), Buffer.alloc(0));
  const artifact = manifestOf(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      artifactType: 'x/y',
      config: { mediaType: mediaTypes.ociEmpty, digest: digestOf(config), size: 2 },
      layers: [{ mediaType: 'x/layer', digest: emptyDigest, size: 0 }],
    },
    mediaTypes.ociManifest,
  );
  await store.putManifest('a', artifact.raw);

  const { data, digest } = big(1000);
  await assert.rejects(store.begin(digest, 0), isCode('DigestMismatch'));
  await putBlob(store, digest, data);
  await store.linkLayers('a', [digest]);
  await truncate(join(store.root, blobData(digest)), 0);
  assert.equal(await store.hasBlob(digest), undefined);
  assert.equal(await store.blob('a', digest), undefined);
});

test('M10 more or fewer bytes than the descriptor says are refused, and nothing is left', async (t) => {
  const store = await newStore(t);
  const { data, digest } = big(10_000);
  for (const size of [data.length - 1, data.length + 1]) {
    const writer = await store.begin(digest, size);
    await assert.rejects(async () => {
      await writer?.write(data);
      await writer?.commit();
    }, isCode('DigestMismatch'));
    assert.deepEqual(await readdir(join(store.root, 'sluice/partial')), []);
  }
  assert.equal(await store.hasBlob(digest), undefined);
});

test('referrers are found by subject and by the fallback tag, each once', async (t) => {
  const store = await newStore(t);
  const image = await sample();
  await putImage(store, 'a', image);
  const empty = Buffer.from('{}');
  await putBlob(store, digestOf(empty), empty);
  await store.linkLayers('a', [digestOf(empty)]);
  const config = { mediaType: mediaTypes.ociEmpty, digest: digestOf(empty), size: 2 };
  const artifact = (artifactType: string, subject?: object) =>
    manifestOf(
      { schemaVersion: 2, mediaType: mediaTypes.ociManifest, artifactType, config, layers: [], subject },
      mediaTypes.ociManifest,
    );
  const signature = artifact('x/sig', image.descriptor);
  const sbom = artifact('x/sbom');
  await store.putManifest('a', signature.raw);
  assert.deepEqual(
    (await store.referrers('a', image.raw.digest)).map((found) => found.artifactType),
    ['x/sig'],
  );
  await store.putManifest('a', sbom.raw);
  const gone = { ...sbom.descriptor, digest: digestOf(Buffer.from('gone')) };
  const list = manifestOf(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.ociIndex,
      manifests: [image.descriptor, signature.descriptor, sbom.descriptor, gone],
    },
    mediaTypes.ociIndex,
  );
  await store.putManifest('a', list.raw, { sparse: true });
  await store.tag('a', referrersTag(image.raw.digest), list.raw.digest);
  const found = (await store.referrers('a', image.raw.digest)).map((entry) => entry.digest);
  assert.deepEqual(found.toSorted(), [signature.raw.digest, sbom.raw.digest].toSorted());
  assert.deepEqual(await store.referrers('a', signature.raw.digest), []);
  assert.deepEqual(await store.referrers('none', image.raw.digest), []);
});

test('a name is bound to its first digest for ever', async (t) => {
  const store = await newStore(t);
  const [one, two] = [digestOf(Buffer.from('1')), digestOf(Buffer.from('2'))];
  const name = 'ocp-release-bundle-1.0.0-x86_64';
  await Promise.all([store.bind(name, one), store.bind(name, one)]);
  await assert.rejects(store.bind(name, two), isCode('Conflict'));
  assert.deepEqual(await (await openStore(store.root)).bindings(), [{ name, bundleDigest: one }]);
  await assert.rejects(store.bind('../x', one), isCode('InputInvalid'));
  const raced = await Promise.allSettled([store.bind('b', one), store.bind('b', two)]);
  assert.deepEqual(raced.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('links on foreign media lead nowhere outside of them', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-tree-'));
  t.after(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'plain'), 'x');
  await symlink('/etc/hostname', join(root, 'file'));
  await symlink('/etc', join(root, 'etc'));
  await symlink('plain', join(root, 'inside'));
  await run('mkfifo', [join(root, 'fifo')]);
  const tree = directoryTree(root);
  for (const path of ['file', 'etc/hostname', 'fifo', '../x', '/etc/hostname', '', 'a//b', './plain']) {
    assert.equal(await tree.open(path), undefined, path);
  }
  assert.deepEqual(await tree.list('etc'), []);
  const file = await tree.open('inside');
  assert.equal(Buffer.from((await file?.read(0, 100)) ?? []).toString(), 'x');
  await file?.close();
});

test('C8 a full disk is said, leaves nothing, and the copy works when there is space again', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-full-'));
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', root]).catch(() => undefined);
  t.after(async () => {
    if (mounted?.code === 0) await run('umount', [root]);
    await rm(root, { recursive: true, force: true });
  });
  if (mounted?.code !== 0) return t.skip(`no tmpfs can be mounted: ${mounted?.stderr ?? ''}`);
  const store = await openStore(root);
  const { data, digest } = big(3 * 1024 * 1024);
  const small: [Digest, Buffer] = [digestOf(Buffer.from('s')), Buffer.from('s')];
  await assert.rejects(putBlob(store, digest, data), isCode('DiskFull'));
  assert.deepEqual(await readdir(join(root, 'sluice/partial')), []);
  await putBlob(store, ...small);
  await store.linkLayers('a', [small[0]]);
  const links = Array.from({ length: 600 }, (_, at) => digestOf(Buffer.from(`${at}`)));
  for (const [at, link] of links.entries()) await putBlob(store, link, Buffer.from(`${at}`)).catch(() => {});
  await assert.rejects(putBlob(store, digest, data), isCode('DiskFull'));
  await run('mount', ['-o', 'remount,size=16m', root]);
  await putBlob(store, digest, data);
  assert.equal(await store.blobState(digest, data.length), 'verified');
  assert.deepEqual(await bytesOf(store, 'a', small[0]), small[1]);
});
