import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderCrds } from '../src/api/crds.ts';
import { ensureServiceAccountKey, kubeconfigOf, serverNames } from '../src/apiserver/pki.ts';
import { type Manifest, startApiServer } from '../src/apiserver/server.ts';
import { writeJson } from '../src/durable/file.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { silentLogger } from '../src/observe/log.ts';
import { createAuthority, issue, type KeyPair } from '../src/trust/authority.ts';

export interface TestCluster {
  /** As admin (group system:masters). */
  readonly client: KubeClient;
  readonly url: string;
  readonly port: number;
  /** Path of the admin's kubeconfig, for kubectl. */
  readonly kubeconfig: string;
  /** A directory of its own for the test; removed at the end. */
  readonly dir: string;
  /** The cluster's certificate authority. */
  readonly authority: KeyPair;
  readonly caPem: string;
  /** A client of another identity, by a client certificate. */
  clientAs(commonName: string, organizations?: string[]): Promise<KubeClient>;
  /** A client of another identity, by a bearer token. */
  clientWithToken(token: string): KubeClient;
  /** Path of a kubeconfig of another identity. */
  kubeconfigAs(commonName: string, organizations?: string[]): Promise<string>;
  /** Stops the server and starts it again on the same database and port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface TestClusterOptions {
  /** Definitions beside those of the repository's crds/. */
  readonly crds?: readonly Manifest[];
  /** Objects that the server makes sure of when it starts. */
  readonly bootstrap?: readonly Manifest[];
}

/** Starts a real embedded API on a free port of the loopback, with all of crds/, in this process. */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
  const authority = await createAuthority('sluice-test-ca');
  const caPem = authority.certPem;
  const server = await issue(authority, {
    commonName: 'kube-apiserver',
    dnsNames: serverNames,
    ipAddresses: ['127.0.0.1'],
    usage: 'both',
  });
  const serviceAccountKeyPem = await ensureServiceAccountKey(dir);
  const start = (port: number) =>
    startApiServer({
      dataDir: join(dir, 'apiserver'),
      address: '127.0.0.1',
      port,
      tls: { cert: server.certPem, key: server.keyPem },
      clientCaPem: caPem,
      serviceAccountKeyPem,
      kubeletClient: { cert: server.certPem, key: server.keyPem, ca: caPem },
      crds: [...renderCrds('standalone'), ...(options.crds ?? [])],
      bootstrap: options.bootstrap ?? [],
      logger: silentLogger,
    });
  let running = await start(0);
  const { url, port } = running;
  const clients: KubeClient[] = [];
  const clientOf = (credentials: { pair?: KeyPair; token?: string }): KubeClient => {
    const { pair, token } = credentials;
    const client = createKubeClient({
      server: url,
      tls: { ca: caPem, ...(pair && { cert: pair.certPem, key: pair.keyPem }) },
      ...(token === undefined ? {} : { token }),
      platform: 'standalone',
    });
    clients.push(client);
    return client;
  };
  const identity = (commonName: string, organizations: string[]) =>
    issue(authority, { commonName, organizations, usage: 'client' });
  const writeKubeconfig = async (name: string, pair: KeyPair): Promise<string> => {
    const path = join(dir, `${name.replaceAll(/[^a-z0-9-]/gi, '_')}.kubeconfig`);
    await writeJson(path, kubeconfigOf(url, caPem, pair), { mode: 0o600 });
    return path;
  };
  const admin = await identity('admin', ['system:masters']);
  return {
    client: clientOf({ pair: admin }),
    url,
    port,
    kubeconfig: await writeKubeconfig('admin', admin),
    dir,
    authority,
    caPem,
    clientAs: async (commonName, organizations = []) =>
      clientOf({ pair: await identity(commonName, organizations) }),
    clientWithToken: (token) => clientOf({ token }),
    kubeconfigAs: async (commonName, organizations = []) =>
      writeKubeconfig(commonName, await identity(commonName, organizations)),
    async restart() {
      await running.close();
      running = await start(port);
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await running.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
