import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { isConflict } from '../kube/error.ts';
import { writeStatus } from './objects.ts';

let cluster: TestCluster;
const name = 'ocp-release-bundle-1.0.0-x86_64';

before(async () => {
  cluster = await startTestCluster();
});

after(() => cluster.close());

test('D21 a status that somebody else wrote meanwhile is a conflict that reading again resolves; equal ones are not written', async () => {
  const { client } = cluster;
  const kind = client.kinds.InternalReleaseImage;
  const stale = await client.create(kind, {
    metadata: { name: 'cluster' },
    spec: { releases: [{ name }] },
  });
  const condition = {
    type: 'Degraded',
    status: 'False' as const,
    reason: 'AllReleasesAvailable',
    message: 'All the release images are available',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const status = {
    conditions: [condition],
    releases: [{ name, conditions: [{ ...condition, type: 'Available' }] }],
  };
  await client.patch(kind, 'cluster', { metadata: { labels: { of: 'somebody' } } });
  await assert.rejects(writeStatus(client, stale, status), isConflict);
  const fresh = await client.get(kind, 'cluster');
  assert.equal(await writeStatus(client, fresh, status), true);
  const written = await client.get(kind, 'cluster');
  assert.equal(written.metadata.labels?.of, 'somebody');
  assert.equal(await writeStatus(client, written, status), false);
  assert.equal(
    (await client.get(kind, 'cluster')).metadata.resourceVersion,
    written.metadata.resourceVersion,
  );
});
