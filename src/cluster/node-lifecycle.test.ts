import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { createFakeClock, type FakeClock } from '../../tests/fake-clock.ts';
import { makeReadyNode } from '../../tests/played-kubelet.ts';
import type { Node, Pod } from '../api/core.ts';
import { type KubeClient, pathOf } from '../kube/client.ts';
import { waitFor, waitForDeletion } from '../kube/wait.ts';
import { silentLogger } from '../observe/log.ts';
import { createInformers } from './context.ts';
import { runNodeLifecycle } from './node-lifecycle.ts';

/** Nodes that fall silent and come back, on the embedded API; only the clock is played. */
let cluster: TestCluster;
let client: KubeClient;
let clock: FakeClock;
const namespace = 'default';
const timeoutMs = 10_000;
let stop: AbortController;
let running: Promise<void>;
beforeEach(async () => {
  cluster = await startTestCluster();
  client = cluster.client;
  clock = createFakeClock(Date.now());
  stop = new AbortController();
  const base = { client, logger: silentLogger, signal: stop.signal, clock };
  running = runNodeLifecycle({ ...base, random: Math.random, informers: createInformers(base) });
});
afterEach(async () => {
  stop.abort();
  await running;
  await cluster.close();
});

/** Moves the clock on, a second at a time, and lets what it woke reach the server. */
async function pass(seconds: number): Promise<void> {
  await settle();
  await clock.advance(seconds * 1000);
  await settle();
}
const settle = () => new Promise((resolve) => setTimeout(resolve, 60));

async function renew(node: string): Promise<void> {
  const { Lease } = client.kinds;
  const where = 'kube-node-lease';
  const spec = {
    holderIdentity: node,
    leaseDurationSeconds: 40,
    renewTime: `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`,
  };
  const standing = await client.tryGet(Lease, node, where);
  if (standing === undefined)
    await client.create(Lease, { metadata: { name: node, namespace: where }, spec });
  else await client.update(Lease, { ...standing, spec });
}

async function runningPod(name: string, node: string, more: Partial<Pod['spec']> = {}): Promise<Pod> {
  const { Pod } = client.kinds;
  await client.create(Pod, {
    metadata: { name, namespace },
    spec: { containers: [{ name: 'main', image: 'a' }], ...more },
  });
  await client.raw({
    method: 'POST',
    path: pathOf(Pod, namespace, name, 'binding'),
    body: { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: node } },
  });
  const bound = await client.get(Pod, name, namespace);
  return await client.updateStatus(Pod, {
    ...bound,
    status: { ...bound.status, phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
}

const readyOf = ({ status }: Node | Pod) => {
  const conditions: readonly { type: string; status: string }[] = status?.conditions ?? [];
  return conditions.find(({ type }) => type === 'Ready')?.status;
};
const taintsOf = (node: Node) => (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);

async function untilNode(name: string, holds: (node: Node) => boolean): Promise<Node> {
  const found = await waitFor(client, client.kinds.Node, name, (node) => node !== undefined && holds(node), {
    timeoutMs,
    describe: (node) => JSON.stringify(node),
  });
  return found as Node;
}

test('a node whose lease is renewed lives; one that falls silent for 40 s is Unknown, tainted, and its Pods not ready', async () => {
  await makeReadyNode(client, 'n0');
  await runningPod('p', 'n0');
  for (let turn = 0; turn < 8; turn += 1) {
    await renew('n0');
    await pass(10);
  }
  assert.equal(readyOf(await client.get(client.kinds.Node, 'n0')), 'True', '80 s with a lease');
  await pass(25);
  assert.equal(readyOf(await client.get(client.kinds.Node, 'n0')), 'True', '35 s without');
  await pass(6);
  const silent = await untilNode('n0', (node) => taintsOf(node).length === 2);
  assert.equal(readyOf(silent), 'Unknown');
  assert.equal(silent.status?.conditions?.[0]?.message, 'Kubelet stopped posting node status.');
  assert.deepEqual(taintsOf(silent), [
    'node.kubernetes.io/unreachable:NoSchedule',
    'node.kubernetes.io/unreachable:NoExecute',
  ]);
  await waitFor(client, client.kinds.Pod, 'p', (pod) => pod !== undefined && readyOf(pod) === 'False', {
    namespace,
    timeoutMs,
  });
  await pass(200);
  assert.equal((await client.get(client.kinds.Pod, 'p', namespace)).metadata.deletionTimestamp, undefined);
  await renew('n0');
  await client.updateStatus(client.kinds.Node, {
    ...(await client.get(client.kinds.Node, 'n0')),
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  await untilNode('n0', (node) => taintsOf(node).length === 0);
});

test('after five minutes the Pods of a silent node are told to go, those that bear it stay', async () => {
  await makeReadyNode(client, 'n0');
  await runningPod('p', 'n0');
  await runningPod('q', 'n0', { tolerations: [{ operator: 'Exists' }] });
  await pass(41);
  await untilNode('n0', (node) => taintsOf(node).length === 2);
  await pass(301);
  const going = await waitFor(
    client,
    client.kinds.Pod,
    'p',
    (pod) => pod?.metadata.deletionTimestamp !== undefined,
    { namespace, timeoutMs },
  );
  assert.equal(
    going?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason,
    'DeletionByTaintManager',
  );
  assert.equal((await client.get(client.kinds.Pod, 'q', namespace)).metadata.deletionTimestamp, undefined);
});

test('whoever was asleep does not blame the nodes', async () => {
  await makeReadyNode(client, 'n0');
  await settle();
  assert.ok(clock.sleeping().length > 0, 'it waits for the lease');
  // A process that was stopped for an hour: that time has passed, and only then its timer fires.
  const now = clock.monotonic() + 3_600_000;
  clock.monotonic = () => now;
  await clock.advance(41_000);
  await settle();
  assert.equal(readyOf(await client.get(client.kinds.Node, 'n0')), 'True');
});

test('a clock that is set makes no node silent, and keeps none alive', async () => {
  await makeReadyNode(client, 'n0');
  await settle();
  clock.jump(3_600_000);
  await pass(20);
  assert.equal(readyOf(await client.get(client.kinds.Node, 'n0')), 'True');
  clock.jump(-7_200_000);
  await pass(21);
  await untilNode('n0', (node) => readyOf(node) === 'Unknown');
});

test('a cordon is a taint too, for as long as it lasts', async () => {
  await makeReadyNode(client, 'n0', { spec: { taints: [{ key: 'role', effect: 'NoSchedule' }] } });
  const { Node } = client.kinds;
  await client.patch(Node, 'n0', { spec: { unschedulable: true } });
  const cordoned = await untilNode('n0', (node) => taintsOf(node).length === 2);
  assert.deepEqual(taintsOf(cordoned), ['role:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule']);
  await client.patch(Node, 'n0', { spec: { unschedulable: null } });
  assert.deepEqual(taintsOf(await untilNode('n0', (node) => taintsOf(node).length === 1)), [
    'role:NoSchedule',
  ]);
});

test('Pods of a node that is gone are deleted, unless it comes back soon', async () => {
  const { Node, Pod } = client.kinds;
  await makeReadyNode(client, 'n0');
  await runningPod('p', 'n0');
  await client.delete(Node, 'n0');
  await pass(30);
  await makeReadyNode(client, 'n0');
  await pass(15);
  assert.equal((await client.get(Pod, 'p', namespace)).metadata.deletionTimestamp, undefined);
  await client.delete(Node, 'n0');
  await pass(41);
  await waitForDeletion(client, Pod, 'p', { namespace, timeoutMs });
});
