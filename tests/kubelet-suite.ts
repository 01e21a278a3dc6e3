import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Container, Draft, KubeObject, Pod, PodSpec } from '../src/api/core.ts';
import type { KindRef } from '../src/api/kinds.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { isAlreadyExists } from '../src/kube/error.ts';
import { mountsBelow } from '../src/workload/mounts.ts';
import type { RunnerProbe } from '../src/workload/probe.ts';
import { Closing } from './closing.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { type KubeletNode, nodeName, podUntil, startKubeletNode } from './kubelet-node.ts';
import { needs } from './tier.ts';

/** What the kubelet does with Pods, on the embedded API with real containers. */
export function kubeletSuite(probe: (dir: string) => Promise<RunnerProbe>): void {
  const needed = needs('docker-registry', 'skopeo', 'busybox');
  if (needed.skip !== undefined) {
    test('the kubelet suite', needed, () => {});
    return;
  }
  let cluster: TestCluster;
  let node: KubeletNode;

  before(async () => {
    cluster = await startTestCluster({ nodeRules: true });
    const { client } = cluster;
    // What the controllers of a real cluster have made already, or are about to make.
    await createMissing(client, client.kinds.ServiceAccount, {
      metadata: { name: 'default', namespace: 'default' },
    });
    await createMissing(client, client.kinds.ConfigMap, {
      metadata: { name: 'kube-root-ca.crt', namespace: 'default' },
      data: { 'ca.crt': cluster.caPem },
    });
    node = await startKubeletNode(cluster, await probe(join(cluster.dir, 'containers')));
  });

  after(async () => {
    const closing = new Closing();
    closing.add('the cluster', () => cluster?.close());
    closing.add('the node', () => node?.close());
    await closing.close();
  });

  async function create(name: string, container: Partial<Container>, spec: Partial<PodSpec> = {}) {
    const { client } = cluster;
    return await client.create(client.kinds.Pod, {
      metadata: { name, namespace: 'default', labels: { app: name } },
      spec: {
        nodeName,
        restartPolicy: 'Never',
        terminationGracePeriodSeconds: 1,
        ...spec,
        containers: [{ name: 'main', image: node.image, ...container }],
      },
    });
  }

  const sh = (script: string) => ['/bin/sh', '-c', script];
  const phase = (wanted: string) => (pod: Pod | undefined) => pod?.status?.phase === wanted;
  const main = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];
  const log = async (name: string, options = {}) =>
    (await cluster.client.podLog('default', name, options)).toString();

  test('an init container, a shared volume, a token: the Pod reads the cluster and succeeds', async () => {
    const { client } = cluster;
    const { kinds } = client;
    await client.create(kinds.ServiceAccount, { metadata: { name: 'reader', namespace: 'default' } });
    await client.create(kinds.Role, {
      metadata: { name: 'reader', namespace: 'default' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    });
    await client.create(kinds.RoleBinding, {
      metadata: { name: 'reader', namespace: 'default' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }],
    });
    await client.create(kinds.ConfigMap, {
      metadata: { name: 'settings', namespace: 'default' },
      data: { mode: 'strict', text: 'from the map' },
    });
    const account = '/var/run/secrets/kubernetes.io/serviceaccount';
    await create(
      'reads',
      {
        command: sh(
          [
            'set -e',
            'cat /work/greeting',
            'echo "$MODE $POD_NAME $POD_UID $COMBINED"',
            'cat /etc/settings/text; echo',
            `cat ${account}/namespace; echo`,
            `exec curl -sS --fail --cacert ${account}/ca.crt -H "Authorization: Bearer $(cat ${account}/token)" ` +
              'https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/default/configmaps/settings',
          ].join('\n'),
        ),
        env: [
          { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } },
          { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
          { name: 'COMBINED', value: '$(MODE)-$(POD_NAME)-$(UNKNOWN)' },
        ],
        volumeMounts: [
          { name: 'work', mountPath: '/work' },
          { name: 'settings', mountPath: '/etc/settings' },
        ],
        securityContext: {
          runAsUser: 4321,
          runAsNonRoot: true,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
      },
      {
        serviceAccountName: 'reader',
        initContainers: [
          {
            name: 'prepare',
            image: node.image,
            command: sh('echo hello from init > /work/greeting'),
            volumeMounts: [{ name: 'work', mountPath: '/work' }],
          },
        ],
        volumes: [
          { name: 'work', emptyDir: {} },
          { name: 'settings', configMap: { name: 'settings' } },
        ],
      },
    );
    const pod = await podUntil(client, 'reads', (one) => /Succeeded|Failed/.test(one?.status?.phase ?? ''));
    const said = await log('reads');
    assert.equal(pod.status?.phase, 'Succeeded', said);
    const uid = pod.metadata.uid;
    assert.ok(
      said.startsWith(
        `hello from init\nstrict reads ${uid} strict-reads-$(UNKNOWN)\nfrom the map\ndefault\n`,
      ),
      said,
    );
    assert.match(said, /"kind": ?"ConfigMap"/);
    assert.equal(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
    assert.equal(main(pod)?.state?.terminated?.exitCode, 0);
    assert.equal(pod.status?.conditions?.find(({ type }) => type === 'Initialized')?.status, 'True');
    assert.equal(pod.status?.conditions?.find(({ type }) => type === 'Ready')?.reason, 'PodCompleted');
  });

  test('P-26 an exit code, last words, and the log as last words', async () => {
    await create('words', { command: sh('echo "the reason" > /dev/termination-log; exit 9') });
    await create('logged', {
      command: sh('for i in 1 2 3; do echo "line $i"; done; exit 4'),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    });
    const words = await podUntil(cluster.client, 'words', phase('Failed'));
    assert.equal(main(words)?.state?.terminated?.exitCode, 9);
    assert.equal(main(words)?.state?.terminated?.reason, 'Error');
    assert.equal(main(words)?.state?.terminated?.message, 'the reason\n');
    const logged = await podUntil(cluster.client, 'logged', phase('Failed'));
    assert.equal(main(logged)?.state?.terminated?.message, 'line 1\nline 2\nline 3\n');
    assert.equal(await log('logged', { tailLines: 1 }), 'line 3\n');
    assert.match(await log('logged', { timestamps: true, tailLines: 1 }), /^\d{4}-\S+ line 3\n$/);
  });

  test('P-16 an image that is nowhere, and one that has only a tag', async () => {
    const nowhere = node.image.replace(/[0-9a-f]{64}$/, 'f'.repeat(64));
    await create('nowhere', { image: nowhere });
    await create('tagged', { image: 'mirrored.example/test/tools:1' });
    const reason = (pod: Pod | undefined) => main(pod)?.state?.waiting?.reason;
    const failed = await podUntil(cluster.client, 'nowhere', (pod) => reason(pod) === 'ErrImagePull');
    assert.match(main(failed)?.state?.waiting?.message ?? '', /manifest unknown|not found|no manifest/i);
    await podUntil(cluster.client, 'nowhere', (pod) => reason(pod) === 'ImagePullBackOff');
    const tagged = await podUntil(cluster.client, 'tagged', (pod) => reason(pod) === 'InvalidImageName');
    assert.match(main(tagged)?.state?.waiting?.message ?? '', /by digest only/);
    for (const name of ['nowhere', 'tagged']) {
      await cluster.client.delete(cluster.client.kinds.Pod, name, { namespace: 'default' });
      await podUntil(cluster.client, name, (pod) => pod === undefined);
    }
  });

  test('P-12 what cannot be configured says why: a missing Secret, root where it must not be', async () => {
    await create('secretless', {
      env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'nowhere', key: 'x' } } }],
    });
    await create('rootless', { securityContext: { runAsNonRoot: true } });
    const waiting = (pod: Pod | undefined) => main(pod)?.state?.waiting;
    const blocked = (pod: Pod | undefined) => waiting(pod)?.reason === 'CreateContainerConfigError';
    const secretless = await podUntil(cluster.client, 'secretless', blocked);
    assert.equal(waiting(secretless)?.message, 'secret "nowhere" not found');
    const rootless = await podUntil(cluster.client, 'rootless', blocked);
    assert.match(waiting(rootless)?.message ?? '', /container has runAsNonRoot and image will run as root/);
  });

  test('what is not allowed on the node fails the Pod at once', async () => {
    await create('host', {}, { volumes: [{ name: 'etc', hostPath: { path: '/etc' } }] });
    const pod = await podUntil(cluster.client, 'host', phase('Failed'));
    assert.equal(pod.status?.reason, 'NotSupported');
    assert.match(pod.status?.message ?? '', /hostPath is not allowed/);
  });

  test('a program that is not there: StartError', async () => {
    await create('programless', { command: ['/no/such'] });
    const pod = await podUntil(cluster.client, 'programless', phase('Failed'));
    assert.equal(main(pod)?.state?.terminated?.exitCode, 128);
    assert.equal(main(pod)?.state?.terminated?.reason, 'StartError');
  });

  test('restarts: at once, then with a growing wait; the log of the start before is kept', async () => {
    await create('loops', { command: sh('echo try; exit 1') }, { restartPolicy: 'Always' });
    const pod = await podUntil(
      cluster.client,
      'loops',
      (one) => main(one)?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    assert.equal(pod.status?.phase, 'Running');
    assert.equal(main(pod)?.restartCount, 1);
    assert.equal(main(pod)?.lastState?.terminated?.exitCode, 1);
    assert.match(main(pod)?.state?.waiting?.message ?? '', /back-off 10s restarting failed container=main/);
    assert.equal(await log('loops', { previous: true }), 'try\n');
  });

  test('readiness follows its probe; a failed liveness probe restarts the container', async () => {
    await create(
      'probed',
      {
        command: sh('sleep 1; touch /tmp/ready; while :; do sleep 0.1; done'),
        readinessProbe: { exec: { command: ['/bin/ls', '/tmp/ready'] }, periodSeconds: 1 },
      },
      { restartPolicy: 'Always' },
    );
    const running = await podUntil(
      cluster.client,
      'probed',
      (pod) => main(pod)?.state?.running !== undefined,
    );
    assert.equal(main(running)?.ready, false);
    await podUntil(cluster.client, 'probed', (pod) => main(pod)?.ready === true);
    await create(
      'ill',
      {
        command: sh('while :; do sleep 0.1; done'),
        livenessProbe: { exec: { command: ['/bin/false'] }, periodSeconds: 1, failureThreshold: 2 },
      },
      { restartPolicy: 'Always' },
    );
    await podUntil(cluster.client, 'ill', (pod) => (main(pod)?.restartCount ?? 0) > 0);
  });

  test('a log is followed to its end', async () => {
    await create('talks', { command: sh('for i in 1 2 3 4 5; do echo $i; sleep 0.3; done') });
    await podUntil(cluster.client, 'talks', (pod) => main(pod)?.state?.running !== undefined);
    assert.equal(await log('talks', { follow: true }), '1\n2\n3\n4\n5\n');
  });

  test('a Pod is active no longer than its deadline', async () => {
    await create('late', { command: sh('while :; do sleep 0.1; done') }, { activeDeadlineSeconds: 1 });
    const pod = await podUntil(cluster.client, 'late', phase('Failed'));
    assert.equal(pod.status?.reason, 'DeadlineExceeded');
  });

  test('a deleted Pod ends with grace and leaves nothing', async () => {
    const { client } = cluster;
    const created = await create('leaves', {
      command: sh('trap "exit 0" TERM; while :; do sleep 0.1; done'),
    });
    await podUntil(client, 'leaves', (pod) => main(pod)?.state?.running !== undefined);
    await client.delete(client.kinds.Pod, 'leaves', { namespace: 'default' });
    await podUntil(client, 'leaves', (pod) => pod === undefined);
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const left = (await node.runner().list()).filter((one) => one.podUid === created.metadata.uid);
      if (left.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail('its containers are still there');
  });

  test('the kubelet goes and comes back: containers run on, orphans end, an exit meanwhile is seen', async () => {
    const { client } = cluster;
    const orphan = await create('orphan', { command: sh('while :; do sleep 0.1; done') });
    await create('stays', { command: sh('while :; do sleep 0.1; done') });
    await create('ends', { command: sh('sleep 1; exit 6') });
    const started = async (name: string) =>
      await podUntil(client, name, (pod) => main(pod)?.state?.running !== undefined);
    await started('orphan');
    await started('ends');
    const before = await started('stays');
    await node.stop();
    await client.delete(client.kinds.Pod, 'orphan', { namespace: 'default', gracePeriodSeconds: 0 });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await node.start();
    const ended = await podUntil(client, 'ends', phase('Failed'));
    assert.equal(main(ended)?.state?.terminated?.exitCode, 6);
    const after = await podUntil(client, 'stays', phase('Running'));
    assert.equal(main(after)?.containerID, main(before)?.containerID);
    for (let attempt = 0; ; attempt += 1) {
      const left = (await node.runner().list()).filter((one) => one.podUid === orphan.metadata.uid);
      if (left.length === 0) break;
      assert.ok(attempt < 100, 'the orphan is still there');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  test('a reboot: what is to run always starts again, what runs once has failed', async () => {
    const { client } = cluster;
    await create('always', { command: sh('while :; do sleep 0.1; done') }, { restartPolicy: 'Always' });
    await podUntil(client, 'always', (pod) => main(pod)?.state?.running !== undefined);
    await node.reboot();
    assert.deepEqual(await mountsBelow(cluster.dir), []);
    await node.start();
    const always = await podUntil(client, 'always', (pod) => (main(pod)?.restartCount ?? 0) >= 1);
    assert.equal(always.metadata.deletionTimestamp, undefined);
    const stays = await podUntil(client, 'stays', phase('Failed'));
    assert.match(String(main(stays)?.state?.terminated?.exitCode), /^(137|143)$/);
  });
}

async function createMissing<T extends KubeObject>(
  client: KubeClient,
  kind: KindRef<T>,
  object: Draft<T>,
): Promise<void> {
  await client.create(kind, object).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
