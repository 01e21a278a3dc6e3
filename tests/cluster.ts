import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderCrds } from '../src/api/crds.ts';
import { ensureServiceAccountKey, serverNames } from '../src/apiserver/pki.ts';
import { startApiServer } from '../src/apiserver/server.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { silentLogger } from '../src/observe/log.ts';
import { createAuthority, issue } from '../src/trust/authority.ts';
import { createIdentities, type TestCluster, type TestClusterOptions } from './identities.ts';

export type { TestCluster, TestClusterOptions } from './identities.ts';

let namespaces = 0;

/** Makes a namespace that no other test of this file uses. */
export async function freshNamespace(client: KubeClient): Promise<string> {
  namespaces += 1;
  const name = `fresh-${namespaces}`;
  await client.create(client.kinds.Namespace, { metadata: { name } });
  return name;
}

/**
 * Starts an API with all of crds/ on a free port of the loopback: the embedded one, in this process, or with
 * `SLUICE_TEST_ENGINE=real` a real kube-apiserver with its controllers (`tests/engine/`).
 */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  if (process.env.SLUICE_TEST_ENGINE === 'real') {
    const { startRealTestCluster } = await import('./engine/cluster.ts');
    return await startRealTestCluster(options);
  }
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
      ...(options.historyMs === undefined ? {} : { historyMs: options.historyMs }),
      logger: silentLogger,
    });
  let running = await start(0);
  const { url, port } = running;
  const identities = createIdentities({ url, dir, authority });
  return {
    engine: 'embedded',
    ...identities,
    client: await identities.clientAs('admin', ['system:masters']),
    url,
    port,
    kubeconfig: await identities.kubeconfigAs('admin', ['system:masters']),
    dir,
    authority,
    caPem,
    async restart() {
      await running.close();
      running = await start(port);
    },
    async close() {
      await identities.close();
      await running.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
