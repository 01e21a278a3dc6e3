import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createZstdCompress, gzipSync } from 'node:zlib';
import { putBlob, signBundle } from '../src/build/sign.ts';
import { openBundle } from '../src/bundle/bundle.ts';
import { bundleRepository } from '../src/bundle/document.ts';
import { createHttpClient } from '../src/http/client.ts';
import { openMedia } from '../src/media/media.ts';
import { createRegistryClient } from '../src/oci/client.ts';
import { type Digest, digestOf, hexOf } from '../src/oci/digest.ts';
import { mediaTypes } from '../src/oci/manifest.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { freePort } from '../src/up/network.ts';
import type { TestRelease } from './bundles.ts';
import { type ContentPlane, key, startRunningPlane, type TestNode, until } from './content-plane.ts';
import { repository } from './tier.ts';

const mib = 1024 * 1024;
let plane: ContentPlane;
let one: TestRelease;
let two: TestRelease;
let node: TestNode;

before(async () => {
  ({ plane, one, two } = await startRunningPlane(1));
  node = plane.nodes[0] as TestNode;
  await until('the object', async () => (await plane.object())?.status !== undefined);
});

after(() => plane?.close());

async function registryOf(t: TestContext) {
  const http = createHttpClient({
    ca: plane.cluster.caPem,
    cert: await readFile(node.certFile, 'utf8'),
    key: await readFile(node.keyFile, 'utf8'),
  });
  t.after(() => http.close());
  return createRegistryClient({ baseUrl: `https://${node.address}:22625`, http });
}

function dataOf(root: string, digest: Digest): string {
  const hex = hexOf(digest);
  return join(root, 'docker/registry/v2/blobs/sha256', hex.slice(0, 2), hex, 'data');
}

test('media that change after they were verified: no wrong byte is served or copied, and right ones go on', async (t) => {
  const media = join(plane.dir, 'changing');
  await cp(two.path, media, { recursive: true });
  const { manager } = await plane.replaceManager(node);
  await manager.attach(media);
  const registry = await registryOf(t);
  const web = two.document.images.find((each) => each.name === 'web');
  assert.ok(web !== undefined);
  const raw = await registry.manifest(web.repository, web.digest);
  const { layers } = JSON.parse(Buffer.from(raw?.bytes ?? []).toString()) as {
    layers: { digest: Digest; size: number }[];
  };
  const layer = layers.find((each) => each.size > mib);
  assert.ok(layer !== undefined);
  const path = dataOf(media, layer.digest);
  const good = await readFile(path);
  const pulled = async () => {
    const chunks: Uint8Array[] = [];
    const reader = await registry.blob(web.repository, layer.digest);
    for await (const chunk of reader?.stream ?? []) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  // Also one that was pulled before it was changed: whatever comes whole was hashed as it came.
  assert.equal(digestOf(await pulled()), layer.digest);
  const evil = Buffer.from(good);
  evil.set(Buffer.from('evil'), good.length - 100);
  await writeFile(path, evil);
  await assert.rejects(pulled, 'wrong bytes came as a whole body');
  // The manifest of the bundle itself is another one now: the name leads elsewhere, the identity does not.
  const tag = join(
    media,
    'docker/registry/v2/repositories',
    bundleRepository,
    '_manifests/tags',
    two.name,
    'current/link',
  );
  await writeFile(tag, `sha256:${'0'.repeat(64)}`);
  await plane.ask(one.name, two.name);
  const copy = await until('the copy to name what is wrong', async () => {
    const found = manager.status().copies.find((each) => each.release === two.name);
    return found?.state === 'Failed' && found;
  });
  assert.equal(copy.reason, 'DigestMismatch');
  assert.match(copy.message ?? '', new RegExp(layer.digest));
  await writeFile(tag, two.digest);
  await writeFile(path, good);
  // A person who brought the right content says so by attaching again.
  await manager.attach(media);
  await until('the release to be whole', async () =>
    manager.status().store.some((each) => each.name === two.name),
  );
  assert.equal(digestOf(await pulled()), layer.digest);
});

test('several release add at once: all are asked for, none undoes another', async () => {
  const add = (version: string) => plane.sluice('release', 'add', version, '--no-wait');
  await plane.ask(one.name);
  await until('only one to be asked for', async () => (await plane.object())?.spec.releases.length === 1);
  const media = join(plane.dir, 'at-once');
  await cp(two.path, media, { recursive: true });
  const { manager } = await plane.replaceManager(node);
  await manager.attach(media);
  const results = await Promise.all([add('1.1.0'), add('1.0.0'), add('1.1.0'), add('1.0.0')]);
  for (const result of results) assert.equal(result.code, 0, result.stderr);
  const asked = (await plane.object())?.spec.releases.map((each) => each.name).sort();
  assert.deepEqual(asked, [one.name, two.name]);
  const said = results.filter((result) => / is asked for/.test(result.stderr)).length;
  assert.equal(said, 1, results.map((each) => each.stderr).join('\n'));
});

test('clients that dribble their requests hold up nobody, and are sent away', async (t) => {
  const registry = await registryOf(t);
  const sockets = Array.from({ length: 200 }, () => connect(22625, node.address));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  let closed = 0;
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.on('close', () => {
      closed += 1;
    });
    socket.write(Buffer.from([0x16, 0x03])); // A handshake that never goes on.
  }
  const begun = performance.now();
  for (let pull = 0; pull < 20; pull += 1) {
    assert.ok((await registry.manifest(bundleRepository, one.digest)) !== undefined);
  }
  assert.ok(performance.now() - begun < 20_000, 'others were held up');
  await until('the dribblers to be gone', async () => closed === sockets.length, { timeoutMs: 60_000 });
});

