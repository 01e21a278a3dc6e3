import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { systemClock } from '../observe/clock.ts';
import { createReporter } from './finalization.ts';
import { createPublisher } from './publisher.ts';
import type { ContentState } from './status.ts';

const content: ContentState = {
  nodeName: 'master-0',
  desired: ['ocp-release-bundle-1.1.0-x86_64'],
  records: new Map(),
  removing: new Set(),
  attachments: [],
  copies: [],
  problems: new Map(),
  registryDown: undefined,
};

test('what a node says is said again to objects that were deleted and made anew', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { NodeUpdate, MachineConfigNode } = client.kinds;
  const metadata = { name: 'master-0' };
  const make = async () => {
    await client.create(NodeUpdate, { metadata, spec: {} });
    await client.create(MachineConfigNode, {
      metadata,
      spec: { node: metadata, pool: { name: 'master' }, configVersion: { desired: 'none' } },
    });
  };
  const publisher = createPublisher(client, 'master-0', 22625);
  const report = createReporter(client, 'master-0', '0.0.0', systemClock);
  const say = async () => {
    await publisher.publish(content, 0);
    await report({
      driver: 'simulated',
      bootID: 'b',
      state: 'Idle',
      os: {},
      holds: [],
      strategies: [],
      configWarnings: [],
    });
  };
  const heard = async () => {
    const update = await client.get(NodeUpdate, 'master-0');
    const node = await client.get(MachineConfigNode, 'master-0');
    return [update.status?.store, update.status?.state, node.status?.internalReleaseImage?.releases.length];
  };
  await make();
  await say();
  const first = await heard();
  assert.deepEqual(first, [[], 'Idle', 1]);
  await client.delete(NodeUpdate, 'master-0');
  await client.delete(MachineConfigNode, 'master-0');
  await make();
  await say();
  assert.deepEqual(await heard(), first);
});
