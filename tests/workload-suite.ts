import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Job, PodSpec } from '../src/api/core.ts';
import { runClusterControllers } from '../src/cluster/controllers.ts';
import { silentLogger } from '../src/observe/log.ts';
import { run } from '../src/process/run.ts';
import type { RunnerProbe } from '../src/workload/probe.ts';
import { Closing } from './closing.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { type KubeletNode, startKubeletNode } from './kubelet-node.ts';
import { needs } from './tier.ts';

/** Jobs and Deployments from the object to the container and back: API, controllers, scheduler and kubelet together. */
export function workloadSuite(probe: (dir: string) => Promise<RunnerProbe>): void {
  const needed = needs('docker-registry', 'skopeo', 'busybox');
  if (needed.skip !== undefined) {
    test('the workload suite', needed, () => {});
    return;
  }
  let cluster: TestCluster;
  let node: KubeletNode;
  const abort = new AbortController();
  let controllers: Promise<void>;

  before(async () => {
    cluster = await startTestCluster();
    const { client } = cluster;
    controllers = runClusterControllers({
      client,
      logger: silentLogger,
      signal: abort.signal,
      caPem: cluster.caPem,
    });
    node = await startKubeletNode(cluster, await probe(join(cluster.dir, 'containers')));
    await client.create(client.kinds.Namespace, { metadata: { name: 'checks' } });
  });

  after(async () => {
    const closing = new Closing();
    closing.add('the cluster', () => cluster?.close());
    closing.add('the node', () => node?.close());
    closing.add('the controllers', () => {
      abort.abort();
      return controllers;
    });
    await closing.close();
  });

  async function createJob(name: string, pod: Partial<PodSpec>, spec: Partial<Job['spec']> = {}) {
    const { client } = cluster;
    return await client.create(client.kinds.Job, {
      metadata: { name, namespace: 'checks' },
      spec: {
        backoffLimit: 0,
        ...spec,
        template: { spec: { restartPolicy: 'Never', containers: [], ...pod } },
      },
    });
  }

  async function jobUntil(name: string, type: string, seconds = 40): Promise<Job> {
    const { client } = cluster;
    let job: Job | undefined;
    for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
      job = await client.get(client.kinds.Job, name, 'checks');
      if (job.status?.conditions?.some((one) => one.type === type && one.status === 'True')) return job;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`the Job ${name} is not ${type}: ${JSON.stringify(job?.status, null, 1)}`);
  }

  async function podOf(job: string) {
    const { client } = cluster;
    const { items } = await client.list(client.kinds.Pod, {
      namespace: 'checks',
      labelSelector: `job-name=${job}`,
    });
    return items[0];
  }

  test('a check: manifests by an init container, a read-only token over verified TLS, a result in the log', async () => {
    const { client } = cluster;
    const { kinds } = client;
    await client.create(kinds.ServiceAccount, {
      metadata: { name: 'preflight-reader', namespace: 'checks' },
    });
    await client.create(kinds.ClusterRole, {
      metadata: { name: 'reads-nodes' },
      rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }],
    });
    await client.create(kinds.ClusterRoleBinding, {
      metadata: { name: 'reads-nodes' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reads-nodes' },
      subjects: [{ kind: 'ServiceAccount', name: 'preflight-reader', namespace: 'checks' }],
    });
    const account = '/var/run/secrets/kubernetes.io/serviceaccount';
    const get = (path: string) =>
      `curl -sS -o /dev/null -w '%{http_code}\\n' --cacert ${account}/ca.crt ` +
      `-H "Authorization: Bearer $(cat ${account}/token)" ` +
      `https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT${path}`;
    await createJob('check', {
      serviceAccountName: 'preflight-reader',
      initContainers: [
        {
          name: 'manifests',
          image: node.image,
          command: ['/bin/sh', '-c', 'echo manifest > /release-manifests/0000_50_x.yaml'],
          volumeMounts: [{ name: 'manifests', mountPath: '/release-manifests' }],
        },
      ],
      containers: [
        {
          name: 'check',
          image: node.image,
          command: [
            '/bin/sh',
            '-c',
            [
              'cat /release-manifests/0000_50_x.yaml',
              get('/api/v1/nodes'),
              get('/api/v1/namespaces/checks/secrets'),
            ].join('; '),
          ],
          volumeMounts: [{ name: 'manifests', mountPath: '/release-manifests', readOnly: true }],
          securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
        },
      ],
      volumes: [{ name: 'manifests', emptyDir: {} }],
    });
    const job = await jobUntil('check', 'Complete');
    assert.equal(job.status?.succeeded, 1);
    const pod = await podOf('check');
    const log = await client.podLog('checks', pod?.metadata.name ?? '', { container: 'check' });
    assert.equal(log.toString(), 'manifest\n200\n403\n');
  });

  test('P-08 a failed check ends its Job at once, with the reason', async () => {
    await createJob('fails', {
      containers: [{ name: 'check', image: node.image, command: ['/bin/sh', '-c', 'exit 3'] }],
    });
    const job = await jobUntil('fails', 'Failed');
    const failed = job.status?.conditions?.find(({ type }) => type === 'Failed');
    assert.equal(failed?.reason, 'BackoffLimitExceeded');
    const pod = await podOf('fails');
    assert.equal(pod?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
  });

  test('P-02 an image that cannot be pulled: the deadline ends the Job, and its Pod goes', async () => {
    const image = node.image.replace(/[0-9a-f]{64}$/, 'e'.repeat(64));
    await createJob('pulls', { containers: [{ name: 'check', image }] }, { activeDeadlineSeconds: 4 });
    const job = await jobUntil('pulls', 'Failed');
    assert.equal(job.status?.conditions?.find(({ type }) => type === 'Failed')?.reason, 'DeadlineExceeded');
    assert.equal(await podOf('pulls'), undefined);
  });

  test('P-26 out of memory is told as such', async () => {
    await createJob('greedy', {
      containers: [
        {
          name: 'check',
          image: node.image,
          command: ['/bin/sh', '-c', 'x=aaaaaaaa; while :; do x=$x$x; sleep 0.02; done'],
          resources: { limits: { memory: '32Mi' } },
        },
      ],
    });
    await jobUntil('greedy', 'Failed');
    const terminated = (await podOf('greedy'))?.status?.containerStatuses?.[0]?.state?.terminated;
    assert.equal(terminated?.reason, 'OOMKilled');
    assert.equal(terminated?.exitCode, 137);
  });

  test('a Deployment runs, rolls over, and kubectl sees it', needs('kubectl'), async () => {
    const { client, kubeconfig } = cluster;
    const kubectl = async (...args: string[]) => {
      const result = await run('kubectl', ['--kubeconfig', kubeconfig, '-n', 'checks', ...args], {
        timeoutMs: 60_000,
      });
      assert.equal(result.code, 0, result.stderr);
      return result.stdout;
    };
    await client.create(client.kinds.Deployment, {
      metadata: { name: 'operator', namespace: 'checks' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'operator' } },
        template: {
          metadata: { labels: { app: 'operator' } },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [
              {
                name: 'operator',
                image: node.image,
                command: ['/bin/sh', '-c', 'echo version $VERSION; while :; do sleep 0.2; done'],
                env: [{ name: 'VERSION', value: '1' }],
              },
            ],
          },
        },
      },
    });
    assert.match(await kubectl('rollout', 'status', 'deployment/operator'), /successfully rolled out/);
    await kubectl('set', 'env', 'deployment/operator', 'VERSION=2');
    assert.match(await kubectl('rollout', 'status', 'deployment/operator'), /successfully rolled out/);
    // Old Pods that are ending match as well, and are gone when kubectl asks for their logs.
    const pods = async () =>
      (await kubectl('get', 'pods', '-l', 'app=operator', '-o', 'name')).trim().split('\n');
    for (const end = Date.now() + 30_000; (await pods()).length > 2; ) {
      assert.ok(Date.now() < end, 'the old Pods do not go');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.match(await kubectl('logs', '-l', 'app=operator', '--tail=1'), /version 2/);
    await kubectl('delete', 'deployment', 'operator', '--timeout=30s');
  });

  test('a namespace goes with all that runs in it', async () => {
    const { client } = cluster;
    await client.delete(client.kinds.Namespace, 'checks');
    for (let attempt = 0; attempt < 300; attempt += 1) {
      if ((await client.tryGet(client.kinds.Namespace, 'checks')) === undefined) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.equal(await client.tryGet(client.kinds.Namespace, 'checks'), undefined);
    const running = (await node.runner().list()).filter(({ state }) => state.phase === 'running');
    assert.deepEqual(running, []);
  });
}