/** A bundle that a trusted key has signed, whose one layer is whatever it is. */
async function signedBundle(store: Store, layer: Uint8Array, mediaType: string): Promise<Digest> {
  const config = await putBlob(store, bundleRepository, Buffer.from('{}'), mediaTypes.ociConfig);
  const descriptor = await putBlob(store, bundleRepository, layer, mediaType);
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config,
      layers: [descriptor],
    }),
  );
  const digest = digestOf(bytes);
  await store.putManifest(bundleRepository, { digest, mediaType: mediaTypes.ociManifest, bytes });
  await signBundle(
    store,
    { digest, mediaType: mediaTypes.ociManifest, size: bytes.length },
    key.pair.privatePem,
  );
  return digest;
}

test('a layer that unpacks to gigabytes is given up early, packed with gzip or zstd', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-bomb-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const store = await openStore(dir);
  const zeros = Buffer.alloc(64 * mib);
  const zstd = createZstdCompress();
  const packed: Buffer[] = [];
  zstd.on('data', (chunk: Buffer) => packed.push(chunk));
  for (let part = 0; part < 16; part += 1) if (!zstd.write(zeros)) await once(zstd, 'drain');
  zstd.end();
  await once(zstd, 'end');
  const header = Buffer.alloc(512);
  header.write('bundle.json', 0);
  const bombs: [Uint8Array, string][] = [
    [Buffer.concat(Array.from({ length: 16 }, () => gzipSync(zeros))), mediaTypes.ociLayerGzip],
    [Buffer.concat(packed), mediaTypes.ociLayerZstd],
  ];
  for (const [bomb, type] of bombs) {
    const digest = await signedBundle(store, bomb, type);
    const media = await openMedia(dir);
    const before = process.memoryUsage().rss;
    await assert.rejects(openBundle(media.content, { digest }, [key.trusted]), {
      code: /InputTooLarge|InputInvalid/,
    });
    const more = process.memoryUsage().rss - before;
    assert.ok(more < 256 * mib, `${type}: ${Math.round(more / mib)} MiB more`);
    await media.close();
  }
});

test('a registry that is killed with -9 in the middle of a pull: nothing wrong came, and the pull ends after its restart', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-killed-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const store = await openStore(join(dir, 'store'));
  const bytes = Buffer.alloc(64 * mib, 'a layer of a release ');
  const { digest } = await putBlob(store, 'a/b', bytes, mediaTypes.ociLayerTar);
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const listen = ['--listen', `127.0.0.1:${port}`];
    const child = spawn(join(repository, 'sluice'), ['registry', 'serve', '--store', store.root, ...listen], {
      stdio: 'ignore',
    });
    t.after(() => child.kill('SIGKILL'));
    await until('the registry', async () =>
      fetch(`http://127.0.0.1:${port}/v2/`).then(
        (answer) => answer.ok,
        () => false,
      ),
    );
    return child;
  };
  const first = await start();
  const http = createHttpClient();
  t.after(() => http.close());
  const registry = createRegistryClient({ baseUrl: `http://127.0.0.1:${port}`, http });
  const got: Buffer[] = [];
  let size = 0;
  const reader = await registry.blob('a/b', digest);
  await assert.rejects(async () => {
    for await (const chunk of reader?.stream ?? []) {
      got.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > 8 * mib) first.kill('SIGKILL');
      await sleep(1);
    }
  });
  assert.ok(size > 8 * mib && size < bytes.length, `${size} bytes`);
  await start();
  const rest = await registry.blob('a/b', digest, { offset: size });
  for await (const chunk of rest?.stream ?? []) got.push(Buffer.from(chunk));
  assert.equal(digestOf(Buffer.concat(got)), digest);
});
