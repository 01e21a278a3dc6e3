import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, connect as dial, type Server } from 'node:net';
import { join } from 'node:path';
import type { AnyObject } from '../../src/api/core.ts';
import { labels, names } from '../../src/api/names.ts';
import { installObjects } from '../../src/install/install.ts';
import { shippedObjects } from '../../src/install/manifests.ts';
import { applyObject } from '../../src/kube/apply.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { connect } from '../../src/kube/platform.ts';
import { waitFor } from '../../src/kube/wait.ts';
import { type KubeletFacts, renewLease, writeStatus } from '../../src/node/node-object.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { selfCommand } from '../../src/program/self.ts';
import { credentialsIn } from '../../src/release/credentials.ts';
import { issue } from '../../src/trust/authority.ts';
import { configureNode } from '../../src/up/install.ts';
import type { NodePlan } from '../../src/up/layout.ts';
import { freePort } from '../../src/up/network.ts';
import { createSupervisor } from '../../src/up/supervise.ts';
import { createKubelet, type Kubelet } from '../../src/workload/kubelet.ts';
import { openRunner, probeRunner } from '../../src/workload/probe.ts';
import { type TestNetwork, takeNetwork } from '../network.ts';
import { type RealCluster, startRealCluster } from './real.ts';

const where = names('kubernetes');

/** A plain Kubernetes with Sluice on it as it is shipped: real API, real processes, their own ServiceAccounts. */
export interface KubernetesCluster {
  readonly real: RealCluster;
  /** As admin. */
  readonly client: KubeClient;
  /** `kubeconfig` and `nodes/<name>`, as `sluice up` has them, so that commands find the nodes. */
  readonly dir: string;
  readonly kubeconfig: string;
  readonly nodes: readonly NodePlan[];
  /** Ends the controllers for good, as they are told to. */
  endControllers(): Promise<void>;
  /** A kubeconfig by a new token of a ServiceAccount of sluice-system. */
  tokenConfig(name: string, serviceAccount: string): Promise<string>;
  /** Process ids by the name of a child: `controller-0`, `master-0`, `registry-master-0`. */
  pids(): Record<string, number>;
  close(): Promise<void>;
}

export interface KubernetesOptions {
  /** Of the control plane; default 3. */
  readonly nodes?: number;
  /** Besides them; default 0. */
  readonly workers?: number;
  readonly controllers?: number;
  /** File name → SPKI PEM. */
  readonly trustedKeys: Readonly<Record<string, string>>;
  /** Whether Pods run, in the sandbox (needs root). Default true. */
  readonly pods?: boolean;
  readonly audit?: boolean;
  /** See `RealClusterOptions`. */
  readonly silentNodes?: boolean;
}

