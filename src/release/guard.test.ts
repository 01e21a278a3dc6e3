import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { shippedManifests } from '../../tests/shipped.ts';
import { names } from '../api/names.ts';
import { applyObject } from '../kube/apply.ts';
import { ApiError } from '../kube/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { InUse } from './in-use.ts';
import { writeInUse } from './objects.ts';

const one = 'ocp-release-bundle-1.0.0-x86_64';
const two = 'ocp-release-bundle-1.1.0-x86_64';
const three = 'ocp-release-bundle-1.2.0-x86_64';
const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest;
const { configNamespace, inUse, machineConfigNamespace, internalReleaseImage } = names('standalone');

let cluster: TestCluster;

before(async () => {
  cluster = await startTestCluster();
  for (const name of [machineConfigNamespace, configNamespace]) {
    await cluster.client.create(cluster.client.kinds.Namespace, { metadata: { name } });
  }
  for (const object of await shippedManifests(['30-nodes.yaml', '40-release-guard.yaml'])) {
    await applyObject(cluster.client, object);
  }
});

after(() => cluster.close());

async function begin(releases: string[], set: InUse | undefined | 'missing'): Promise<void> {
  const { client } = cluster;
  const { kinds } = client;
  if (set === 'missing') await client.delete(kinds.PolicyFacts, inUse);
  else await writeInUse(client, { names: new Map(), digests: new Set() });
  await client.delete(kinds.InternalReleaseImage, internalReleaseImage).catch(() => {});
  if (set !== 'missing') await writeInUse(client, set);
  await client
    .create(kinds.InternalReleaseImage, {
      metadata: { name: internalReleaseImage },
      spec: { releases: releases.map((name) => ({ name })) },
    })
    .catch(() => {});
}

const setReleases = (releases: string[]) =>
  cluster.client.patch(cluster.client.kinds.InternalReleaseImage, internalReleaseImage, {
    spec: { releases: releases.map((name) => ({ name })) },
  });

function forbidden(pattern: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 403);
    assert.match(error.message, pattern);
    return true;
  };
}

const used = (...list: string[]): InUse => ({
  names: new Map(list.map((name) => [name, 'the cluster runs it'])),
  digests: new Set(),
});

test('a release in use cannot be taken out of spec, another can', async () => {
  await begin([one, two, three], used(one, two));
  await assert.rejects(setReleases([two, three]), forbidden(new RegExp(`in use.*${one}`)));
  await setReleases([one, two]);
  await setReleases([one, two, three]);
});

test('the object cannot be deleted while it holds a release in use', async () => {
  await begin([one, two], used(two));
  const { client } = cluster;
  await assert.rejects(
    client.delete(client.kinds.InternalReleaseImage, internalReleaseImage),
    forbidden(/in use/),
  );
  await writeInUse(client, used());
  assert.equal(await client.delete(client.kinds.InternalReleaseImage, internalReleaseImage), true);
});

test('D8 a digest in use protects the release whose image it is, whatever its name', async () => {
  await begin([one, two], used());
  const { client } = cluster;
  const object = await client.get(client.kinds.InternalReleaseImage, internalReleaseImage);
  const image = `api-int.sluice.internal:22625/openshift/release-images@${digest('1')}`;
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const condition = {
    type: 'Available',
    status: 'True' as const,
    reason: 'R',
    message: '',
    lastTransitionTime,
  };
  await client.updateStatus(client.kinds.InternalReleaseImage, {
    ...object,
    status: {
      conditions: [{ ...condition, type: 'Degraded', status: 'False' }],
      releases: [{ name: one, image, conditions: [condition] }],
    },
  });
  await writeInUse(client, { names: new Map(), digests: new Set([digest('1')]) });
  await assert.rejects(setReleases([two]), forbidden(/in use/));
  await setReleases([one]);
});

test('G8 D7 and D8 unknown denies, with a message and not with an evaluation error', async () => {
  await begin([one, two], undefined);
  await assert.rejects(setReleases([two]), forbidden(/cannot be told which releases are in use/));
  await setReleases([one, two, three]); // To add one is always allowed.
});

test('a missing parameter object denies', async () => {
  await begin([one, two], used());
  const { client } = cluster;
  await client.delete(client.kinds.PolicyFacts, inUse);
  await assert.rejects(
    setReleases([two]),
    (error: unknown) => error instanceof ApiError && error.message.includes('no params found'),
  );
});

test('a node writes the objects of its own name, and no others', async () => {
  const node = await cluster.clientAs('system:node:master-0', ['system:nodes']);
  const { kinds } = node;
  for (const name of ['master-0', 'master-1']) {
    await cluster.client.create(cluster.client.kinds.NodeUpdate, { metadata: { name }, spec: {} });
  }
  const status = { status: { agent: '1' } };
  await node.patch(kinds.NodeUpdate, 'master-0', status, { subresource: 'status' });
  await assert.rejects(
    node.patch(kinds.NodeUpdate, 'master-1', status, { subresource: 'status' }),
    forbidden(/only write the objects of its own node/),
  );
  await assert.rejects(setAs(node), forbidden(/internalreleaseimages/));
});

function setAs(client: TestCluster['client']) {
  return client.patch(client.kinds.InternalReleaseImage, internalReleaseImage, { spec: { releases: [] } });
}
