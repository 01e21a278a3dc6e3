import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { readWholeRecords } from '../src/copy/whole.ts';
import { openMedia } from '../src/media/media.ts';
import { type Digest, hexOf } from '../src/oci/digest.ts';
import { setPaused } from '../src/release/pause.ts';
import { signatureTag } from '../src/trust/cosign.ts';
import { makeRelease, type TestRelease, testKey } from './bundles.ts';
import { type ContentPlane, key, startContentPlane, type TestNode, until } from './content-plane.ts';
import { repository } from './tier.ts';

let plane: ContentPlane;
let large: TestRelease;

before(async () => {
  plane = await startContentPlane(2);
  const tags = Array.from({ length: 16 }, (_, index) => `part-${index}`);
  large = await makeRelease({
    version: '2.0.0',
    dir: plane.dir,
    key: key.pair,
    images: Object.fromEntries(tags.map((tag) => [tag, {}])),
    blobBytes: 4 * 1024 * 1024,
  });
  for (const node of plane.nodes) await plane.startRegistry(node);
  plane.startController();
  const { client } = plane.cluster;
  await client.create(client.kinds.InternalReleaseImage, {
    metadata: { name: 'cluster' },
    spec: { releases: [{ name: large.name }] },
  });
});

after(() => plane?.close());