export async function startKubernetes(options: KubernetesOptions): Promise<KubernetesCluster> {
  const real = await startRealCluster({
    nodes: options.pods !== false,
    nodeRules: true,
    audit: options.audit === true,
    silentNodes: options.silentNodes === true,
  });
  const client = await connect(loadKubeconfig(real.kubeconfig), { installs: true });
  const closing: (() => Promise<unknown>)[] = [() => real.close(), () => client.close()];
  const close = async () => {
    for (const each of closing.reverse()) await each();
  };
  try {
    await installObjects(client, shippedObjects({ platform: 'kubernetes' }));
    await standAlone(client);
    await applyObject(client, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: where.trustedKeys, namespace: where.configNamespace },
      data: { ...options.trustedKeys },
    } as AnyObject);
    const [supervisor, controllers] = [supervise(), supervise()];
    closing.push(
      () => supervisor.stop(),
      () => controllers.stop(),
    );
    const lockPorts: number[] = [];
    const log = (name: string) => join(real.dir, `${name}.log`);
    for (let index = 0; index < (options.controllers ?? 2); index += 1) {
      const name = `controller-${index}`;
      const kubeconfig = await writeTokenConfig(real, client, name, 'sluice-controller');
      const port = await freePort();
      lockPorts.push(port);
      controllers.start({
        name,
        args: () => [
          ...[
            'controller',
            '--kubeconfig',
            kubeconfig,
            '--identity',
            `${name}-${randomBytes(3).toString('hex')}`,
          ],
          ...['--lock-listen', `127.0.0.1:${port}`],
        ],
        logFile: log(name),
      });
    }
    const service = await playService(lockPorts);
    closing.push(() => new Promise((resolve) => service.close(resolve)));
    const { port } = service.address() as { port: number };
    const lock = { url: `http://127.0.0.1:${port}/`, secretFile: await writeLockSecret(real.dir, client) };
    const network = await takeNetwork(where.registryPort);
    closing.push(network.release);
    const nodes = planNodes(network, real.dir, options.nodes ?? 3, options.workers);
    for (const node of nodes) {
      const boot = { id: randomUUID() };
      await configureNode(node, lock);
      const kubelet = await playKubelet(real, client, node, boot, options.pods !== false);
      closing.push(kubelet.close);
      const worker = isWorker(node);
      const files = await writeNodeFiles(client, node);
      const account = worker ? 'sluice-worker' : 'sluice-node';
      const kubeconfig = await writeTokenConfig(real, client, node.name, account, node.name);
      if (!worker) {
        supervisor.start({
          name: `registry-${node.name}`,
          args: () => registryWords(node, files),
          logFile: log(`registry-${node.name}`),
        });
      }
      supervisor.start({
        name: node.name,
        args: () => [
          ...['node', 'run', '--name', node.name, '--dir', node.dir, '--address', node.address],
          ...['--kubeconfig', kubeconfig, '--ca', files.ca, '--cert', files.cert, '--key', files.key],
          ...['--config-dir', node.config, '--workload', 'none', ...(worker ? ['--worker'] : [])],
          ...['--containerd-hosts', containerdHostsOf(node)],
          ...['--os-driver', 'simulated', '--boot-id', boot.id],
        ],
        logFile: log(node.name),
        onReboot: () => {
          boot.id = randomUUID();
          void kubelet.rebooted();
        },
      });
    }
    return {
      real,
      client,
      dir: real.dir,
      kubeconfig: real.kubeconfig,
      nodes,
      endControllers: () => controllers.stop(),
      tokenConfig: (name, serviceAccount) => writeTokenConfig(real, client, name, serviceAccount),
      pids: () => ({ ...supervisor.pids(), ...controllers.pids() }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function supervise() {
  return createSupervisor({ program: selfCommand(), clock: systemClock, logger: silentLogger });
}

/** What the cluster would run as Pods of an image is run here as processes of this checkout. */
async function standAlone(client: KubeClient): Promise<void> {
  const namespace = where.clusterVersionNamespace;
  await client.patch(client.kinds.Deployment, 'sluice-controller', { spec: { replicas: 0 } }, { namespace });
  // A played kubelet reads the mirrors from the API; a real one's runtime has them in files (hosts.toml).
  const rules = [
    { apiGroups: ['sluice.dev'], resources: ['imagedigestmirrorsets'], verbs: ['get', 'list', 'watch'] },
  ];
  const name = 'played-kubelets';
  const apiGroup = 'rbac.authorization.k8s.io';
  await applyObject(client, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  } as AnyObject);
  await applyObject(client, {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'Group', name: 'system:nodes' }],
  } as AnyObject);
}

/** @param network in which the registries' real port is free. */
export function planNodes(network: TestNetwork, dir: string, count: number, workers = 0): NodePlan[] {
  return Array.from({ length: count + workers }, (_, index) => {
    const name = index < count ? `master-${index}` : `worker-${index - count}`;
    const base = join(dir, 'nodes', name);
    return {
      name,
      address: `${network.prefix}.${11 + index}`,
      dir: base,
      run: join(base, 'run'),
      store: join(base, 'store'),
      marker: join(base, 'marker'),
      os: join(base, 'os'),
      config: join(base, 'config.d'),
      containers: join(base, 'containers'),
    };
  });
}

const isWorker = ({ name }: NodePlan) => name.startsWith('worker-');

/** Where the agent of a node writes containerd's hosts. */
export const containerdHostsOf = (node: NodePlan) => join(node.dir, 'certs.d');

