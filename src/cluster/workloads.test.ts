import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freshNamespace, startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { runCommand } from '../../tests/kubectl.ts';
import { makeReadyNode, type Play, playKubelets } from '../../tests/played-kubelet.ts';
import { needs } from '../../tests/tier.ts';
import type { Deployment, Job, Pod } from '../api/core.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor, waitForDeletion } from '../kube/wait.ts';
import { silentLogger } from '../observe/log.ts';
import { runClusterControllers } from './controllers.ts';

/** Jobs, Deployments and drains on the embedded API, with the kubelets played. */
let cluster: TestCluster;
let client: KubeClient;
const stop = new AbortController();
let controllers: Promise<void>;
before(async () => {
  cluster = await startTestCluster();
  client = cluster.client;
  for (const name of ['n0', 'n1', 'n2']) await makeReadyNode(client, name);
  playKubelets(client, stop.signal, (pod) => (pod.metadata.annotations?.play ?? 'run') as Play);
  controllers = runClusterControllers({ client, logger: silentLogger, signal: stop.signal });
});
after(async () => {
  stop.abort();
  await controllers;
  await cluster.close();
});

const timeoutMs = 20_000;
const container = { name: 'main', image: 'registry.example/app:1' };

async function createJob(namespace: string, name: string, play: Play, spec: Partial<Job['spec']> = {}) {
  return await client.create(client.kinds.Job, {
    metadata: { name, namespace },
    spec: {
      template: {
        metadata: { annotations: { play } },
        spec: { restartPolicy: 'Never', containers: [container] },
      },
      ...spec,
    },
  });
}

async function createDeployment(
  namespace: string,
  name: string,
  spec: Partial<Deployment['spec']> = {},
): Promise<Deployment> {
  return await client.create(client.kinds.Deployment, {
    metadata: { name, namespace },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [container] } },
      ...spec,
    },
  });
}

const ended = (job: Job | undefined, type: string) =>
  job?.status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false;

async function untilJob(namespace: string, name: string, type: 'Complete' | 'Failed'): Promise<Job> {
  const job = await waitFor(client, client.kinds.Job, name, (one) => ended(one, type), {
    namespace,
    timeoutMs,
    describe: (one) => JSON.stringify((one as Job | undefined)?.status),
  });
  return job as Job;
}

async function untilRolledOut(namespace: string, name: string): Promise<Deployment> {
  const found = await waitFor(
    client,
    client.kinds.Deployment,
    name,
    (one) => {
      const { status = {}, metadata, spec } = one ?? ({} as Deployment);
      const wanted = spec?.replicas;
      return (
        status.observedGeneration === metadata?.generation &&
        status.updatedReplicas === wanted &&
        status.replicas === wanted &&
        status.availableReplicas === wanted
      );
    },
    { namespace, timeoutMs, describe: (one) => JSON.stringify((one as Deployment | undefined)?.status) },
  );
  return found as Deployment;
}

async function podsIn(namespace: string): Promise<Pod[]> {
  return (await client.list(client.kinds.Pod, { namespace })).items;
}

const isRunning = ({ status }: Pod) => status?.phase === 'Running';

