import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { createFakeClock } from '../../tests/fake-clock.ts';
import { isConflict } from '../kube/error.ts';
import type { ReleaseImageStatus } from './report.ts';
import { createStatusWriter } from './status-writer.ts';

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
  const writer = createStatusWriter(client, createFakeClock());
  await client.patch(kind, 'cluster', { metadata: { labels: { of: 'somebody' } } });
  await assert.rejects(writer.write(stale, status), isConflict);
  const fresh = await client.get(kind, 'cluster');
  assert.equal(await writer.write(fresh, status), 'Written');
  const written = await client.get(kind, 'cluster');
  assert.equal(written.metadata.labels?.of, 'somebody');
  assert.equal(await writer.write(written, status), 'Same');
  assert.equal(
    (await client.get(kind, 'cluster')).metadata.resourceVersion,
    written.metadata.resourceVersion,
  );
});

test('of a copy its state is written at once, its words after ten seconds and then every twenty, and the last of them always', async () => {
  const { client } = cluster;
  const kind = client.kinds.InternalReleaseImage;
  const clock = createFakeClock();
  const writer = createStatusWriter(client, clock);
  const since = { lastTransitionTime: '2026-01-01T00:00:00Z' };
  const status = (reason: string, message: string, tally: string): ReleaseImageStatus => ({
    conditions: [{ type: 'Degraded', status: 'False', reason: 'Installing', message: '', ...since }],
    releases: [
      {
        name,
        conditions: [
          {
            type: 'Installing',
            status: reason === 'Installed' ? 'False' : 'True',
            reason,
            message,
            ...since,
          },
          {
            type: 'Available',
            status: 'False',
            reason: 'ReleaseImageNotAvailable',
            message: tally,
            ...since,
          },
        ],
      },
    ],
  });
  const write = async (next: ReleaseImageStatus) =>
    await writer.write(await client.get(kind, 'cluster'), next);
  const said = async () => (await client.get(kind, 'cluster')).status?.releases[0]?.conditions?.[0]?.message;
  assert.equal(await write(status('Waiting', 'on [a, b]', '')), 'Written');
  assert.equal(
    await write(status('Waiting', 'on [a]', '')),
    'Written',
    'no copy moves yet: any word is news',
  );
  assert.equal(await write(status('Copying', '0%', '')), 'Written');
  await clock.advance(9_000);
  assert.equal(await write(status('Copying', '9%', 'on 2 of 3 nodes')), 'Later');
  assert.equal(writer.remainingMs(), 1_000);
  assert.equal(await said(), '0%');
  await clock.advance(1_000);
  assert.equal(await write(status('Copying', '10%', 'on 2 of 3 nodes')), 'Written');
  assert.equal(await write(status('Copying', '11%', 'on 2 of 3 nodes')), 'Later');
  assert.equal(writer.remainingMs(), 20_000);
  await clock.advance(1_000);
  assert.equal(await write(status('Paused', '11%', '')), 'Written');
  assert.equal(await write(status('Copying', '11%', '')), 'Written');
  assert.equal(await write(status('Copying', '99%', '')), 'Later');
  await clock.advance(writer.remainingMs());
  assert.equal(await write(status('Copying', '99%', '')), 'Written');
  assert.equal(await write(status('Installed', '', '')), 'Written');
  assert.equal(await write(status('Installed', '', '')), 'Same');
  assert.equal(await said(), '');
});
