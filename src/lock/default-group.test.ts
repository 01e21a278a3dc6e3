import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { waitFor } from '../kube/wait.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { defaultGroup, keepDefaultGroup } from './default-group.ts';

test('the default group comes back when it was deleted, and not while a node is away', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { kinds } = client;
  const ready = async (name: string, status: 'True' | 'False') => {
    const node = await client.get(kinds.Node, name);
    await client.updateStatus(kinds.Node, { ...node, status: { conditions: [{ type: 'Ready', status }] } });
  };
  await client.create(kinds.Node, { metadata: { name: 'm' } });
  await ready('m', 'False');
  const stop = new AbortController();
  const running = keepDefaultGroup({ client, clock: systemClock, logger: silentLogger, signal: stop.signal });
  const until = (there: boolean) =>
    waitFor(client, kinds.FleetLockGroup, defaultGroup, (group) => (group !== undefined) === there, {
      timeoutMs: 20_000,
    });
  await systemClock.sleep(300);
  assert.equal(await client.tryGet(kinds.FleetLockGroup, defaultGroup), undefined, 'm is away');
  await ready('m', 'True');
  assert.equal((await until(true))?.spec.slots, 1);
  await client.patch(kinds.FleetLockGroup, defaultGroup, { spec: { slots: 3 } });
  await systemClock.sleep(100);
  assert.equal(
    (await client.get(kinds.FleetLockGroup, defaultGroup)).spec.slots,
    3,
    'what stands is left alone',
  );
  await client.delete(kinds.FleetLockGroup, defaultGroup);
  assert.equal((await until(true))?.spec.slots, 1);
  stop.abort();
  await running;
});
