import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { makeReadyNode, playKubelets } from '../../tests/played-kubelet.ts';
import type { Job, KubeObject, Pod } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor, waitForDeletion } from '../kube/wait.ts';
import type { WatchOptions } from '../kube/watch.ts';
import { silentLogger } from '../observe/log.ts';
import { runClusterControllers } from './controllers.ts';

/** Controllers that are killed, that see late, and that meet a server that goes away. */
let cluster: TestCluster;
let client: KubeClient;
let stop: AbortController;
beforeEach(async () => {
  cluster = await startTestCluster();
  client = cluster.client;
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await cluster.close();
});

const namespace = 'default';
const timeoutMs = 20_000;
const quiet = (ms = 300) => new Promise((resolve) => setTimeout(resolve, ms));

const podsNow = async () => (await client.list(client.kinds.Pod, { namespace })).items;

function start(seen: KubeClient = client): { end: () => Promise<void> } {
  const own = new AbortController();
  const signal = AbortSignal.any([own.signal, stop.signal]);
  const running = runClusterControllers({ client: seen, logger: silentLogger, signal });
  return {
    end: async () => {
      own.abort();
      await running;
    },
  };
}

/** A client that never hears of a change of this kind. */
function blindFor(kindName: string): KubeClient {
  return {
    ...client,
    async *watch<T extends KubeObject>(kind: KindRef<T>, options: WatchOptions = {}) {
      if (kind.kind !== kindName) {
        yield* client.watch(kind, options);
        return;
      }
      await new Promise<void>((resolve) => options.signal?.addEventListener('abort', () => resolve()));
    },
  };
}

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'registry.example/app:1' }] },
};

async function createJob(name: string): Promise<Job> {
  return await client.create(client.kinds.Job, {
    metadata: { name, namespace },
    spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
  });
}

test('P-40 killed between the Pod and the status of its Job: the Pod is found again, no second one is made', async () => {
  await makeReadyNode(client, 'n0');
  let attempts = 0;
  const dying: KubeClient = {
    ...client,
    updateStatus: async (kind, object, options) => {
      if (kind.kind !== 'Job') return await client.updateStatus(kind, object, options);
      attempts += 1;
      throw new Error('killed');
    },
  };
  const first = start(dying);
  await createJob('check');
  while (attempts < 3) await quiet(20);
  await first.end();
  assert.equal((await podsNow()).length, 1, 'trying again makes no second one either');
  assert.equal((await client.get(client.kinds.Job, 'check', namespace)).status?.startTime, undefined);
  const second = start();
  playKubelets(client, stop.signal, () => 'succeed');
  await waitFor(client, client.kinds.Job, 'check', (job) => job?.status?.succeeded === 1, {
    namespace,
    timeoutMs,
  });
  assert.equal((await podsNow()).length, 1);
  await second.end();
});

test('controllers that see no Pod at all make none too many', async () => {
  const { kinds } = client;
  const blind = start(blindFor('Pod'));
  await createJob('check');
  await client.create(kinds.Deployment, {
    metadata: { name: 'web', namespace },
    spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
  });
  await waitFor(client, kinds.Deployment, 'web', (one) => one?.status?.replicas === 3, {
    namespace,
    timeoutMs,
  });
  for (let turn = 0; turn < 5; turn += 1) {
    await client.patch(kinds.Job, 'check', { metadata: { annotations: { turn: `${turn}` } } }, { namespace });
    await client.patch(
      kinds.Deployment,
      'web',
      { metadata: { annotations: { turn: `${turn}` } } },
      { namespace },
    );
    await quiet(30);
  }
  const owners = (await podsNow()).map(({ metadata }) => metadata.ownerReferences?.[0]?.kind).sort();
  assert.deepEqual(owners, ['Deployment', 'Deployment', 'Deployment', 'Job']);
  await blind.end();
});

test('a server that goes away and comes back: nothing is lost, nothing made twice', async () => {
  const { kinds } = client;
  await makeReadyNode(client, 'n0');
  playKubelets(client, stop.signal);
  const controllers = start();
  await client.create(kinds.Deployment, {
    metadata: { name: 'web', namespace },
    spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
  });
  const settled = () =>
    waitFor(client, kinds.Deployment, 'web', (one) => one?.status?.availableReplicas === 3, {
      namespace,
      timeoutMs,
    });
  await settled();
  await cluster.restart();
  const [pod] = await podsNow();
  await client.delete(kinds.Pod, pod?.metadata.name ?? '', { namespace });
  await waitForDeletion(client, kinds.Pod, pod?.metadata.name ?? '', { namespace, timeoutMs });
  for (let turn = 0; turn < 500 && (await podsNow()).length < 3; turn += 1) await quiet(20);
  await quiet();
  await settled();
  assert.equal((await podsNow()).length, 3);
  await controllers.end();
});

