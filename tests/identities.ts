import { join } from 'node:path';
import { kubeconfigOf } from '../src/apiserver/pki.ts';
import type { Manifest } from '../src/apiserver/server.ts';
import { writeJson } from '../src/durable/file.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { issue, type KeyPair } from '../src/trust/authority.ts';

/** Who speaks to a cluster: identities of its authority, each as a client or as a kubeconfig. */
export interface ClusterIdentities {
  /** A client of another identity, by a client certificate. */
  clientAs(commonName: string, organizations?: string[]): Promise<KubeClient>;
  /** A client of another identity, by a bearer token. */
  clientWithToken(token: string): KubeClient;
  /** Path of a kubeconfig of another identity. */
  kubeconfigAs(commonName: string, organizations?: string[]): Promise<string>;
}

export interface TestCluster extends ClusterIdentities {
  readonly engine: 'embedded' | 'real';
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
  /** Stops the server and starts it again on the same database and port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface TestClusterOptions {
  /** Definitions beside those of the repository's crds/. */
  readonly crds?: readonly Manifest[];
  /** Objects that the server makes sure of when it starts. */
  readonly bootstrap?: readonly Manifest[];
  /** Whether a real API keeps nodes to their own Pods, as the embedded one always does. */
  readonly nodeRules?: boolean;
  /** Milliseconds of history that the embedded API keeps at the least. */
  readonly historyMs?: number;
}

/** Identities that the authority of a cluster vouches for; their clients end with `close`. */
export function createIdentities(cluster: {
  readonly url: string;
  readonly dir: string;
  readonly authority: KeyPair;
}): ClusterIdentities & { close(): Promise<void> } {
  const { url, dir, authority } = cluster;
  const ca = authority.certPem;
  const clients: KubeClient[] = [];
  const clientOf = (credentials: { pair?: KeyPair; token?: string }): KubeClient => {
    const { pair, token } = credentials;
    const client = createKubeClient({
      server: url,
      tls: { ca, ...(pair && { cert: pair.certPem, key: pair.keyPem }) },
      ...(token === undefined ? {} : { token }),
      platform: 'standalone',
    });
    clients.push(client);
    return client;
  };
  const identity = (commonName: string, organizations: string[]) =>
    issue(authority, { commonName, organizations, usage: 'client' });
  return {
    clientAs: async (commonName, organizations = []) =>
      clientOf({ pair: await identity(commonName, organizations) }),
    clientWithToken: (token) => clientOf({ token }),
    async kubeconfigAs(commonName, organizations = []) {
      const path = join(dir, `${commonName.replaceAll(/[^a-z0-9-]/gi, '_')}.kubeconfig`);
      const pair = await identity(commonName, organizations);
      await writeJson(path, kubeconfigOf(url, ca, pair), { mode: 0o600 });
      return path;
    },
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  };
}
