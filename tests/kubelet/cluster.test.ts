import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/api/core.ts';
import { names } from '../../src/api/names.ts';
import type { UpdatePreflight } from '../../src/api/resources.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { serve } from '../../src/http/server.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { waitFor, waitForDeletion } from '../../src/kube/wait.ts';
import { lockIdOf } from '../../src/lock/identity.ts';
import { createLockServer } from '../../src/lock/server.ts';
import { keepContainerdHosts } from '../../src/node/containerd.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { runPreflightController } from '../../src/preflight/controller.ts';
import { runOrThrow } from '../../src/process/run.ts';
import { mirrorEntries } from '../../src/release/mirrors.ts';
import { issue } from '../../src/trust/authority.ts';
import { testRepository } from '../bundles.ts';
import { buildBase, checkImage } from '../check-image.ts';
import { checkManifest } from '../check-output.ts';
import { type ControlPlane, startControlPlane } from '../control-plane.ts';
import { busyboxFiles } from '../image-registry.ts';
import { needs, repository } from '../tier.ts';
import { ended } from './containerd.ts';
import { type KubeletHost, startKubeletHost } from './host.ts';

const { clusterVersionNamespace, preflightNamespace, registryPort } = names('standalone');
const apiInt = 'api-int.sluice.internal';

/** Answers in the contract of a check, and proves that it can read the cluster and nothing secret. */
const checkScript = `#!/bin/sh
set -u
account=/var/run/secrets/kubernetes.io/serviceaccount
test -s $account/token || exit 1
test -s /release-manifests/release-metadata || exit 1
document="{\\"runID\\":\\"$SLUICE_RUN_ID\\",\\"check\\":\\"$SLUICE_CHECK\\",\\"targetDigest\\":\\"$SLUICE_TARGET_DIGEST\\",\\"message\\":\\"uid $(id -u)\\",\\"risks\\":[]}"
printf 'SLUICE-RESULT v1 %s %s\\n%s\\n' "$(printf %s "$document" | wc -c)" "$(printf %s "$document" | sha256sum | cut -d' ' -f1)" "$document"
`;

/** Holds a Pod's namespaces, and ends when it is told to. */
const pauseCommand = ['/bin/sh', '-c', "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait; done"];

