import { join } from 'node:path';
import type { Pod } from '../src/api/core.ts';
import { applyObject } from '../src/kube/apply.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { createLogger, silentLogger } from '../src/observe/log.ts';
import type { Digest } from '../src/oci/digest.ts';
import { issue } from '../src/trust/authority.ts';
import { createKubelet, type Kubelet } from '../src/workload/kubelet.ts';
import { openRunner, type RunnerProbe } from '../src/workload/probe.ts';
import type { Runner } from '../src/workload/runner.ts';
import { Closing } from './closing.ts';
import type { TestCluster } from './cluster.ts';
import { busyboxFiles, curlFiles, type ImageRegistry, startImageRegistry } from './image-registry.ts';
import { shippedManifests } from './shipped.ts';

/** A node of a test cluster whose kubelet really runs containers, and a registry with images for it. */
export interface KubeletNode {
  readonly registry: ImageRegistry;
  /** `mirrored.example/test/…@sha256:…` of an image with busybox and curl. */
  readonly image: string;
  readonly runner: () => Runner;
  start(): Promise<void>;
  /** Ends the kubelet; its containers go on. */
  stop(): Promise<void>;
  /** Ends the kubelet and every container, as a reboot does. */
  reboot(): Promise<void>;
  close(): Promise<void>;
}

export const nodeName = 'node-0';

/** An entry of an ImageDigestMirrorSet: the images of a source come from one place alone. */
export function mirror(source: string, target: string) {
  return { source, mirrors: [target], mirrorSourcePolicy: 'NeverContactSource' as const };
}

export async function startKubeletNode(cluster: TestCluster, probe: RunnerProbe): Promise<KubeletNode> {
  const closing = new Closing();
  return await closing.unless(async () => {
    const registry = await startImageRegistry(join(cluster.dir, 'registry'));
    closing.add('the registry', () => registry.close());
    return await startWith(registry, cluster, probe, closing);
  });
}

async function startWith(
  registry: ImageRegistry,
  cluster: TestCluster,
  probe: RunnerProbe,
  closing: Closing,
): Promise<KubeletNode> {
  const files = [...busyboxFiles(), ...(await curlFiles())];
  const digest: Digest = await registry.push('mirror/tools', files, {
    env: ['PATH=/bin:/usr/bin'],
    cmd: ['/bin/true'],
  });
  const { kinds } = cluster.client;
  await cluster.client.create(kinds.ImageDigestMirrorSet, {
    metadata: { name: 'test' },
    spec: {
      imageDigestMirrors: [mirror('mirrored.example/test', `${registry.host}/mirror`)],
    },
  });
  await shipRights(cluster.client);
  await cluster.client.create(kinds.Node, { metadata: { name: nodeName } });
  const client = await cluster.clientAs(`system:node:${nodeName}`, ['system:nodes']);
  const pair = await issue(cluster.authority, {
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    ipAddresses: ['127.0.0.1'],
    usage: 'both',
  });
  let runner: Runner | undefined;
  let kubelet: Kubelet | undefined;
  let abort = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function start(): Promise<void> {
    abort = new AbortController();
    runner = await openRunner(join(cluster.dir, 'containers'), probe);
    kubelet = await createKubelet({
      client,
      nodeName,
      address: '127.0.0.1',
      dir: join(cluster.dir, 'containers', 'pods'),
      runner,
      tls: { cert: pair.certPem, key: pair.keyPem },
      clientCa: cluster.caPem,
      apiServer: { host: '127.0.0.1', port: cluster.port },
      registryPort: Number(registry.host.split(':')[1]),
      registryTrust: () => ({ caPem: registry.caPem, auth: registry.auth }),
      logger: process.env.SLUICE_LOG === undefined ? silentLogger : createLogger('kubelet'),
      signal: abort.signal,
    });
    running = kubelet.run();
    await cluster.client.patch(
      kinds.Node,
      nodeName,
      {
        status: {
          addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
          daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
          conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
        },
      },
      { subresource: 'status' },
    );
  }

  async function stop(): Promise<void> {
    abort.abort();
    await running;
    await kubelet?.close();
    kubelet = undefined;
  }

  closing.add('the runner', () => runner?.close());
  closing.add('the containers', async () => {
    for (const { id } of (await runner?.list()) ?? []) await runner?.remove(id);
    await runner?.endAll(0);
  });
  closing.add('the kubelet', stop);
  await start();
  return {
    registry,
    image: `mirrored.example/test/tools@${digest}`,
    runner: () => runner as Runner,
    start,
    stop,
    async reboot() {
      abort.abort();
      await running;
      await kubelet?.end(200);
      await kubelet?.close();
      kubelet = undefined;
    },
    close: () => closing.close(),
  };
}

/** What the product itself gives to nodes. */
async function shipRights(client: KubeClient): Promise<void> {
  for (const object of await shippedManifests(['00-namespaces.yaml', '30-nodes.yaml', '35-kubelets.yaml'])) {
    await applyObject(client, object);
  }
}

/** Waits until a Pod is as wanted; undefined stands for a Pod that is gone. */
export async function podUntil(
  client: KubeClient,
  name: string,
  holds: (pod: Pod | undefined) => boolean,
  seconds = 30,
): Promise<Pod> {
  let pod: Pod | undefined;
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    pod = await client.tryGet(client.kinds.Pod, name, 'default');
    if (holds(pod)) return pod as Pod;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the Pod ${name} is not as wanted: ${JSON.stringify(pod?.status ?? null, null, 1)}`);
}
