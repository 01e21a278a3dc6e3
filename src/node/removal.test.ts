import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { repository } from '../../tests/tier.ts';
import { openBundle } from '../bundle/bundle.ts';
import { verifyBundle } from '../bundle/verify.ts';
import { planCopy } from '../copy/plan.ts';
import { preload } from '../copy/preload.ts';
import { readRemovals, readWholeRecords } from '../copy/whole.ts';
import { openMedia } from '../media/media.ts';
import { silentLogger } from '../observe/log.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import type { InUse } from '../release/in-use.ts';
import { openStore } from '../store/store.ts';
import { dropGivenUp, type RemovalFacts, removeReleases } from './removal.ts';

const key = testKey();
let dir: string;
let one: TestRelease;
let two: TestRelease;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-removal-'));
  // The image `base` is the same in both; `web` is not.
  const base = { files: [{ path: '/base', data: Buffer.alloc(500_000, 'shared') }] };
  const build = (version: string) =>
    makeRelease({ version, dir, key: key.pair, images: { web: {}, base }, blobBytes: 200_000 });
  [one, two] = [await build('1.0.0'), await build('1.1.0')];
});

after(() => rm(dir, { recursive: true, force: true }));

async function storeWithBoth(t: TestContext): Promise<string> {
  const root = await mkdtemp(join(dir, 'store-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const release of [one, two]) {
    const media = await openMedia(release.path);
    await preload(media.content, release.name, root, { keys: [key.trusted] });
    await media.close();
  }
  return root;
}

const nothingUsed: InUse = { names: new Map(), digests: new Set() };

async function remove(root: string, facts: Partial<RemovalFacts>) {
  return await removeReleases({
    store: await openStore(root),
    facts: async () => ({ desired: new Set([two.name]), inUse: nothingUsed, ...facts }),
    copying: [],
    logger: silentLogger,
    now: Date.now(),
    onBegin: () => {},
  });
}

async function requireWhole(root: string, release: TestRelease): Promise<void> {
  const store = await openStore(root);
  const report = await verifyBundle(store, { name: release.name }, [key.trusted]);
  assert.deepEqual(report.problems, []);
}

const dataOf = (root: string, digest: Digest) =>
  join(root, 'docker/registry/v2/blobs/sha256', hexOf(digest).slice(0, 2), hexOf(digest), 'data');

test('G6 what nobody wants is freed at once, twice is no error, and what is shared stays', async (t) => {
  const root = await storeWithBoth(t);
  const [result] = await remove(root, {});
  assert.equal(result?.name, one.name);
  assert.ok((result?.bytesFreed ?? 0) > 200_000);
  assert.equal(existsSync(dataOf(root, one.payload)), false);
  assert.deepEqual([...(await readWholeRecords(root)).keys()], [two.name]);
  assert.equal((await readRemovals(root)).size, 0);
  await requireWhole(root, two);
  assert.deepEqual(await remove(root, {}), []);
});

test('D9 and D16 nothing goes that is wanted, in use, or of which it cannot be told', async (t) => {
  const root = await storeWithBoth(t);
  const cases: Partial<RemovalFacts>[] = [
    { desired: undefined },
    { desired: new Set([one.name, two.name]) },
    { inUse: undefined },
    { inUse: { names: new Map([[one.name, 'it runs']]), digests: new Set() } },
    { inUse: { names: new Map(), digests: new Set([one.payload]) } },
  ];
  for (const facts of cases) assert.deepEqual(await remove(root, facts), []);
  await requireWhole(root, one);
});

test('the facts are asked again for each release, after the last one went', async (t) => {
  const root = await storeWithBoth(t);
  let asked = 0;
  const results = await removeReleases({
    store: await openStore(root),
    // The second release came into use meanwhile.
    facts: async () => {
      asked += 1;
      const names = new Map(asked > 1 ? [[two.name, 'it runs']] : []);
      return { desired: new Set(), inUse: { names, digests: new Set() } };
    },
    copying: [],
    logger: silentLogger,
    now: Date.now(),
    onBegin: () => {},
  });
  assert.deepEqual(
    results.map((each) => each.name),
    [one.name],
  );
  await requireWhole(root, two);
});

test('killed with -9 at each fault point, a removal is finished later and takes nothing of others', async (t) => {
  const root = await storeWithBoth(t);
  const program = join(dir, 'remove.ts');
  await writeFile(program, programText());
  for (const point of ['removal-begun', 'removal-planned', 'removal-applied']) {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, root, two.name],
      { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, SLUICE_FAULT: point } },
    );
    const [, signal] = await once(child, 'exit');
    assert.equal(signal, 'SIGKILL', point);
    assert.deepEqual([...(await readWholeRecords(root)).keys()], [two.name], point);
    assert.deepEqual([...(await readRemovals(root)).keys()], [one.name], point);
    await requireWhole(root, two);
  }
  await remove(root, {});
  assert.equal((await readRemovals(root)).size, 0);
  assert.equal(existsSync(dataOf(root, one.payload)), false);
  await requireWhole(root, two);
});

function programText(): string {
  const from = (path: string) => JSON.stringify(join(repository, path));
  return `
    import { silentLogger } from ${from('src/observe/log.ts')};
    import { openStore } from ${from('src/store/store.ts')};
    import { removeReleases } from ${from('src/node/removal.ts')};
    const [root, wanted] = process.argv.slice(2);
    await removeReleases({
      store: await openStore(root),
      facts: async () => ({ desired: new Set([wanted]), inUse: { names: new Map(), digests: new Set() } }),
      copying: [], logger: silentLogger, now: Date.now(), onBegin: () => {},
    });`;
}

test('what had come of a copy that was given up goes at once, and what another release shares stays', async (t) => {
  const root = await mkdtemp(join(dir, 'store-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const first = await openMedia(one.path);
  await preload(first.content, one.name, root, { keys: [key.trusted] });
  await first.close();
  const media = await openMedia(two.path);
  t.after(() => media.close());
  const store = await openStore(root);
  const bundle = await openBundle(media.content, { name: two.name }, [key.trusted]);
  const plan = await planCopy(media.content, store, bundle);
  const [blob, other] = plan.missing;
  assert.ok(blob !== undefined && other !== undefined);
  const reader = await media.content.blob(blob.repository, blob.digest);
  const writer = await store.begin(blob.digest, blob.size);
  for await (const chunk of reader?.stream ?? []) await writer?.write(chunk);
  await writer?.commit();
  await store.linkLayer(blob.repository, blob.digest);
  const half = await store.begin(other.digest, other.size);
  await half?.write(Buffer.alloc(10));
  await half?.suspend();
  const freed = await dropGivenUp(plan.items, { store, copying: [], now: Date.now(), logger: silentLogger });
  assert.equal(freed, blob.size);
  assert.equal(existsSync(dataOf(root, blob.digest)), false);
  assert.equal(await store.partialBytes([other.digest]), 0);
  await requireWhole(root, one);
});
