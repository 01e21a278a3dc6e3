import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { cp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { names } from '../src/api/names.ts';
import type { InternalReleaseImage } from '../src/api/resources.ts';
import type { Metrics } from '../src/observe/metrics.ts';
import { type Digest, hexOf } from '../src/oci/digest.ts';
import { readInUse } from '../src/release/request.ts';
import type { TestRelease } from './bundles.ts';
import { type ContentPlane, imageOf, startRunningPlane, until } from './content-plane.ts';

let plane: ContentPlane;
let one: TestRelease;
let two: TestRelease;

before(async () => {
  ({ plane, one, two } = await startRunningPlane(3));
});

after(() => plane?.close());

function condition(object: InternalReleaseImage | undefined, release: string, type: string) {
  const entry = object?.status?.releases.find((each) => each.name === release);
  return entry?.conditions?.find((each) => each.type === type);
}

async function untilCondition(release: string, type: string, status: string, reason?: string) {
  return await until(
    `${release} ${type}=${status} ${reason ?? ''}`,
    async () => {
      const found = condition(await plane.object(), release, type);
      return found?.status === status && (reason === undefined || found.reason === reason) && found;
    },
    { describe: async () => (await plane.object())?.status },
  );
}

test('K8 a preloaded release is adopted, and the controller makes the object that holds it', async () => {
  const found = await untilCondition(one.name, 'Available', 'True');
  assert.equal(found.reason, 'ReleaseImageAvailable');
  const object = await plane.object();
  assert.deepEqual(object?.spec.releases, [{ name: one.name }]);
  assert.equal(object?.status?.releases[0]?.image, imageOf(one));
  await until('what is in use', async () => (await readInUse(plane.cluster.client))?.names.has(one.name));
});

test('the password is there for each registry, and the mirrors lead to every node', async () => {
  const { client } = plane.cluster;
  const { mirrorSet } = names('standalone');
  for (const node of plane.nodes) {
    const path = join(node.dirs.run, 'htpasswd');
    await until('the password file', async () => existsSync(path));
    assert.match(readFileSync(path, 'utf8'), /^openshift:\$2[aby]\$10\$/);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  }
  const set = await until('mirrors of the images', async () => {
    const found = await client.tryGet(client.kinds.ImageDigestMirrorSet, mirrorSet);
    return (
      found?.spec.imageDigestMirrors?.some((entry) => entry.source.includes('images.test.example')) && found
    );
  });
  const web = set.spec.imageDigestMirrors?.find((entry) => entry.source.endsWith('/web'));
  assert.deepEqual(
    web?.mirrors,
    plane.nodes.map((node) => `${node.address}:22625/openshift/release`),
  );
});

let media: string;
let metrics: Metrics;

test('attached media are shown before anybody asks, with what they allow', async () => {
  media = join(plane.dir, 'media');
  await cp(two.path, media, { recursive: true });
  const [node] = plane.nodes;
  assert.ok(node);
  const running = await plane.replaceManager(node);
  const { manager } = running;
  metrics = running.metrics;
  const attachment = await manager.attach(media);
  assert.deepEqual(
    attachment.bundles.map((each) => [each.name, each.state]),
    [[two.name, 'Verified']],
  );
  const found = await untilCondition(two.name, 'Mounted', 'True');
  await until('the words on updates', async () => {
    const message = condition(await plane.object(), two.name, 'Mounted')?.message;
    return message?.endsWith('An update from 1.0.0 to 1.1.0 is possible');
  });
  assert.match(found.message, /^Release \S+ discovered on node master-0/);
  assert.equal(condition(await plane.object(), two.name, 'Available')?.status, 'False');
  assert.deepEqual((await plane.object())?.spec.releases, [{ name: one.name }]);
});

test('three nodes copy it, from media and from each other, until all hold every byte', async () => {
  await plane.ask(one.name, two.name);
  await untilCondition(two.name, 'Available', 'True');
  const { items } = await plane.cluster.client.list(plane.cluster.client.kinds.NodeUpdate);
  assert.equal(items.length, 3);
  for (const update of items) {
    const held = update.status?.store?.map((each) => each.name).sort();
    assert.deepEqual(held, [one.name, two.name]);
    assert.deepEqual(update.status?.copies, []);
  }
  const object = await plane.object();
  assert.equal(object?.status?.releases.find((each) => each.name === two.name)?.image, imageOf(two));
  assert.equal(object?.status?.conditions?.[0]?.reason, 'AllReleasesAvailable');
});

test('what was copied, from where, and what there is, stands in the metrics of the node', async () => {
  const text = await metrics.render();
  const bytes = '[1-9]\\d{5,}';
  for (const line of [
    `sluice_content_copied_bytes_total{source="media"} BYTES`,
    'sluice_content_verified_bytes_total BYTES',
    'sluice_content_copy_ends_total{end="Whole",code=""} 1',
    `sluice_content_release_bytes{release="${two.name}"} BYTES`,
    `sluice_content_release_bytes{release="${one.name}"} BYTES`,
    'sluice_content_media{state="Present"} 1',
    'sluice_content_media_bundles{state="Verified"} 1',
    'sluice_content_media_bundles{state="Refused"} 0',
    `sluice_content_disk_bytes{kind="free"} BYTES`,
    'sluice_content_damaged_total 0',
  ]) {
    assert.match(text, new RegExp(`^${line.replace('{', '\\{').replace('BYTES', bytes)}$`, 'm'));
  }
});

test('K8 a node that starts again holds what it held, and hashes none of it for that', async () => {
  const node = plane.nodes[2];
  assert.ok(node !== undefined);
  const running = await plane.replaceManager(node);
  const held = async () => {
    const { client } = plane.cluster;
    const { status } = await client.get(client.kinds.NodeUpdate, node.name);
    return status?.store?.map((each) => each.name).sort();
  };
  await until('its store in its metrics', async () =>
    (await running.metrics.render()).includes(`sluice_content_release_bytes{release="${two.name}"}`),
  );
  assert.deepEqual(await held(), [one.name, two.name]);
  const text = await running.metrics.render();
  for (const line of [
    'sluice_content_verified_bytes_total 0',
    'sluice_content_scrubbed_bytes_total 0',
    'sluice_content_copied_bytes_total{source="store"} 0',
  ])
    assert.ok(text.split('\n').includes(line), text);
});

test('D4 while nothing changes, nothing is written', async () => {
  const before = (await plane.object())?.metadata.resourceVersion;
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  assert.equal((await plane.object())?.metadata.resourceVersion, before);
});

test('the disk may go: what was copied stays available', async () => {
  await rename(media, `${media}.away`);
  await untilCondition(two.name, 'Mounted', 'False');
  assert.equal(condition(await plane.object(), two.name, 'Available')?.status, 'True');
});

test('a release in use is kept though nobody asks for it, and goes when the update is completed', async () => {
  const [node] = plane.nodes;
  assert.ok(node);
  const payload = join(node.dirs.store, 'docker/registry/v2/blobs/sha256');
  const dataOf = (digest: Digest) => join(payload, hexOf(digest).slice(0, 2), hexOf(digest), 'data');
  const { client } = plane.cluster;
  await assert.rejects(plane.ask(two.name), /in use, so it cannot be removed/);
  // Without the policy the nodes still look themselves before they remove anything.
  await client.delete(client.kinds.ValidatingAdmissionPolicyBinding, 'sluice-release-guard');
  // A real API server forgets a policy a moment after it is gone.
  await until('the policy to go', () =>
    plane.ask(two.name).then(
      () => true,
      () => false,
    ),
  );
  const kept = await untilCondition(one.name, 'Removing', 'False', 'InUse');
  assert.match(kept.message, /the cluster runs it/);
  assert.ok(existsSync(dataOf(one.payload)));
  await plane.setCurrent(two);
  await until(
    'the old release to go from every node',
    async () => {
      const { items } = await plane.cluster.client.list(plane.cluster.client.kinds.NodeUpdate);
      return items.every((each) => each.status?.store?.every((held) => held.name === two.name));
    },
    { describe: async () => (await plane.object())?.status },
  );
  assert.equal(existsSync(dataOf(one.payload)), false);
  assert.ok(existsSync(dataOf(two.payload)));
  await untilCondition(two.name, 'Available', 'True');
  await until('its entry to go', async () =>
    (await plane.object())?.status?.releases.every((each) => each.name === two.name),
  );
  assert.deepEqual([...((await readInUse(plane.cluster.client))?.names.keys() ?? [])], [two.name]);
});

test('D11 and D16 a deletion lets go of what is ours alone, keeps what is in use, and is not undone at once', async () => {
  const { client } = plane.cluster;
  const { kinds } = client;
  const foreign = 'example.com/somebody-else';
  const standing = await plane.object();
  const finalizers = [...(standing?.metadata.finalizers ?? []), foreign];
  assert.ok(finalizers.includes('internalreleaseimage.machineconfiguration.openshift.io'));
  await client.patch(kinds.InternalReleaseImage, 'cluster', { metadata: { finalizers } });
  await client.delete(kinds.InternalReleaseImage, 'cluster');
  await until('our finalizer to go', async () => (await plane.object())?.metadata.finalizers?.length === 1);
  assert.deepEqual((await plane.object())?.metadata.finalizers, [foreign]);
  await client.patch(kinds.InternalReleaseImage, 'cluster', { metadata: { finalizers: [] } });
  await until('the object to go', async () => (await plane.object()) === undefined);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  assert.equal(await plane.object(), undefined, 'it was made again though nothing new appeared');
  const { items } = await client.list(kinds.NodeUpdate);
  for (const update of items) {
    assert.deepEqual(
      update.status?.store?.map((each) => each.name),
      [two.name],
    );
  }
  // Media appear: now it comes back, with the release in use.
  await rename(`${media}.away`, media);
  const again = await until('the object to come back', () => plane.object());
  assert.deepEqual(again.spec.releases, [{ name: two.name }]);
});
