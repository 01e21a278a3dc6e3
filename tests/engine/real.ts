import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttpClient } from '../../src/http/client.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { createAuthority, issue, type KeyPair } from '../../src/trust/authority.ts';
import { freePort } from '../../src/up/network.ts';
import { writeKubeconfig } from '../../src/up/pki.ts';
import { needs, repository } from '../tier.ts';

/** A real etcd, kube-apiserver and kube-controller-manager on loopback, in a directory of their own. */
export interface RealCluster {
  readonly kubeconfig: string;
  readonly url: string;
  readonly dir: string;
  readonly authority: KeyPair;
  /** Process ids by program. */
  pids(): Readonly<Record<string, number>>;
  /** Kills kube-apiserver and starts it again on the same port; resolves when it is ready. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface RealClusterOptions {
  /** Whether etcd flushes each write to the disk. Default false: tests do not pull the plug. */
  readonly durable?: boolean;
  /** Default true. */
  readonly controllers?: boolean;
  /** Whether nodes that say nothing stay ready: for fleets that are only told of. */
  readonly silentNodes?: boolean;
  /** Whether every request is written down, one JSON line each, in `audit.log` of the directory. */
  readonly audit?: boolean;
  /** A kube-scheduler too, and kubelets restricted to what is theirs. Default false. */
  readonly nodes?: boolean;
  /** Keeps nodes to their own Pods, as kubeadm sets it up. Default: as `nodes`. */
  readonly nodeRules?: boolean;
}

/** Why the real engine cannot run here; undefined where it can. It runs where it was built, or Go can build it. */
export function realEngineMissing(): string | undefined {
  const listed = spawnSync(buildScript, ['--built'], { encoding: 'utf8' });
  return listed.status === 0 ? undefined : needs('go').skip;
}

/** Options for `test()` and `describe()`: skips by name where there is no real engine. */
export function needsRealEngine(): { skip?: string } {
  const reason = realEngineMissing();
  return reason === undefined ? {} : { skip: `real engine: ${reason}` };
}

const buildScript = join(repository, 'tests', 'engine', 'build.sh');

/** The directory of the programs, built once and kept outside the repository. Throws where they cannot be built. */
export function enginePrograms(withNode = false): string {
  const args = withNode ? ['--node'] : [];
  const built = spawnSync(buildScript, args, { encoding: 'utf8', timeout: 40 * 60_000 });
  if (built.status !== 0)
    throw new Error(`the real engine cannot be built: ${built.stderr.trim().slice(-2000)}`);
  return built.stdout.trim();
}

const startMs = 90_000;