async function copyOf(t: TestContext, release: TestRelease): Promise<string> {
  const base = await mkdtemp(join(plane.dir, 'media-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const path = join(base, 'media');
  await cp(release.path, path, { recursive: true });
  return path;
}

function nodeAt(index: number): TestNode {
  const node = plane.nodes[index];
  assert.ok(node);
  return node;
}

/** The node starts anew with an empty disk. */
async function freshManager(t: TestContext, node: TestNode) {
  for (const path of Object.values(node.dirs)) await rm(path, { recursive: true, force: true });
  const running = await plane.replaceManager(node);
  t.after(() => running.stop());
  return running.manager;
}

async function nodeUpdateStatus(node: TestNode) {
  const { client } = plane.cluster;
  return (await client.get(client.kinds.NodeUpdate, node.name)).status;
}

async function releaseCondition(type: string, release = large.name) {
  const entry = (await plane.object())?.status?.releases.find((each) => each.name === release);
  return entry?.conditions?.find((each) => each.type === type);
}

test('media taken away in mid-copy: the copy says so, and goes on when they come back', async (t) => {
  const node = nodeAt(0);
  const path = await copyOf(t, large);
  const manager = await freshManager(t, node);
  await manager.attach(path);
  await until('the copy to begin', async () => (manager.status().copies[0]?.bytesDone ?? 0) > 0, {});
  await rename(path, `${path}.away`);
  const paused = await until(
    'the copy to pause',
    async () => {
      const copy = (await nodeUpdateStatus(node))?.copies?.find((each) => each.release === large.name);
      return copy?.state === 'Paused' && copy.reason === 'MediaLost' && copy;
    },
    { describe: () => nodeUpdateStatus(node) },
  );
  assert.ok((paused.bytesDone ?? 0) > 0 && (paused.bytesDone ?? 0) < (paused.bytesTotal ?? 0));
  const said = await until('the cluster to say so', async () => {
    const found = await releaseCondition('Degraded');
    return found?.status === 'True' && found.reason === 'MediaLost' && found;
  });
  assert.match(said.message, /master-0: /);
  assert.equal((await releaseCondition('Available'))?.status, 'False');
  assert.equal((await readWholeRecords(node.dirs.store)).size, 0);
  const before = (await stat(join(node.dirs.store, 'docker'))).birthtimeMs;

  await rename(`${path}.away`, path);
  await until('the node to hold it whole', async () => (await readWholeRecords(node.dirs.store)).size === 1);
  await until('the trouble to be over', async () => {
    const status = await nodeUpdateStatus(node);
    return status?.copies?.length === 0 && status.store?.[0]?.name === large.name;
  });
  assert.equal((await stat(join(node.dirs.store, 'docker'))).birthtimeMs, before);
});

test('a copy that is paused stands still, through a restart too, and goes on when it may', async (t) => {
  const node = nodeAt(0);
  const path = await copyOf(t, large);
  for (const each of Object.values(node.dirs)) await rm(each, { recursive: true, force: true });
  const { manager } = await plane.replaceManager(node);
  t.after(() => plane.stopManager(node));
  const { client } = plane.cluster;
  // Paused before there is anything to copy: how far a copy comes meanwhile depends on the disk.
  t.after(() => setPaused(client, large.name, false)); // Else every copy of the tests after it would stand still.
  assert.equal(await setPaused(client, large.name, true), true);
  assert.equal(await setPaused(client, large.name, true), false);
  await manager.attach(path);
  const paused = await until('the copy to stand still', async () => {
    const copy = (await nodeUpdateStatus(node))?.copies?.find((each) => each.release === large.name);
    return copy?.reason === 'PausedByRequest' && copy;
  });
  assert.match(paused.message ?? '', /sluice release resume/);
  assert.equal((await releaseCondition('Degraded'))?.reason === 'PausedByRequest', false, 'it is no trouble');
  const again = (await plane.replaceManager(node)).manager;
  await until('it to be paused after a restart', async () =>
    again.status().copies.some((copy) => copy.reason === 'PausedByRequest'),
  );
  assert.equal((await readWholeRecords(node.dirs.store)).size, 0);
  await setPaused(client, large.name, false);
  await until('the node to hold it whole', async () => (await readWholeRecords(node.dirs.store)).size === 1);
});

test('a flipped bit: never available, and the message names image and digest', async (t) => {
  const node = nodeAt(0);
  const path = await copyOf(t, large);
  const digest = await largestBlob(path);
  const data = join(
    path,
    'docker/registry/v2/blobs/sha256',
    hexOf(digest).slice(0, 2),
    hexOf(digest),
    'data',
  );
  const file = await open(data, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, 4096);
  await file.write(Buffer.from([(byte[0] ?? 0) ^ 4]), 0, 1, 4096);
  await file.close();

  const manager = await freshManager(t, node);
  await manager.attach(path);
  const said = await until(
    'the damage to be named',
    async () => {
      const found = await releaseCondition('Degraded');
      return found?.status === 'True' && found.reason === 'DigestMismatch' && found;
    },
    { describe: async () => (await plane.object())?.status },
  );
  assert.ok(said.message.includes(digest), said.message);
  assert.match(said.message, /master-0: image part-\d+: /);
  assert.equal((await releaseCondition('Available'))?.status, 'False');
  assert.equal((await releaseCondition('Installing'))?.reason, 'CopyFailed');
  assert.equal((await readWholeRecords(node.dirs.store)).size, 0);

  // Good media beside the bad ones finish it: what was right is not copied again.
  const good = await copyOf(t, large);
  await manager.attach(good);
  await until('the node to hold it whole', async () => (await readWholeRecords(node.dirs.store)).size === 1);
});

test('media without a signature, or signed by a stranger, are refused and recorded', async (t) => {
  const node = nodeAt(0);
  const manager = await freshManager(t, node);
  const stranger = await makeRelease({
    version: '3.0.0',
    dir: await mkdtemp(join(plane.dir, 'stranger-')),
    key: testKey('stranger').pair,
  });
  const foreign = await manager.attach(stranger.path);
  assert.deepEqual(
    foreign.bundles.map((each) => each.state === 'Refused' && each.reason),
    ['SignatureUntrusted'],
  );
  const unsigned = await copyOf(t, stranger);
  const bundles = join(unsigned, 'docker/registry/v2/repositories/openshift/release-bundles/_manifests');
  await rm(join(bundles, 'tags', signatureTag(stranger.digest)), { recursive: true });
  for (const revision of await readdir(join(bundles, 'revisions', 'sha256'))) {
    if (revision !== hexOf(stranger.digest))
      await rm(join(bundles, 'revisions', 'sha256', revision), { recursive: true });
  }
  const [without] = (await manager.attach(unsigned)).bundles;
  assert.equal(without?.state === 'Refused' && without.reason, 'SignatureMissing');
  const status = await until('the refusals in the status', async () => {
    const media = (await nodeUpdateStatus(node))?.media;
    return media?.length === 2 && media;
  });
  assert.equal(status[0]?.verified, false);
  assert.equal(status[0]?.reason, 'SignatureUntrusted');
  assert.match(status[0]?.message ?? '', /not trusted/);
  const trees = JSON.parse(await readFile(join(node.dirs.run, 'trees.json'), 'utf8')) as { kind: string }[];
  assert.deepEqual(
    trees.map((tree) => tree.kind),
    ['store'],
  );
  const object = await plane.object();
  assert.equal(
    object?.status?.releases.some((each) => each.name === stranger.name),
    false,
  );
});

test('other content under a name that is taken is a conflict', async (t) => {
  const node = nodeAt(0);
  const manager = await freshManager(t, node);
  const first = await makeRelease({
    version: '4.0.0',
    dir: await mkdtemp(join(plane.dir, 'a-')),
    key: key.pair,
  });
  const second = await makeRelease({
    version: '4.0.0',
    dir: await mkdtemp(join(plane.dir, 'b-')),
    key: key.pair,
    blobBytes: 2000,
  });
  assert.notEqual(first.digest, second.digest);
  await manager.attach(first.path);
  await manager.detach(first.path);
  const refused = await manager.attach(second.path);
  const [bundle] = refused.bundles;
  assert.ok(bundle?.state === 'Refused');
  assert.equal(bundle.reason, 'BundleConflict');
});

test('a node that is killed with -9 in mid-copy goes on after its restart, without media being attached again', async (t) => {
  const node = nodeAt(1);
  const path = await copyOf(t, large);
  const manager = await freshManager(t, node);
  await plane.stopManager(node);
  void manager;
  await writeFile(join(plane.dir, 'program.ts'), program());

  const killed = startChild(t, node, { SLUICE_FAULT: 'copy-blob-committed:5', MEDIA: path });
  const [, signal] = await once(killed, 'exit', { signal: AbortSignal.timeout(60_000) });
  assert.equal(signal, 'SIGKILL');
  assert.equal((await readWholeRecords(node.dirs.store)).size, 0);

  startChild(t, node, {});
  await until('the node to hold it whole', async () => (await readWholeRecords(node.dirs.store)).size === 1);
  const status = await until('the node to say so', async () => {
    const found = await nodeUpdateStatus(node);
    return found?.store?.some((each) => each.name === large.name) && found;
  });
  assert.equal(status.media?.[0]?.path, path);
});

/** Ends with the test at the latest: a child that lives on keeps the process of this file. */
function startChild(t: TestContext, node: TestNode, environment: Record<string, string>): ChildProcess {
  const facts = JSON.stringify({ ...node, client: undefined, caFile: plane.caFile });
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(plane.dir, 'program.ts'), facts],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...environment } },
  );
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** A node process of the content side alone. */
function program(): string {
  const from = (path: string) => JSON.stringify(join(repository, path));
  return `
    import { readFile } from 'node:fs/promises';
    import { createContentManager } from ${from('src/node/content.ts')};
    import { createKubeClient } from ${from('src/kube/client.ts')};
    import { loadKubeconfig } from ${from('src/kube/kubeconfig.ts')};
    import { silentLogger } from ${from('src/observe/log.ts')};
    import { systemClock } from ${from('src/observe/clock.ts')};
    const node = JSON.parse(process.argv[2]);
    const identity = {
      caPem: await readFile(node.caFile, 'utf8'),
      certPem: await readFile(node.certFile, 'utf8'),
      keyPem: await readFile(node.keyFile, 'utf8'),
    };
    const client = createKubeClient({ ...loadKubeconfig(node.kubeconfig), platform: 'standalone' });
    const manager = await createContentManager({
      client, identity, nodeName: node.name, address: node.address, dirs: node.dirs,
      logger: silentLogger, clock: systemClock, signal: new AbortController().signal, watchRegistry: false,
    });
    const running = manager.run();
    if (process.env.MEDIA) await manager.attach(process.env.MEDIA);
    await running;`;
}

async function largestBlob(path: string): Promise<Digest> {
  const media = await openMedia(path);
  const { openBundle } = await import('../src/bundle/bundle.ts');
  const { closure } = await import('../src/bundle/closure.ts');
  const bundle = await openBundle(media.content, { name: large.name }, [key.trusted]);
  let largest: { digest: Digest; size: number } | undefined;
  for await (const item of closure(media.content, bundle)) {
    if (item.kind === 'blob' && item.size > (largest?.size ?? 0)) largest = item;
  }
  await media.close();
  assert.ok(largest);
  return largest.digest;
}