/** Waits until there is a Pod of which this holds; answers all such. */
async function untilPods(namespace: string, holds: (pod: Pod) => boolean): Promise<Pod[]> {
  for (let turn = 0; turn < 500; turn += 1) {
    const found = (await podsIn(namespace)).filter(holds);
    if (found.length > 0) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no such Pod among ${JSON.stringify(await podsIn(namespace))}`);
}

const kubectl = (...args: string[]) => runCommand('kubectl', ['--kubeconfig', cluster.kubeconfig, ...args]);

test('a Job runs to its end: its Pod is made, bound and counted', async () => {
  const namespace = await freshNamespace(client);
  const made = await createJob(namespace, 'check', 'succeed');
  const job = await untilJob(namespace, 'check', 'Complete');
  assert.deepEqual(
    job.status?.conditions?.map(({ type, reason }) => `${type}/${reason}`),
    ['SuccessCriteriaMet/CompletionsReached', 'Complete/CompletionsReached'],
  );
  assert.deepEqual([job.status?.succeeded, job.status?.active, job.status?.failed], [1, 0, 0]);
  const [pod, ...others] = await podsIn(namespace);
  assert.equal(others.length, 0);
  assert.match(pod?.metadata.name ?? '', /^check-[a-z0-9]{5}$/);
  assert.equal(pod?.metadata.labels?.['job-name'], 'check');
  assert.equal(pod?.metadata.ownerReferences?.[0]?.uid, made.metadata.uid);
  assert.ok(['n0', 'n1', 'n2'].includes(pod?.spec.nodeName ?? ''));
});

test('kubectl wait sees a Job complete', needs('kubectl'), async () => {
  const namespace = await freshNamespace(client);
  await createJob(namespace, 'x', 'succeed');
  const { code, output } = await kubectl(
    'wait',
    '--for=condition=complete',
    'job/x',
    '-n',
    namespace,
    '--timeout=10s',
  );
  assert.equal(code, 0, output);
  assert.match(output, /job.batch\/x condition met/);
});

test('a Job that fails says so; one that failed before is tried again', async () => {
  const namespace = await freshNamespace(client);
  await createJob(namespace, 'once', 'fail', { backoffLimit: 0 });
  const job = await untilJob(namespace, 'once', 'Failed');
  assert.equal(job.status?.conditions?.at(-1)?.reason, 'BackoffLimitExceeded');
  assert.equal((await podsIn(namespace)).length, 1, 'the failed Pod stays for its log');
});

test('P-02 the deadline ends a Job whose Pod never starts, and removes the Pod', async () => {
  const namespace = await freshNamespace(client);
  await createJob(namespace, 'stuck', 'hang', { activeDeadlineSeconds: 1 });
  const job = await untilJob(namespace, 'stuck', 'Failed');
  assert.equal(job.status?.conditions?.at(-1)?.reason, 'DeadlineExceeded');
  assert.equal((await podsIn(namespace)).length, 0);
});

test('ttlSecondsAfterFinished: Job and Pods go', async () => {
  const namespace = await freshNamespace(client);
  await createJob(namespace, 'brief', 'succeed', { ttlSecondsAfterFinished: 1 });
  await untilJob(namespace, 'brief', 'Complete');
  const [pod] = await podsIn(namespace);
  await waitForDeletion(client, client.kinds.Job, 'brief', { namespace, timeoutMs });
  await waitForDeletion(client, client.kinds.Pod, pod?.metadata.name ?? '', { namespace, timeoutMs });
});

test('P-18 what the API has against a Pod is told by an event of the Job, in its words', async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  await client.create(kinds.ValidatingAdmissionPolicy, {
    metadata: { name: `quota-${namespace}` },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      validations: [{ expression: 'false', message: 'exceeded quota: none' }],
    },
  });
  await client.create(kinds.ValidatingAdmissionPolicyBinding, {
    metadata: { name: `quota-${namespace}` },
    spec: {
      policyName: `quota-${namespace}`,
      validationActions: ['Deny'],
      matchResources: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      },
    },
  });
  await createJob(namespace, 'refused', 'run');
  const said = async () => {
    const { items } = await client.list(kinds.Event, { namespace });
    return items.find(({ reason }) => reason === 'FailedCreate')?.message;
  };
  for (let turn = 0; turn < 200 && (await said()) === undefined; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match(
    (await said()) ?? '',
    /^Error creating: pods "refused-\w+" is forbidden: .*exceeded quota: none/,
  );
  await client.delete(kinds.ValidatingAdmissionPolicyBinding, `quota-${namespace}`);
  await client.delete(kinds.ValidatingAdmissionPolicy, `quota-${namespace}`);
  await waitFor(client, kinds.Job, 'refused', (job) => job?.status?.active === 1, { namespace, timeoutMs });
});

test(
  'a Deployment rolls out, is updated, scaled and taken away: kubectl follows',
  needs('kubectl'),
  async () => {
    const namespace = await freshNamespace(client);
    await createDeployment(namespace, 'web');
    const status = async () =>
      await kubectl('rollout', 'status', 'deployment/web', '-n', namespace, '--timeout=15s');
    const first = await status();
    assert.equal(first.code, 0, first.output);
    assert.match(first.output, /deployment "web" successfully rolled out/);
    const nodes = new Set((await podsIn(namespace)).map((pod) => pod.spec.nodeName));
    assert.equal(nodes.size, 3, 'spread over the nodes');
    const before = new Set((await podsIn(namespace)).map(({ metadata }) => metadata.name));

    const image = await kubectl(
      'set',
      'image',
      'deployment/web',
      'main=registry.example/app:2',
      '-n',
      namespace,
    );
    assert.equal(image.code, 0, image.output);
    const second = await status();
    assert.equal(second.code, 0, second.output);
    const pods = await podsIn(namespace);
    assert.equal(pods.length, 3);
    assert.ok(
      pods.every(({ metadata }) => !before.has(metadata.name)),
      'all Pods are new',
    );
    assert.ok(pods.every(({ spec }) => spec.containers[0]?.image === 'registry.example/app:2'));

    await kubectl('scale', 'deployment/web', '--replicas=1', '-n', namespace);
    await untilRolledOut(namespace, 'web');
    assert.equal((await podsIn(namespace)).filter((pod) => !pod.metadata.deletionTimestamp).length, 1);
    await kubectl('rollout', 'restart', 'deployment/web', '-n', namespace);
    const third = await status();
    assert.equal(third.code, 0, third.output);
    const shown = await kubectl('get', 'deployment', 'web', '-n', namespace);
    assert.match(shown.output, /web +1\/1 +1 +1/);
    const deleted = await kubectl(
      'delete',
      'deployment',
      'web',
      '-n',
      namespace,
      '--cascade=foreground',
      '--timeout=10s',
    );
    assert.equal(deleted.code, 0, deleted.output);
    assert.equal((await podsIn(namespace)).length, 0, 'foreground: the Pods were gone first');
  },
);

test('a rollout that does not move ends in ProgressDeadlineExceeded', needs('kubectl'), async () => {
  const namespace = await freshNamespace(client);
  await createDeployment(namespace, 'stuck', {
    replicas: 1,
    progressDeadlineSeconds: 1,
    template: {
      metadata: { labels: { app: 'stuck' }, annotations: { play: 'hang' } },
      spec: { containers: [container] },
    },
  });
  const { code, output } = await kubectl(
    'rollout',
    'status',
    'deployment/stuck',
    '-n',
    namespace,
    '--timeout=15s',
  );
  assert.notEqual(code, 0);
  assert.match(output, /exceeded its progress deadline/);
  const { status } = await client.get(client.kinds.Deployment, 'stuck', namespace);
  assert.deepEqual(
    status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`).sort(),
    ['Available=False/MinimumReplicasUnavailable', 'Progressing=False/ProgressDeadlineExceeded'],
  );
});

