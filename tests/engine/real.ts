import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttpClient } from '../../src/http/client.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { createAuthority, issue } from '../../src/trust/authority.ts';
import { freePort } from '../../src/up/network.ts';
import { writeKubeconfig } from '../../src/up/pki.ts';
import { repository } from '../tier.ts';

/** A real etcd, kube-apiserver and kube-controller-manager on loopback, in a directory of their own. */
export interface RealCluster {
  readonly kubeconfig: string;
  readonly url: string;
  readonly dir: string;
  close(): Promise<void>;
}

/** The directory of the programs, built once and kept outside the repository. Throws where they cannot be built. */
export function enginePrograms(): string {
  const built = spawnSync(join(repository, 'tests', 'engine', 'build.sh'), {
    encoding: 'utf8',
    timeout: 40 * 60_000,
  });
  if (built.status !== 0)
    throw new Error(`the real engine cannot be built: ${built.stderr.trim().slice(-2000)}`);
  return built.stdout.trim();
}

const startMs = 90_000;

/** Starts the three with certificates of their own; resolves when the API is ready. */
export async function startRealCluster(): Promise<RealCluster> {
  const programs = enginePrograms();
  const dir = mkdtempSync(join(tmpdir(), 'sluice-real-'));
  const ports = {
    etcd: await freePort(),
    peer: await freePort(),
    api: await freePort(),
    manager: await freePort(),
  };
  const url = `https://127.0.0.1:${ports.api}`;
  const file = (name: string) => join(dir, name);
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
  await writeKubeconfig(file('kubeconfig'), url, authority.certPem, admin, 'admin');

  const children: ChildProcess[] = [];
  const start = (program: string, args: string[]) => {
    const log = openSync(file(`${program}.log`), 'a');
    children.push(spawn(join(programs, program), args, { stdio: ['ignore', log, log] }));
    closeSync(log);
  };
  const close = async () => {
    for (const child of children.reverse()) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) {
        await new Promise((resolve) => child.once('exit', resolve));
      }
    }
    rmSync(dir, { recursive: true, force: true });
  };
  start('etcd', [
    ...['--data-dir', file('etcd'), '--log-level', 'warn', '--unsafe-no-fsync'],
    ...[
      '--listen-client-urls',
      `http://127.0.0.1:${ports.etcd}`,
      '--advertise-client-urls',
      `http://127.0.0.1:${ports.etcd}`,
    ],
    ...[
      '--listen-peer-urls',
      `http://127.0.0.1:${ports.peer}`,
      '--initial-advertise-peer-urls',
      `http://127.0.0.1:${ports.peer}`,
    ],
    ...['--initial-cluster', `default=http://127.0.0.1:${ports.peer}`],
  ]);
  start('kube-apiserver', [
    ...[
      '--etcd-servers',
      `http://127.0.0.1:${ports.etcd}`,
      '--bind-address',
      '127.0.0.1',
      '--secure-port',
      String(ports.api),
    ],
    ...['--advertise-address', '127.0.0.1', '--client-ca-file', file('ca.crt')],
    ...['--tls-cert-file', file('server.crt'), '--tls-private-key-file', file('server.key')],
    ...[
      '--service-account-issuer',
      'https://kubernetes.default.svc',
      '--service-account-key-file',
      file('sa.pub'),
    ],
    ...['--service-account-signing-key-file', file('sa.key'), '--service-cluster-ip-range', '10.0.0.0/24'],
    ...['--kubelet-client-certificate', file('server.crt'), '--kubelet-client-key', file('server.key')],
    ...[
      '--kubelet-certificate-authority',
      file('ca.crt'),
      '--authorization-mode',
      'RBAC',
      '--endpoint-reconciler-type',
      'none',
    ],
  ]);
  try {
    await ready(url, authority.certPem, admin);
  } catch (error) {
    const tail = spawnSync('tail', ['-n', '5', file('kube-apiserver.log')], { encoding: 'utf8' }).stdout;
    await close();
    throw new Error(`${(error as Error).message}: ${tail}`);
  }
  start('kube-controller-manager', [
    ...[
      '--kubeconfig',
      file('kubeconfig'),
      '--use-service-account-credentials=false',
      '--leader-elect=false',
    ],
    ...['--service-account-private-key-file', file('sa.key'), '--root-ca-file', file('ca.crt')],
    ...['--secure-port', String(ports.manager), '--bind-address', '127.0.0.1'],
    ...['--cluster-signing-cert-file', file('ca.crt'), '--cluster-signing-key-file', file('ca.key')],
  ]);
  return { kubeconfig: file('kubeconfig'), url, dir, close };
}

async function ready(url: string, ca: string, pair: { certPem: string; keyPem: string }): Promise<void> {
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
