import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { issue } from '../../src/trust/authority.ts';
import { writeKubeconfig } from '../../src/up/pki.ts';
import type { TestCluster } from '../identities.ts';
import { ended, unmountBelow } from './containerd.ts';

export interface KubeletOptions {
  readonly program: string;
  readonly dir: string;
  readonly cluster: Pick<TestCluster, 'url' | 'dir' | 'authority'>;
  readonly name: string;
  /** The node's address; a kubelet takes none on loopback. */
  readonly address: string;
  readonly port: number;
  readonly containerdSocket: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A real kubelet of one node. It is known to the API as `system:node:<name>`, with a certificate for both sides. */
export async function startKubelet(options: KubeletOptions): Promise<{ close(): Promise<void> }> {
  const { dir, name, cluster } = options;
  const file = (leaf: string) => join(dir, leaf);
  mkdirSync(file('root'), { recursive: true });
  makeGroups(cgroupOf(options));
  const identity = await issue(cluster.authority, {
    commonName: `system:node:${name}`,
    organizations: ['system:nodes'],
    dnsNames: [name],
    ipAddresses: [options.address],
    usage: 'both',
  });
  writeFileSync(file('kubelet.crt'), identity.certPem);
  writeFileSync(file('kubelet.key'), identity.keyPem, { mode: 0o600 });
  await writeKubeconfig(file('kubeconfig'), cluster.url, cluster.authority.certPem, identity, name);
  writeFileSync(file('config.json'), JSON.stringify(configOf(options, file)));
  const log = openSync(file('kubelet.log'), 'a');
  const labels = Object.entries(options.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const child: ChildProcess = spawn(
    options.program,
    [
      ...['--config', file('config.json'), '--kubeconfig', file('kubeconfig')],
      ...['--root-dir', file('root'), '--cert-dir', dir, '--hostname-override', name],
      ...['--node-ip', options.address],
      ...(labels.length === 0 ? [] : ['--node-labels', labels.join(',')]),
    ],
    { stdio: ['ignore', log, log], detached: true },
  );
  closeSync(log);
  return {
    async close() {
      await ended(child);
      killGroups(cgroupOf(options));
      unmountBelow(dir);
      removeGroups(cgroupOf(options));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const cgroupOf = (options: KubeletOptions) => `/sluice-${options.name}`;

function configOf(options: KubeletOptions, file: (leaf: string) => string): unknown {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: options.address,
    port: options.port,
    tlsCertFile: file('kubelet.crt'),
    tlsPrivateKeyFile: file('kubelet.key'),
    authentication: {
      anonymous: { enabled: false },
      x509: { clientCAFile: join(options.cluster.dir, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${options.containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroupOf(options),
    // Hosts of tests may still have the first version of control groups.
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    // What needs rights over the kernel that a test host lacks is left as it is.
    featureGates: { KubeletInUserNamespace: true },
    enforceNodeAllocatable: [],
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    podLogsDir: file('logs'),
    volumePluginDir: file('plugins'),
    resolvConf: '',
    nodeStatusUpdateFrequency: '2s',
    serializeImagePulls: false,
    registerNode: true,
  };
}

/** The kubelet takes a root of groups only where it stands in every hierarchy. */
function makeGroups(group: string): void {
  for (const hierarchy of hierarchies()) {
    mkdirSync(`${hierarchy}${group}`, { recursive: true });
    if (hierarchy.endsWith('/cpuset')) {
      // A new set of processors is empty, and nothing can run in it.
      for (const name of ['cpuset.cpus', 'cpuset.mems']) {
        writeFileSync(`${hierarchy}${group}/${name}`, readFileSync(`${hierarchy}/${name}`));
      }
    }
  }
}

function hierarchies(): string[] {
  const root = '/sys/fs/cgroup';
  return readdirSync(root)
    .map((name) => `${root}/${name}`)
    .filter((path) => statSync(path).isDirectory());
}

/** Kills every process of every container: the groups know them all. */
function killGroups(group: string): void {
  const path = `/sys/fs/cgroup/pids${group}`;
  if (!existsSync(path)) return;
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    if (basename(name) !== 'cgroup.procs') continue;
    for (const pid of readFileSync(join(path, name), 'utf8').split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It ended while we looked.
      }
    }
  }
}

/** Control groups are emptied by the end of their processes; the folders stay. */
function removeGroups(group: string): void {
  for (const hierarchy of hierarchies()) removeTree(`${hierarchy}${group}`);
}

function removeTree(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeTree(join(path, entry.name));
    }
    rmdirSync(path);
  } catch {
    // It is not there, or a process in it is still ending: an empty group costs nothing.
  }
}