test('Recreate: no two versions run at once', async () => {
  const namespace = await freshNamespace(client);
  await createDeployment(namespace, 'one', { replicas: 2, strategy: { type: 'Recreate' } });
  await untilRolledOut(namespace, 'one');
  const images = new Set<string>();
  const watching = new AbortController();
  const seen = (async () => {
    const running = new Map<string, string>();
    for await (const event of client.watch(client.kinds.Pod, { namespace, signal: watching.signal })) {
      if (event.type === 'BOOKMARK') continue;
      const { metadata, spec } = event.object;
      if (event.type === 'DELETED') running.delete(metadata.name);
      else running.set(metadata.name, spec.containers[0]?.image ?? '');
      if (new Set(running.values()).size > 1) images.add([...running.values()].join());
    }
  })().catch(() => {});
  await client.patch(
    client.kinds.Deployment,
    'one',
    { spec: { template: { spec: { containers: [{ ...container, image: 'registry.example/app:2' }] } } } },
    { namespace },
  );
  await untilRolledOut(namespace, 'one');
  watching.abort();
  await seen;
  assert.deepEqual([...images], []);
});

test('a Pod that is evicted or deleted is replaced at once, on another node if its own is cordoned', async () => {
  const namespace = await freshNamespace(client);
  await createDeployment(namespace, 'web', { replicas: 1 });
  await untilRolledOut(namespace, 'web');
  const [pod] = await podsIn(namespace);
  const node = pod?.spec.nodeName ?? '';
  await client.patch(client.kinds.Node, node, { spec: { unschedulable: true } });
  const evicted = await client.evict(namespace, pod?.metadata.name ?? '');
  assert.equal(evicted.outcome, 'Evicted');
  const beganMs = performance.now();
  const [next] = await untilPods(
    namespace,
    (one) => one.metadata.uid !== pod?.metadata.uid && isRunning(one),
  );
  const tookMs = performance.now() - beganMs;
  assert.ok(tookMs < 2_000, `${tookMs} ms until another one ran`);
  assert.notEqual(next?.spec.nodeName, node);
  await client.patch(client.kinds.Node, node, { spec: { unschedulable: null } });
});

