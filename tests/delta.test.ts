import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildBundle } from '../src/build/bundle.ts';
import { openBundle } from '../src/bundle/bundle.ts';
import { parseInventory } from '../src/bundle/inventory.ts';
import { planCopy } from '../src/copy/plan.ts';
import { runCopy } from '../src/copy/run.ts';
import { openMedia } from '../src/media/media.ts';
import { systemClock } from '../src/observe/clock.ts';
import { openStore } from '../src/store/store.ts';
import type { TestRelease } from './bundles.ts';
import { type ContentPlane, key, startContentPlane, startRunningPlane, until } from './content-plane.ts';

let plane: ContentPlane;
let one: TestRelease;
let two: TestRelease;
let delta: string;

before(async () => {
  ({ plane, one, two } = await startRunningPlane(1));
  await until('the object', async () => (await plane.object())?.status !== undefined);
});
after(() => plane?.close());

const sluice = (...args: string[]) => plane.sluice(...args);

/** The next release; it still has an image of the one before, as neighbouring releases do. */
const buildDelta = (out: string, since: string) =>
  buildBundle({
    payload: two.payloadSource,
    images: new Map([...two.sources, ['images.test.example/same/web:1', one.sources.get('web') ?? '']]),
    privatePem: key.pair.privatePem,
    out,
    since,
  });

test('sluice inventory says what every control-plane node holds, and a delta is built from it', async () => {
  const shown = await sluice('inventory');
  assert.equal(shown.code, 0, shown.all);
  const inventory = parseInventory(Buffer.from(shown.stdout), 'the output');
  assert.deepEqual(inventory.releases, [
    { name: one.name, bundleDigest: one.digest, blobs: inventory.blobs },
  ]);
  assert.ok((inventory.blobs?.size ?? 0) > 3);
  assert.equal((await sluice('inventory', '-o', 'name')).stdout.trim(), one.name);
  const file = join(plane.dir, 'inventory.json');
  await writeFile(file, shown.stdout);
  delta = join(plane.dir, 'delta');
  const built = await buildDelta(delta, file);
  assert.deepEqual(built.delta?.since, [{ name: one.name, digest: one.digest }]);
  assert.ok((built.delta?.lacks.size ?? 0) > 0);
});

test('a delta is copied to where its base is, and the release is whole there', async () => {
  const attached = await sluice('media', 'attach', delta);
  assert.equal(attached.code, 0, attached.all);
  const said =
    /a delta: it leaves out .* that ocp-release-bundle-1\.0\.0-x86_64 have; this node has all of it/;
  assert.match(attached.stderr, said);
  const [media] =
    (await plane.cluster.client.get(plane.cluster.client.kinds.NodeUpdate, 'master-0')).status?.media ?? [];
  assert.deepEqual(media?.delta?.since, [{ name: one.name, bundleDigest: one.digest }]);
  assert.ok((media?.delta?.bytes ?? 0) > 0);
  assert.equal(media?.delta?.missingBytes, 0);
  assert.match(
    (await sluice('media', 'ls')).stdout,
    /SignatureVerified +ocp-release-bundle-1\.0\.0-x86_64 \(there\)/,
  );
  await until('the words on the delta', async () => {
    const { stdout } = await sluice('release', 'status', '1.1.0');
    return /Mounted: True: .*It is a delta that needs ocp-release-bundle-1\.0\.0-x86_64, which every node holds/.test(
      stdout,
    );
  });
  const added = await sluice('release', 'add', '1.1.0', '--wait', '--timeout', '60s');
  assert.equal(added.code, 0, added.all);
  assert.match(added.stderr, /the only node holds it, every byte verified/);
});

test('a node without the base says what it lacks, and its copy why it fails', async (t) => {
  const bare = await startContentPlane(1);
  t.after(() => bare.close());
  const [node] = bare.nodes;
  assert.ok(node !== undefined);
  const { manager } = await bare.startManager(node);
  await bare.startRegistry(node);
  await bare.setCurrent(one);
  bare.startController();
  const { client } = bare.cluster;
  await client.create(client.kinds.InternalReleaseImage, {
    metadata: { name: 'cluster' },
    spec: { releases: [{ name: two.name }] },
  });
  await manager.attach(delta);
  const statusOf = async () => (await client.get(client.kinds.NodeUpdate, node.name)).status;
  const media = (await statusOf())?.media?.[0];
  assert.ok((media?.delta?.bytes ?? 0) > 0);
  assert.equal(media?.delta?.missingBytes, media?.delta?.bytes);
  await until('the failure', async () => {
    const copy = (await statusOf())?.copies?.[0];
    return (
      copy?.state === 'Failed' && /a delta that needs ocp-release-bundle-1\.0\.0/.test(copy.message ?? '')
    );
  });
  await until('the words on the delta', async () => {
    const conditions = (await bare.object())?.status?.releases[0]?.conditions;
    const message = conditions?.find((each) => each.type === 'Mounted')?.message ?? '';
    return /needs ocp-release-bundle-1\.0\.0-x86_64, not held by \[master-0\]/.test(message);
  });
});

test('where its base is not, nothing of it becomes visible, and what lacks is named', async () => {
  const store = await openStore(join(plane.dir, 'elsewhere'));
  const media = await openMedia(delta);
  try {
    const bundle = await openBundle(media.content, { name: two.name }, [key.trusted]);
    const plan = await planCopy(media.content, store, bundle);
    const outcome = await runCopy(plan, { signal: new AbortController().signal, clock: systemClock });
    assert.equal(outcome.outcome, 'Failed', JSON.stringify(outcome));
    assert.deepEqual(await store.tags('openshift/release-bundles'), []);
  } finally {
    await media.close();
  }
});
