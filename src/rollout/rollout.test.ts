import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { rollOut } from './rollout.ts';

const image = `quay.example/os@sha256:${'b'.repeat(64)}`;

test('a cluster without nodes has not taken an OS image: nobody runs it', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const nobody = await rollOut(client, image);
  assert.equal(nobody.completed, false);
  assert.match(nobody.problems.join(), /a node to take the OS image of the release: none has registered/);

  const node = await client.create(client.kinds.Node, { metadata: { name: 'worker-0' } });
  const ready = { type: 'Ready', status: 'True' } as const;
  await client.updateStatus(client.kinds.Node, { ...node, status: { conditions: [ready] } });
  const told = await rollOut(client, image);
  assert.deepEqual([told.completed, told.total, told.problems], [false, 1, []]);
  assert.deepEqual(told.plan.assign, ['worker-0']);
});