describe('a real kubelet with containerd', needs('kubelet'), () => {
  let plane: ControlPlane;
  let host: KubeletHost;
  let client: KubeClient;
  let registry: ChildProcess;
  let running: Promise<unknown>;
  const stop = new AbortController();
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-kubelet-'));
  const file = (name: string) => join(scratch, name);

  before(async () => {
    const tools = busyboxFiles('wc', 'sha256sum', 'cut', 'cp');
    const base = await buildBase(scratch, tools);
    const check = checkImage(tools, checkScript);
    plane = await startControlPlane(
      [
        { version: '1.0.0' },
        {
          version: '1.1.0',
          previous: ['1.0.0'],
          base,
          images: {
            check,
            pod: { files: tools, config: { ...check.config, entrypoint: pauseCommand } },
          },
          manifests: { demo: { 'check.yaml': checkManifest('demo-check', { image: 'check' }) } },
        },
      ],
      {
        nodes: [],
        startCluster: async (releases) => {
          const images = releases.get('1.1.0')?.document.images ?? [];
          const pod = images.find(({ name }) => name === 'pod');
          host = await startKubeletHost({ sandboxImage: `${pod?.source}@${pod?.digest}` });
          return host.cluster;
        },
      },
    );
    client = plane.client;
    registry = await startRegistry();
    const images = plane.releases.get('1.1.0')?.document.images ?? [];
    const entries = mirrorEntries({ images, addresses: [host.address], registryPort, apiInt });
    await client.create(client.kinds.ImageDigestMirrorSet, {
      metadata: { name: 'releases' },
      spec: {
        imageDigestMirrors: entries.map(({ source, mirrors }) => ({
          source,
          mirrors: [...mirrors],
          mirrorSourcePolicy: 'NeverContactSource' as const,
        })),
      },
    });
    await client.patch(client.kinds.Node, host.nodeName, {
      metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
    });
    await client.create(client.kinds.NodeUpdate, { metadata: { name: host.nodeName }, spec: {} });
    await plane.mount('1.1.0', host.nodeName);
    await plane.runs('1.0.0');
    running = Promise.all([
      keepContainerdHosts({
        client,
        directory: host.containerd.certsDir,
        registryPort,
        ownHost: `${host.address}:${registryPort}`,
        files: { ca: file('ca.crt'), cert: file('node.crt'), key: file('node.key') },
        clock: systemClock,
        logger: silentLogger,
        signal: stop.signal,
      }),
      runPreflightController(plane.options(stop.signal)),
    ]);
  });

  after(async () => {
    stop.abort();
    await running;
    if (registry !== undefined) await ended(registry);
    await host?.close();
    await plane?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** The shipped registry on the node's address, with a store that was filled before the cluster was up. */
  async function startRegistry(): Promise<ChildProcess> {
    const release = plane.releases.get('1.1.0');
    await runOrThrow(join(repository, 'sluice'), [
      ...['release', 'preload', release?.path ?? '', '--root', file('store'), '--key', plane.keyFile],
    ]);
    const pair = await issue(host.cluster.authority, {
      commonName: `system:node:${host.nodeName}`,
      organizations: ['system:nodes'],
      dnsNames: [apiInt],
      ipAddresses: [host.address],
      usage: 'both',
    });
    writeFileSync(file('ca.crt'), host.cluster.caPem);
    writeFileSync(file('node.crt'), pair.certPem);
    writeFileSync(file('node.key'), pair.keyPem, { mode: 0o600 });
    mkdirSync(file('keys'));
    const child = spawn(
      join(repository, 'sluice'),
      [
        ...['registry', 'serve', '--store', file('store'), '--listen', `${host.address}:${registryPort}`],
        ...['--tls-cert', file('node.crt'), '--tls-key', file('node.key'), '--client-ca', file('ca.crt')],
        ...['--trusted-keys', file('keys')],
      ],
      { stdio: 'ignore' },
    );
    const http = createHttpClient({ ca: host.cluster.caPem, cert: pair.certPem, key: pair.keyPem });
    try {
      for (let tries = 0; ; tries += 1) {
        const status = await ask(http, '/v2/').catch(() => 0);
        if (status === 200) return child;
        assert.ok(tries < 100, 'the registry does not answer');
        await systemClock.sleep(200);
      }
    } finally {
      await http.close();
    }
  }

  async function ask(http: ReturnType<typeof createHttpClient>, path: string): Promise<number> {
    const answer = await http.request({ url: `https://${host.address}:${registryPort}${path}` });
    await answer.discard();
    return answer.status;
  }

  const imageOf = (name: string) => {
    const image = plane.releases.get('1.1.0')?.document.images.find((each) => each.name === name);
    assert.ok(image !== undefined);
    return `${image.source}@${image.digest}`;
  };

  const phaseIs = (phase: string) => (pod: Pod | undefined) => pod?.status?.phase === phase;

  test('an image of the release is pulled by its digest from the own registry, shown the certificate of the node', async () => {
    const stranger = createHttpClient({ ca: host.cluster.caPem });
    assert.equal(await ask(stranger, '/v2/'), 401);
    await stranger.close();
    const hosts = join(host.containerd.certsDir, 'images.test.example', 'hosts.toml');
    await until('the mirrors are written', async () => existsSync(hosts));
    await client.create(client.kinds.Pod, {
      metadata: { name: 'hello', namespace: 'default' },
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'hello', image: imageOf('check'), command: ['/bin/echo', 'from the release'] }],
      },
    });
    await waitFor(client, client.kinds.Pod, 'hello', phaseIs('Succeeded'), {
      namespace: 'default',
      timeoutMs: 120_000,
      describe: (pod) => JSON.stringify((pod as Pod | undefined)?.status),
    });
    const log = await client.podLog('default', 'hello');
    assert.equal(Buffer.from(log).toString(), 'from the release\n');
    assert.ok(
      host.containerd.images().some((name) => name === imageOf('pod')),
      'the sandbox image came from it too',
    );
  });

  test('what no mirror holds is not pulled, and nobody else is asked', async () => {
    const image = `${testRepository}/check@sha256:${'0'.repeat(64)}`;
    await client.create(client.kinds.Pod, {
      metadata: { name: 'missing', namespace: 'default' },
      spec: { restartPolicy: 'Never', containers: [{ name: 'missing', image }] },
    });
    const reasonOf = (pod: Pod | undefined) =>
      pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? '';
    await waitFor(
      client,
      client.kinds.Pod,
      'missing',
      (pod) => ['ErrImagePull', 'ImagePullBackOff'].includes(reasonOf(pod)),
      { namespace: 'default', timeoutMs: 60_000, describe: (pod) => JSON.stringify((pod as Pod)?.status) },
    );
    await client.delete(client.kinds.Pod, 'missing', { namespace: 'default' });
  });

  test('the checks of the target run as Jobs on it, and the update may go', async () => {
    const kind = client.kinds.UpdatePreflight;
    await client.create(kind, {
      metadata: { name: 'look', namespace: clusterVersionNamespace },
      spec: { version: '1.1.0' },
    });
    const report = await waitFor(client, kind, 'look', (object) => object?.status?.finishedAt !== undefined, {
      namespace: clusterVersionNamespace,
      timeoutMs: 180_000,
      describe: (object) => JSON.stringify((object as UpdatePreflight | undefined)?.status),
    });
    const rows = report?.status?.checks ?? [];
    assert.equal(report?.status?.verdict, 'Passed', JSON.stringify(rows));
    assert.deepEqual(
      rows.filter((row) => row.component === 'demo').map((row) => [row.name, row.result, row.message]),
      [['DemoCheck', 'Passed', 'uid 65532']],
    );
    await client.delete(kind, 'look', { namespace: clusterVersionNamespace });
    await waitForDeletion(client, kind, 'look', { namespace: clusterVersionNamespace, timeoutMs: 30_000 });
    const { items } = await client.list(client.kinds.Job, { namespace: preflightNamespace });
    // Those whose deletion waits for the garbage collector are on their way.
    const left = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      [],
    );
  });

  test('a drain respects a PodDisruptionBudget, and the slot is granted when the Pods are gone', async (t) => {
    const { kinds } = client;
    const labels = { app: 'guarded' };
    await client.create(kinds.Deployment, {
      metadata: { name: 'guarded', namespace: 'default' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [{ name: 'app', image: imageOf('pod') }],
          },
        },
      },
    });
    const podOf = async () =>
      (await client.list(kinds.Pod, { namespace: 'default', labelSelector: 'app=guarded' })).items;
    await until('the Pod runs', async () => (await podOf()).some(phaseIs('Running')));
    const budget = {
      metadata: { name: 'guarded', namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    };
    await client.create(kinds.PodDisruptionBudget, budget);
    const end = new AbortController();
    const beat = keepOtherNodeReady(client, end.signal);
    await client.create(kinds.FleetLockGroup, { metadata: { name: 'workers' }, spec: { slots: 1 } });
    const locks = createLockServer({
      client,
      metrics: createMetrics(),
      clock: systemClock,
      logger: silentLogger,
      signal: end.signal,
    });
    const server = await serve({ address: '127.0.0.1', port: 0, handler: locks.handler });
    const draining = locks.run(end.signal);
    const http = createHttpClient();
    t.after(async () => {
      end.abort();
      await Promise.all([draining, beat]);
      await http.close();
      await server.close(0);
    });
    const node = await client.get(kinds.Node, host.nodeName);
    const id = lockIdOf(node.status?.nodeInfo?.machineID ?? '');
    const preReboot = async () => {
      const answer = await http.request({
        method: 'POST',
        url: `http://127.0.0.1:${server.port}/v1/pre-reboot`,
        headers: { 'fleet-lock-protocol': 'true', 'content-type': 'application/json' },
        body: JSON.stringify({ client_params: { group: 'workers', id } }),
      });
      await answer.discard();
      return answer.status;
    };
    assert.equal(await preReboot(), 423);
    await until('the node is cordoned', async () => {
      return (await client.get(kinds.Node, host.nodeName)).spec?.unschedulable === true;
    });
    await systemClock.sleep(6_000);
    assert.ok(
      (await podOf()).some((pod) => phaseIs('Running')(pod) && pod.metadata.deletionTimestamp === undefined),
    );
    assert.equal(await preReboot(), 423, 'the budget allows no eviction');
    await client.delete(kinds.PodDisruptionBudget, 'guarded', { namespace: 'default' });
    await until('the slot is granted', async () => (await preReboot()) === 200);
    const runs = (pod: Pod) => phaseIs('Running')(pod) && pod.spec?.nodeName === host.nodeName;
    assert.deepEqual((await podOf()).filter(runs), [], 'its Pods have ended');
  });
});

/** A node without a kubelet whose lease somebody renews: without another place to go nothing would be drained. */
async function keepOtherNodeReady(client: KubeClient, signal: AbortSignal): Promise<void> {
  const { kinds } = client;
  const name = 'worker-9';
  await client.create(kinds.Node, {
    metadata: { name },
    spec: { taints: [{ key: 'sluice.test/no-kubelet', effect: 'NoSchedule' }] },
  });
  while (!signal.aborted) {
    const now = new Date().toISOString().replace(/\.\d+/, '');
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Test',
      message: '',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };
    await client.patch(
      kinds.Node,
      name,
      { status: { conditions: [ready] } },
      { subresource: 'status', type: 'merge' },
    );
    await systemClock.sleep(5_000, signal);
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await holds()); await systemClock.sleep(500)) {
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
  }
}