/** Starts the three with certificates of their own; resolves when the API is ready. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const programs = enginePrograms(options.nodes);
  const dir = mkdtempSync(join(tmpdir(), 'sluice-real-'));
  const file = (name: string) => join(dir, name);
  const { authority, admin } = await writeCredentials(file);
  const ports = {
    etcd: await freePort(),
    peer: await freePort(),
    api: await freePort(),
    manager: await freePort(),
  };
  const url = `https://127.0.0.1:${ports.api}`;
  await writeKubeconfig(file('kubeconfig'), url, authority.certPem, admin, 'admin');

  const children = new Map<string, ChildProcess>();
  const start = (program: string, args: readonly string[]) => {
    const log = openSync(file(`${program}.log`), 'a');
    children.set(program, spawn(join(programs, program), args, { stdio: ['ignore', log, log] }));
    closeSync(log);
  };
  const close = async () => {
    for (const child of [...children.values()].reverse()) await ended(child);
    rmSync(dir, { recursive: true, force: true });
  };
  const startApi = async () => {
    start('kube-apiserver', [
      ...apiArguments(file, ports, options.nodeRules ?? options.nodes === true),
      ...(options.audit === true ? auditArguments(file) : []),
    ]);
    await ready(url, authority.certPem, admin);
  };
  start('etcd', etcdArguments(file, ports, options.durable === true));
  try {
    await startApi();
  } catch (error) {
    const tail = spawnSync('tail', ['-n', '5', file('kube-apiserver.log')], { encoding: 'utf8' }).stdout;
    await close();
    throw new Error(`${(error as Error).message}: ${tail}`);
  }
  if (options.controllers !== false)
    start('kube-controller-manager', [
      ...managerArguments(file, ports),
      ...(options.silentNodes === true ? ['--node-monitor-grace-period', '24h'] : []),
    ]);
  if (options.nodes === true) start('kube-scheduler', schedulerArguments(file, await freePort()));
  return {
    kubeconfig: file('kubeconfig'),
    url,
    dir,
    authority,
    pids: () => Object.fromEntries([...children].map(([name, { pid }]) => [name, pid ?? 0])),
    async restart() {
      const api = children.get('kube-apiserver');
      if (api !== undefined) await ended(api);
      await startApi();
    },
    close,
  };
}

type Ports = Readonly<Record<'etcd' | 'peer' | 'api' | 'manager', number>>;
type FileOf = (name: string) => string;

function etcdArguments(file: FileOf, ports: Ports, durable: boolean): string[] {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.peer}`;
  return [
    ...['--data-dir', file('etcd'), '--log-level', 'warn'],
    ...(durable ? [] : ['--unsafe-no-fsync']),
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `default=${peer}`],
  ];
}

function apiArguments(file: FileOf, ports: Ports, nodeRules: boolean): string[] {
  return [
    ...['--etcd-servers', `http://127.0.0.1:${ports.etcd}`],
    ...['--bind-address', '127.0.0.1', '--secure-port', String(ports.api)],
    ...['--advertise-address', '127.0.0.1', '--client-ca-file', file('ca.crt')],
    ...['--tls-cert-file', file('server.crt'), '--tls-private-key-file', file('server.key')],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ...['--service-account-key-file', file('sa.pub'), '--service-account-signing-key-file', file('sa.key')],
    ...['--service-cluster-ip-range', '10.0.0.0/24'],
    ...['--kubelet-client-certificate', file('server.crt'), '--kubelet-client-key', file('server.key')],
    ...['--kubelet-certificate-authority', file('ca.crt'), '--kubelet-preferred-address-types', 'InternalIP'],
    ...['--authorization-mode', nodeRules ? 'Node,RBAC' : 'RBAC', '--endpoint-reconciler-type', 'none'],
    '--allow-privileged',
    ...(nodeRules ? ['--enable-admission-plugins', 'NodeRestriction'] : []),
  ];
}

/** Who did what with which resource; no bodies, so no secrets. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  // A watch is written down when it begins, and again when it ends.
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

function auditArguments(file: FileOf): string[] {
  writeFileSync(file('audit-policy.json'), JSON.stringify(auditPolicy));
  return ['--audit-policy-file', file('audit-policy.json'), '--audit-log-path', file('audit.log')];
}

function managerArguments(file: FileOf, ports: Ports): string[] {
  return [
    ...['--kubeconfig', file('kubeconfig'), '--use-service-account-credentials=false'],
    ...['--leader-elect=false', '--kube-api-qps', '200', '--kube-api-burst', '400'],
    ...['--service-account-private-key-file', file('sa.key'), '--root-ca-file', file('ca.crt')],
    ...['--secure-port', String(ports.manager), '--bind-address', '127.0.0.1'],
    ...['--cluster-signing-cert-file', file('ca.crt'), '--cluster-signing-key-file', file('ca.key')],
  ];
}

function schedulerArguments(file: FileOf, port: number): string[] {
  return [
    ...['--kubeconfig', file('kubeconfig'), '--leader-elect=false'],
    ...['--secure-port', String(port), '--bind-address', '127.0.0.1'],
  ];
}

async function writeCredentials(file: FileOf): Promise<{ authority: KeyPair; admin: KeyPair }> {
  const authority = await createAuthority('real-ca');
  const admin = await issue(authority, {
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  const server = await issue(authority, {
    commonName: 'kube-apiserver',
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default.svc'],
    ipAddresses: ['127.0.0.1', '10.0.0.1'],
    usage: 'both',
  });
  const accounts = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  mkdirSync(file('etcd'), { mode: 0o700 });
  writeFileSync(file('ca.crt'), authority.certPem);
  writeFileSync(file('ca.key'), authority.keyPem);
  writeFileSync(file('server.crt'), server.certPem);
  writeFileSync(file('server.key'), server.keyPem);
  writeFileSync(file('sa.key'), accounts.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(file('sa.pub'), accounts.publicKey.export({ type: 'spki', format: 'pem' }));
  return { authority, admin };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

async function ready(url: string, ca: string, pair: KeyPair): Promise<void> {
  const http = createHttpClient({ ca, cert: pair.certPem, key: pair.keyPem });
  const end = Date.now() + startMs;
  try {
    for (;;) {
      const status = await http
        .request({ url: `${url}/readyz` })
        .then(async (response) => {
          await response.discard();
          return response.status;
        })
        .catch(() => 0);
      if (status === 200) return;
      if (Date.now() > end) throw new Error(`the real API was not ready within ${startMs / 1000} s`);
      await systemClock.sleep(200);
    }
  } finally {
    await http.close();
  }
}
