import { spawnSync } from 'node:child_process';
import { createServer, connect as dial, type Server } from 'node:net';
import { join } from 'node:path';
import type { AnyObject } from '../../src/api/core.ts';
import { applyObject } from '../../src/kube/apply.ts';
import { waitFor } from '../../src/kube/wait.ts';
import { startRealTestCluster } from '../engine/cluster.ts';
import { enginePrograms } from '../engine/real.ts';
import type { TestCluster } from '../identities.ts';
import { type Containerd, startContainerd } from './containerd.ts';
import { startKubelet } from './kubelet.ts';

/** One machine of a real cluster: etcd, kube-apiserver, controller-manager, scheduler, containerd and a kubelet. */
export interface KubeletHost {
  readonly cluster: TestCluster;
  readonly containerd: Containerd;
  readonly nodeName: string;
  /** The node's address, on a bridge of its own; Pods have theirs beside it. */
  readonly address: string;
  close(): Promise<void>;
}

/** The service address of the API, as Pods know it (`--service-cluster-ip-range` of tests/engine/real.ts). */
const serviceAddress = '10.0.0.1';
const servicePort = 443;
const readyMs = 120_000;

/**
 * @param options.sandboxImage what holds a Pod's namespaces; pulled like every other image when the first Pod starts.
 */
export async function startKubeletHost(options: {
  readonly sandboxImage: string;
  /** Nothing of ours is in the cluster yet. Default false. */
  readonly empty?: boolean;
}): Promise<KubeletHost> {
  const nodeName = 'master-0';
  const cluster = await startRealTestCluster({ nodes: true, empty: options.empty === true });
  const undo: (() => Promise<unknown> | unknown)[] = [() => cluster.close()];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const { bridge, address, subnet } = freeBridge();
    ip('link', 'add', bridge, 'type', 'bridge');
    undo.push(() => ip('link', 'del', bridge));
    ip('address', 'add', `${address}/24`, 'dev', bridge);
    ip('address', 'add', `${serviceAddress}/32`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    const forward = await forwardTo(cluster.port);
    undo.push(() => forward.close());
    const containerd = await startContainerd({
      dir: join(cluster.dir, 'containerd'),
      sandboxImage: options.sandboxImage,
      bridge,
      podSubnet: subnet,
    });
    undo.push(() => containerd.close());
    const kubelet = await startKubelet({
      program: join(enginePrograms(true), 'kubelet'),
      dir: join(cluster.dir, 'kubelet'),
      cluster,
      name: nodeName,
      address,
      port: 10250,
      containerdSocket: containerd.socket,
    });
    undo.push(() => kubelet.close());
    await applyObject(cluster.client, kubeletApiBinding);
    await waitFor(
      cluster.client,
      cluster.client.kinds.Node,
      nodeName,
      (node) =>
        node?.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false,
      { timeoutMs: readyMs, describe: (node) => JSON.stringify(node) },
    );
    return { cluster, containerd, nodeName, address, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** kube-apiserver asks the kubelet for logs under its own name. */
const kubeletApiBinding: AnyObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'test-kubelet-api' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'kube-apiserver' }],
};

/** A bridge and a network that nobody on this host has. */
function freeBridge(): { bridge: string; address: string; subnet: string } {
  const taken = spawnSync('ip', ['-oneline', 'address'], { encoding: 'utf8' }).stdout;
  for (let number = 77; number < 128; number += 1) {
    if (taken.includes(` 10.244.${number}.`)) continue;
    return { bridge: `slc${number}`, address: `10.244.${number}.1`, subnet: `10.244.${number}.0/24` };
  }
  throw new Error('no free network for the test bridge');
}

function ip(...args: string[]): void {
  const done = spawnSync('ip', args, { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`ip ${args.join(' ')}: ${done.stderr}`);
}

/** What kube-proxy would do for the one service that these Pods use. */
async function forwardTo(port: number): Promise<Server> {
  const server = createServer((socket) => {
    const api = dial({ host: '127.0.0.1', port });
    socket.pipe(api).pipe(socket);
    socket.on('error', () => api.destroy());
    api.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: serviceAddress, port: servicePort }, resolve);
  });
  return server;
}
