import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { createFakeClock } from '../../tests/fake-clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock } from '../observe/clock.ts';
import type { CopyView } from './copy-view.ts';
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

const metadata = { name: 'master-0' };

async function makeObjects(client: KubeClient): Promise<void> {
  await client.create(client.kinds.NodeUpdate, { metadata, spec: {} });
  await client.create(client.kinds.MachineConfigNode, {
    metadata,
    spec: { node: metadata, pool: { name: 'master' }, configVersion: { desired: 'none' } },
  });
}

test('what a node says is said again to objects that were deleted and made anew', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { NodeUpdate, MachineConfigNode } = client.kinds;
  const make = () => makeObjects(client);
  const publisher = createPublisher(client, 'master-0', 22625, systemClock);
  const report = createReporter(client, 'master-0', '0.0.0', systemClock);
  const say = async () => {
    await publisher.publish(content);
    await report({
      driver: 'simulated',
      bootID: 'b',
      state: 'Idle',
      os: {},
      holds: [],
      strategies: [],
      enabled: true,
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

const mib = 1024 * 1024;

function copying(bytesDone: number, change: Partial<CopyView> = {}): ContentState {
  const phase = change.state === 'Verifying' ? 'Verifying' : 'Copying';
  const amounts = {
    bytesDone,
    bytesTotal: 1000 * mib,
    bytesWritten: bytesDone,
    imagesDone: 1,
    imagesTotal: 40,
  };
  const copy: CopyView = {
    release: 'ocp-release-bundle-1.1.0-x86_64',
    bundleDigest: undefined,
    state: 'Copying',
    reason: undefined,
    message: undefined,
    progress: { phase, ...amounts },
    rate: 10 * mib,
    degraded: false,
    ...change,
  };
  return { ...content, copies: [copy] };
}

test('a change of state is written at once, progress after ten seconds and then every twenty, and the last word always', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { NodeUpdate, MachineConfigNode } = client.kinds;
  await makeObjects(client);
  const clock = createFakeClock();
  const publisher = createPublisher(client, 'master-0', 22625, clock);
  const versions = { update: '', node: '' };
  /** What was written by it, and the copy as it is told then. */
  const after = async (state: ContentState) => {
    await publisher.publish(state);
    const update = await client.get(NodeUpdate, 'master-0');
    const node = await client.get(MachineConfigNode, 'master-0');
    const wrote: string[] = [];
    if (update.metadata.resourceVersion !== versions.update) wrote.push('NodeUpdate');
    if (node.metadata.resourceVersion !== versions.node) wrote.push('MachineConfigNode');
    versions.update = update.metadata.resourceVersion ?? '';
    versions.node = node.metadata.resourceVersion ?? '';
    const { state: phase, bytesDone } = update.status?.copies?.[0] ?? {};
    return [wrote, phase, (bytesDone ?? 0) / mib];
  };
  const both = ['NodeUpdate', 'MachineConfigNode'];
  await after(content);
  assert.deepEqual(await after(copying(0)), [both, 'Copying', 0]);
  await clock.advance(9_000);
  assert.deepEqual(await after(copying(90 * mib)), [[], 'Copying', 0]);
  await clock.advance(1_000);
  assert.deepEqual(await after(copying(100 * mib)), [['NodeUpdate'], 'Copying', 100]);
  await clock.advance(30_000);
  assert.deepEqual(await after(copying(100 * mib + 1)), [[], 'Copying', 100], 'nobody would see that byte');
  await clock.advance(1_000);
  const paused = copying(110 * mib, { state: 'Paused', reason: 'DiskFull', message: 'full', degraded: true });
  assert.deepEqual(await after(paused), [both, 'Paused', 110]);
  await clock.advance(1_000);
  assert.deepEqual(await after(copying(120 * mib)), [both, 'Copying', 120]);
  await clock.advance(1_000);
  assert.deepEqual(await after(copying(999 * mib)), [[], 'Copying', 120]);
  // It says no more than that from here on, and that is written.
  await clock.advance(9_000);
  assert.deepEqual(await after(copying(999 * mib)), [['NodeUpdate'], 'Copying', 999]);
  await clock.advance(19_000);
  assert.deepEqual(await after(copying(0, { state: 'Verifying' })), [[], 'Copying', 999]);
  await clock.advance(1_000);
  assert.deepEqual(await after(copying(1 * mib, { state: 'Verifying' })), [['NodeUpdate'], 'Verifying', 1]);
  await clock.advance(50_000);
  assert.deepEqual(await after(copying(500 * mib, { state: 'Verifying' })), [both, 'Verifying', 500]);
  await clock.advance(1_000);
  assert.deepEqual(await after(content), [both, undefined, 0]);
  assert.deepEqual(await after(content), [[], undefined, 0]);
});