test('kubectl drain moves Pods one by one as their budget allows', needs('kubectl'), async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  await createDeployment(namespace, 'web', { replicas: 4 });
  await client.create(kinds.PodDisruptionBudget, {
    metadata: { name: 'web', namespace },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  await untilRolledOut(namespace, 'web');
  const loads = new Map<string, number>();
  for (const pod of await podsIn(namespace)) {
    loads.set(pod.spec.nodeName ?? '', (loads.get(pod.spec.nodeName ?? '') ?? 0) + 1);
  }
  const [node = ''] = [...loads].find(([, load]) => load === 2) ?? [];
  await waitFor(
    kinds && client,
    kinds.PodDisruptionBudget,
    'web',
    (one) => one?.status?.disruptionsAllowed === 1,
    {
      namespace,
      timeoutMs,
    },
  );
  let least = Number.POSITIVE_INFINITY;
  const watching = new AbortController();
  const seen = (async () => {
    for await (const event of client.watch(kinds.PodDisruptionBudget, {
      namespace,
      signal: watching.signal,
    })) {
      if (event.type !== 'BOOKMARK') least = Math.min(least, event.object.status?.currentHealthy ?? 9);
    }
  })().catch(() => {});
  const { code, output } = await kubectl(
    'drain',
    node,
    '--pod-selector=app=web',
    '--timeout=20s',
    '--delete-emptydir-data',
  );
  assert.equal(code, 0, output);
  assert.equal(output.match(/^pod\/web-\w+ evicted$/gm)?.length, 2, output);
  await untilRolledOut(namespace, 'web');
  watching.abort();
  await seen;
  assert.ok(least >= 3, `only ${least} were healthy`);
  const pods = await podsIn(namespace);
  assert.equal(pods.length, 4);
  assert.ok(pods.every((pod) => pod.spec.nodeName !== node));
  await kubectl('uncordon', node);
  const budget = await kubectl('get', 'pdb', 'web', '-n', namespace);
  assert.match(budget.output, /web +N\/A +1 +1/);
});

test('a budget that allows none holds an eviction back; a ready Pod more lets it go', async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  await createDeployment(namespace, 'db', { replicas: 2 });
  await client.create(kinds.PodDisruptionBudget, {
    metadata: { name: 'db', namespace },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 'db' } } },
  });
  await untilRolledOut(namespace, 'db');
  await waitFor(client, kinds.PodDisruptionBudget, 'db', (one) => one?.status?.currentHealthy === 2, {
    namespace,
    timeoutMs,
  });
  const [pod] = await podsIn(namespace);
  const blocked = await client.evict(namespace, pod?.metadata.name ?? '');
  assert.equal(blocked.outcome, 'Blocked');
  assert.match(
    blocked.outcome === 'Blocked' ? blocked.message : '',
    /needs 2 healthy pods and has 2 currently/,
  );
  await client.patch(kinds.Deployment, 'db', { spec: { replicas: 3 } }, { namespace });
  await waitFor(client, kinds.PodDisruptionBudget, 'db', (one) => one?.status?.disruptionsAllowed === 1, {
    namespace,
    timeoutMs,
  });
  assert.equal((await client.evict(namespace, pod?.metadata.name ?? '')).outcome, 'Evicted');
});

test('Pods that were orphaned are adopted again, and no others are made', async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  await createDeployment(namespace, 'web', { replicas: 2 });
  await untilRolledOut(namespace, 'web');
  const uids = async () => (await podsIn(namespace)).map(({ metadata }) => metadata.uid).sort();
  const before = await uids();
  await client.delete(kinds.Deployment, 'web', { namespace, propagationPolicy: 'Orphan' });
  await waitForDeletion(client, kinds.Deployment, 'web', { namespace, timeoutMs });
  const orphans = await podsIn(namespace);
  assert.ok(orphans.every(({ metadata }) => (metadata.ownerReferences ?? []).length === 0));
  const again = await createDeployment(namespace, 'web', { replicas: 2 });
  await untilRolledOut(namespace, 'web');
  assert.deepEqual(await uids(), before);
  const owners = (await podsIn(namespace)).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid);
  assert.deepEqual(owners, [again.metadata.uid, again.metadata.uid]);
});

test('a Pod whose labels are changed is let go and replaced', async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  await createDeployment(namespace, 'web', { replicas: 1 });
  await untilRolledOut(namespace, 'web');
  const [pod] = await podsIn(namespace);
  const name = pod?.metadata.name ?? '';
  await client.patch(kinds.Pod, name, { metadata: { labels: { app: 'quarantine' } } }, { namespace });
  await waitFor(client, kinds.Pod, name, (one) => (one?.metadata.ownerReferences ?? []).length === 0, {
    namespace,
    timeoutMs,
  });
  await untilPods(namespace, (one) => one.metadata.name !== name && isRunning(one));
  assert.equal((await podsIn(namespace)).length, 2);
});
