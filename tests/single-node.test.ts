import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readInUse } from '../src/release/request.ts';
import type { TestRelease } from './bundles.ts';
import { type ContentPlane, imageOf, startContentPlane, until } from './content-plane.ts';

/** One control-plane node is a cluster: nothing waits for a second, and no peer is asked for anything. */

let plane: ContentPlane;
let one: TestRelease;
let two: TestRelease;

before(async () => {
  plane = await startContentPlane(1);
  [one, two] = [await plane.release('1.0.0'), await plane.release('1.1.0')];
});

after(() => plane?.close());

async function condition(release: TestRelease, type: string) {
  const entry = (await plane.object())?.status?.releases.find((each) => each.name === release.name);
  return entry?.conditions?.find((each) => each.type === type);
}

test('K2 the controller starts before anything exists, and goes on when it does', async () => {
  plane.startController();
  // It has looked at nothing at all: what is in use cannot be told, and nothing is made.
  await until('the first look', async () => {
    const { client } = plane.cluster;
    const { items } = await client.list(client.kinds.ConfigMap, {
      namespace: 'openshift-machine-config-operator',
    });
    return items.some((each) => each.data?.state === 'Unknown');
  });
  assert.equal(await plane.object(), undefined);
  const [node] = plane.nodes;
  assert.ok(node !== undefined);
  await plane.preload(node, one);
  await plane.startManager(node);
  await plane.startRegistry(node);
  await plane.setCurrent(one);
  await until(
    'the release to be Available',
    async () => (await condition(one, 'Available'))?.status === 'True',
  );
  const object = await plane.object();
  assert.deepEqual(object?.spec.releases, [{ name: one.name }]);
  assert.equal(object?.status?.releases[0]?.image, imageOf(one));
});

test('a release is mounted, copied, available and removed with one node', async () => {
  const [node] = plane.nodes;
  assert.ok(node !== undefined);
  const { manager } = await plane.replaceManager(node);
  await manager.attach(two.path);
  await until('Mounted', async () => (await condition(two, 'Mounted'))?.status === 'True');
  await plane.ask(one.name, two.name);
  await until('Available', async () => (await condition(two, 'Available'))?.status === 'True');
  assert.match((await condition(two, 'Installing'))?.message ?? '', /by 1 of 1 nodes/);
  const degraded = (await plane.object())?.status?.conditions?.[0];
  assert.deepEqual([degraded?.status, degraded?.reason], ['False', 'AllReleasesAvailable']);
  await manager.detach(two.path);
  await plane.ask(one.name);
  await until('the second to be gone', async () => {
    const object = await plane.object();
    return object?.status?.releases.every((each) => each.name === one.name);
  });
  assert.ok((await readInUse(plane.cluster.client))?.names.has(one.name));
});