test('many Pods at once are spread evenly and never beyond what a node takes, though the cache is behind', async () => {
  const { kinds } = client;
  for (const name of ['n0', 'n1', 'n2']) await makeReadyNode(client, name);
  await client.create(kinds.Deployment, {
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 14,
      selector: { matchLabels: { app: 'web' } },
      template: {
        ...template,
        spec: { containers: [{ name: 'main', image: 'a', resources: { requests: { cpu: '1' } } }] },
      },
    },
  });
  const controllers = start();
  const loads = async () => {
    const counts: Record<string, number> = {};
    for (const { spec } of await podsNow()) {
      counts[spec.nodeName ?? 'none'] = (counts[spec.nodeName ?? 'none'] ?? 0) + 1;
    }
    return counts;
  };
  const bound = async () => 14 - ((await loads()).none ?? 0);
  for (let turn = 0; turn < 200 && ((await bound()) < 12 || (await podsNow()).length < 14); turn += 1)
    await quiet(20);
  await quiet();
  assert.deepEqual(await loads(), { n0: 4, n1: 4, n2: 4, none: 2 });
  const waiting = (await podsNow()).find(({ spec }) => spec.nodeName === undefined);
  const condition = waiting?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  assert.equal(condition?.message, '0/3 nodes are available: 3 Insufficient cpu.');
  const there = (await podsNow()).find(({ spec }) => spec.nodeName === 'n1') as Pod;
  await client.delete(kinds.Pod, there.metadata.name, { namespace, gracePeriodSeconds: 0 });
  for (let turn = 0; turn < 100 && (await loads()).n1 !== 4; turn += 1) await quiet(20);
  assert.equal((await loads()).n1, 4, 'who waited takes the place of who has gone');
  await controllers.end();
});

test('a Pod that finds no node says why, and goes as soon as one takes it', async () => {
  const { kinds } = client;
  const controllers = start();
  const made = await client.create(kinds.Pod, {
    metadata: { name: 'p', namespace },
    spec: template.spec,
  });
  const says = (message: string) =>
    waitFor(
      client,
      kinds.Pod,
      'p',
      (pod) =>
        pod?.status?.conditions?.some((one) => one.type === 'PodScheduled' && one.message === message) ??
        false,
      { namespace, timeoutMs, describe: (pod) => JSON.stringify((pod as Pod).status) },
    );
  await says('no nodes available to schedule pods');
  await makeReadyNode(client, 'n0', { spec: { unschedulable: true } });
  const waiting = await says('0/1 nodes are available: 1 node(s) were unschedulable.');
  assert.equal(waiting?.status?.phase, 'Pending');
  assert.equal(waiting?.status?.conditions?.[0]?.reason, 'Unschedulable');
  await client.patch(kinds.Node, 'n0', { spec: { unschedulable: null } });
  const bound = await waitFor(client, kinds.Pod, 'p', (pod) => pod?.spec.nodeName === 'n0', {
    namespace,
    timeoutMs,
  });
  assert.equal(bound?.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.status, 'True');
  await quiet(50);
  const events = (await client.list(kinds.Event, { namespace })).items
    .filter(({ involvedObject }) => involvedObject.uid === made.metadata.uid)
    .map(({ reason }) => reason);
  assert.ok(events.includes('FailedScheduling') && events.includes('Scheduled'), events.join());

  const gated = { ...template.spec, schedulingGates: [{ name: 'test.example/wait' }] };
  await client.create(kinds.Pod, { metadata: { name: 'gated', namespace }, spec: gated });
  await client.create(kinds.Pod, {
    metadata: { name: 'foreign', namespace },
    spec: { ...template.spec, schedulerName: 'another' } as Pod['spec'],
  });
  await waitFor(
    client,
    kinds.Pod,
    'gated',
    (pod) => pod?.status?.conditions?.some(({ reason }) => reason === 'SchedulingGated') ?? false,
    { namespace, timeoutMs },
  );
  assert.equal((await client.get(kinds.Pod, 'foreign', namespace)).spec.nodeName, undefined);
  await controllers.end();
});
