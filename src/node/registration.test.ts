import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { playedNodeInfo } from '../../tests/played-kubelet.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import type { KubeletFacts } from './node-object.ts';
import { keepNode, type RegistrationOptions, registerNode } from './registration.ts';

let cluster: TestCluster;
let client: KubeClient;

before(async () => {
  cluster = await startTestCluster();
  client = cluster.client;
});

after(() => cluster.close());

function facts(bootID = 'boot-1'): KubeletFacts {
  return {
    port: 10250,
    nodeInfo: playedNodeInfo('machine', bootID),
    capacity: { cpu: '2', memory: '4Gi', pods: '110' },
  };
}

function options(change: Partial<RegistrationOptions> = {}): RegistrationOptions {
  return {
    client,
    nodeName: 'master-0',
    address: '127.0.0.1',
    controlPlane: true,
    kubelet: facts(),
    logger: silentLogger,
    clock: steppingClock().clock,
    signal: new AbortController().signal,
    ...change,
  };
}

/** Time that moves only when somebody sleeps. */
function steppingClock() {
  let now = Date.UTC(2026, 0, 1);
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms) => {
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  return { clock, now: () => now };
}

test('a node makes all its objects, and a second start changes nothing but what is new', async () => {
  await registerNode(options());
  const node = await client.get(client.kinds.Node, 'master-0');
  assert.equal(node.metadata.labels?.['node-role.kubernetes.io/control-plane'], '');
  assert.equal(node.status?.nodeInfo?.bootID, 'boot-1');
  assert.equal(node.status?.daemonEndpoints?.kubeletEndpoint?.Port, 10250);
  assert.deepEqual(node.status?.addresses?.[0], { type: 'InternalIP', address: '127.0.0.1' });
  const ready = node.status?.conditions?.find((each) => each.type === 'Ready');
  assert.equal(ready?.status, 'True');
  assert.equal((await client.get(client.kinds.MachineConfigNode, 'master-0')).spec.node.name, 'master-0');
  assert.deepEqual((await client.get(client.kinds.NodeUpdate, 'master-0')).spec, {});
  const lease = await client.get(client.kinds.Lease, 'master-0', 'kube-node-lease');
  assert.equal(lease.spec?.holderIdentity, 'master-0');

  await client.patch(client.kinds.Node, 'master-0', { spec: { unschedulable: true } });
  await registerNode(options({ kubelet: facts('boot-2') }));
  const again = await client.get(client.kinds.Node, 'master-0');
  assert.equal(again.status?.nodeInfo?.bootID, 'boot-2');
  assert.equal(again.spec?.unschedulable, true, 'a cordon was lifted');
  assert.equal(
    again.status?.conditions?.find((each) => each.type === 'Ready')?.lastTransitionTime,
    ready?.lastTransitionTime,
  );
});

test('a node that lives renews its lease, says when it is not ready, and comes back when it was deleted', async () => {
  const { clock, now } = steppingClock();
  const end = new AbortController();
  let ready = true;
  const running = keepNode(
    options({
      clock,
      signal: end.signal,
      kubelet: {
        ...facts(),
        ready: () => ({ ready, reason: ready ? 'KubeletReady' : 'KubeletNotReady', message: '' }),
      },
    }),
  );
  const until = async (ask: () => Promise<boolean>) => {
    const endsAt = Date.now() + 10_000;
    while (!(await ask())) assert.ok(Date.now() < endsAt, 'it did not happen');
  };
  const begun = now();
  await until(async () => {
    const lease = await client.get(client.kinds.Lease, 'master-0', 'kube-node-lease');
    return (lease.spec?.renewTime ?? '') > rfc3339(begun + 20_000);
  });
  ready = false;
  await until(async () => {
    const node = await client.get(client.kinds.Node, 'master-0');
    return node.status?.conditions?.find((each) => each.type === 'Ready')?.status === 'False';
  });
  const deleted = now();
  await client.delete(client.kinds.NodeUpdate, 'master-0');
  await until(async () => (await client.tryGet(client.kinds.NodeUpdate, 'master-0')) !== undefined);
  assert.ok(now() < deleted + 60_000, 'it takes minutes until a deleted object is made again');
  end.abort();
  await running;
});

test('the Node of a kubelet is left as it is, and is waited for where the kubelet has not made it yet', async () => {
  const nodeName = 'worker-7';
  const end = new AbortController();
  const registering = registerNode(options({ nodeName, kubelet: undefined, signal: end.signal }));
  assert.equal(await client.tryGet(client.kinds.NodeUpdate, nodeName), undefined);
  const made = await client.create(client.kinds.Node, { metadata: { name: nodeName }, spec: {} });
  await registering;
  assert.ok((await client.tryGet(client.kinds.NodeUpdate, nodeName)) !== undefined);
  const running = keepNode(options({ nodeName, kubelet: undefined, signal: end.signal }));
  await new Promise((resolve) => setTimeout(resolve, 300));
  end.abort();
  await running;
  const node = await client.get(client.kinds.Node, nodeName);
  assert.equal(node.metadata.resourceVersion, made.metadata.resourceVersion);
  assert.equal(await client.tryGet(client.kinds.Lease, nodeName, 'kube-node-lease'), undefined);
});