/** A kubeconfig by a token of a ServiceAccount; with `node`, one that the API server gives to that node. */
export async function writeTokenConfig(
  real: RealCluster,
  client: KubeClient,
  name: string,
  serviceAccount: string,
  node?: string,
  namespace: string = where.machineConfigNamespace,
): Promise<string> {
  const uid = node === undefined ? undefined : (await client.get(client.kinds.Node, node)).metadata.uid;
  const bound =
    node === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: node, uid } };
  const answer = (await client.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [], expirationSeconds: 7200, ...bound },
    },
  })) as { status: { token: string } };
  const path = join(real.dir, `${name}.kubeconfig`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [
      {
        name: 'x',
        cluster: {
          server: real.url,
          'certificate-authority-data': Buffer.from(real.authority.certPem).toString('base64'),
        },
      },
    ],
    users: [{ name: 'x', user: { token: answer.status.token } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** The Service before the controllers' locks: whichever of them answers. */
async function playService(ports: readonly number[]): Promise<Server> {
  const server = createServer((socket) => {
    const attempt = ([port, ...others]: readonly number[]) => {
      if (port === undefined) return socket.destroy();
      const upstream = dial(port, '127.0.0.1');
      let isOpen = false;
      upstream.on('connect', () => {
        isOpen = true;
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on('error', () => (isOpen ? socket.destroy() : attempt(others)));
      socket.on('close', () => upstream.destroy());
    };
    socket.on('error', () => {});
    attempt(ports);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

interface NodeFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** What the installer puts on a host: the certificates that the controller has made. */
async function writeNodeFiles(client: KubeClient, node: NodePlan): Promise<NodeFiles> {
  const { registryTlsSecret, registryClientSecret, registryCa, machineConfigNamespace: namespace } = where;
  const worker = isWorker(node);
  const { kinds } = client;
  const { X509Certificate } = await import('node:crypto');
  const decoded = (text = '') => Buffer.from(text, 'base64').toString('utf8');
  const secret = await waitFor(
    client,
    kinds.Secret,
    worker ? registryClientSecret : registryTlsSecret,
    (object) => {
      const pem = decoded(object?.data?.['tls.crt']);
      if (worker) return pem !== '';
      return pem !== '' && new X509Certificate(pem).checkIP(node.address) !== undefined;
    },
    { namespace, timeoutMs: 30_000, what: `a certificate for ${node.address}` },
  );
  const ca = (await client.get(kinds.ConfigMap, registryCa, namespace)).data?.['ca-bundle.crt'] ?? '';
  const at = (name: string) => join(node.dir, name);
  writeFileSync(at('ca.crt'), ca);
  writeFileSync(at('tls.crt'), decoded(secret?.data?.['tls.crt']));
  writeFileSync(at('tls.key'), decoded(secret?.data?.['tls.key']), { mode: 0o600 });
  return { ca: at('ca.crt'), cert: at('tls.crt'), key: at('tls.key') };
}

export function registryWords(node: NodePlan, files: NodeFiles): string[] {
  return [
    ...['registry', 'serve', '--store', node.store, '--trees', join(node.run, 'trees.json')],
    ...['--listen', `${node.address}:${where.registryPort}`, '--htpasswd', join(node.run, 'htpasswd')],
    ...['--tls-cert', files.cert, '--tls-key', files.key, '--client-ca', files.ca],
    ...['--peer-cert', files.cert, '--peer-key', files.key, '--peer-ca', files.ca],
    ...['--trusted-keys', join(node.run, 'trusted-keys')],
  ];
}

/** The node's kubelet: registers it, keeps it alive, and runs its Pods where they are wanted. */
async function playKubelet(
  real: RealCluster,
  client: KubeClient,
  node: NodePlan,
  boot: { readonly id: string },
  runsPods: boolean,
): Promise<{ rebooted(): Promise<void>; close(): Promise<void> }> {
  const { name, address } = node;
  await client.create(client.kinds.Node, {
    metadata: {
      name,
      labels: {
        [isWorker(node) ? labels.worker : labels.controlPlane]: '',
        [labels.hostname]: name,
        'kubernetes.io/os': 'linux',
      },
    },
  });
  const pair = await issue(real.authority, {
    commonName: `system:node:${name}`,
    organizations: ['system:nodes'],
    ipAddresses: [address],
    usage: 'both',
  });
  const own = createKubeClient({
    server: real.url,
    tls: { ca: real.authority.certPem, cert: pair.certPem, key: pair.keyPem },
    platform: 'kubernetes',
  });
  const stop = new AbortController();
  const kubelet = runsPods ? await startKubelet(real, client, own, node, pair, stop.signal) : undefined;
  const machineID = randomBytes(16).toString('hex');
  mkdirSync(node.dir, { recursive: true });
  writeFileSync(join(node.dir, 'machine-id'), `${machineID}\n`);
  const facts = (): KubeletFacts => ({
    port: kubelet?.port,
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    nodeInfo: {
      machineID,
      systemUUID: machineID,
      bootID: boot.id,
      kernelVersion: '6.1',
      osImage: 'played',
      containerRuntimeVersion: 'sandbox://1',
      kubeletVersion: 'v1.34.4',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    },
  });
  const scope = {
    client: own,
    nodeName: name,
    address,
    controlPlane: !isWorker(node),
    clock: systemClock,
  };
  const say = () => writeStatus({ ...scope, kubelet: facts() });
  await renewLease({ ...scope, kubelet: facts() });
  await say();
  const beating = (async () => {
    while (!stop.signal.aborted) {
      await systemClock.sleep(5_000, stop.signal);
      await renewLease({ ...scope, kubelet: facts() }).catch(() => {});
    }
  })();
  const running = kubelet?.kubelet.run();
  return {
    rebooted: () => say().catch(() => {}),
    async close() {
      stop.abort();
      await Promise.all([beating, running]);
      await kubelet?.end();
      await own.close();
    },
  };
}

/** As the installer brings it to a host: what the controllers made, for the agents of the nodes. */
async function writeLockSecret(dir: string, client: KubeClient): Promise<string> {
  const { lockSecret: name, clusterVersionNamespace: namespace } = where;
  const made = await waitFor(client, client.kinds.Secret, name, (secret) => secret !== undefined, {
    namespace,
    timeoutMs: 60_000,
    what: 'the secret of the lock',
  });
  const file = join(dir, 'lock-secret');
  writeFileSync(file, Buffer.from(made?.data?.secret ?? '', 'base64'), { mode: 0o600 });
  return file;
}

async function startKubelet(
  real: RealCluster,
  admin: KubeClient,
  own: KubeClient,
  node: NodePlan,
  pair: { certPem: string; keyPem: string },
  signal: AbortSignal,
): Promise<{ kubelet: Kubelet; port: number; end(): Promise<void> }> {
  const { registrySecret, registryUser, registryPort, registryCa, machineConfigNamespace: namespace } = where;
  const runner = await openRunner(node.containers, await probeRunner(node.containers, 'sandbox'));
  const trust = { caPem: '', password: '' };
  const learn = async () => {
    const secret = await admin.tryGet(admin.kinds.Secret, registrySecret, namespace);
    const ca = await admin.tryGet(admin.kinds.ConfigMap, registryCa, namespace);
    trust.password = (secret === undefined ? undefined : credentialsIn(secret).password) ?? trust.password;
    trust.caPem = ca?.data?.['ca-bundle.crt'] ?? trust.caPem;
  };
  const learning = (async () => {
    while (!signal.aborted) {
      await learn().catch(() => {});
      await systemClock.sleep(500, signal);
    }
  })();
  const kubelet = await createKubelet({
    client: own,
    nodeName: node.name,
    address: node.address,
    dir: join(node.containers, 'kubelet'),
    runner,
    tls: { cert: pair.certPem, key: pair.keyPem },
    clientCa: real.authority.certPem,
    apiServer: { host: '127.0.0.1', port: Number(new URL(real.url).port) },
    registryPort,
    registryTrust: () => ({
      caPem: trust.caPem,
      ...(trust.password === '' ? {} : { auth: { username: registryUser, password: trust.password } }),
    }),
    logger: silentLogger,
    signal,
  });
  return {
    kubelet,
    port: kubelet.port,
    async end() {
      await learning;
      await kubelet.end(500);
      await kubelet.close();
      await runner.close();
    },
  };
}
