import type { Namespace } from '../api/core.ts';
import { runController, watchOf } from '../kube/controller.ts';
import { isAlreadyExists, isNotFound } from '../kube/error.ts';
import { type ControllerContext, isNamespaceEnding } from './context.ts';

const accountName = 'default';
const caName = 'kube-root-ca.crt';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the ' +
  'internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/**
 * Keeps in every namespace what its Pods count on: the ServiceAccount `default`, and the cluster's authority in the
 * ConfigMap `kube-root-ca.crt` where `caPem` is given (kubernetes, serviceaccount and rootcacertpublisher controllers).
 */
export async function runServiceAccounts(context: ControllerContext, caPem?: string): Promise<void> {
  const { client, informers } = context;
  const { kinds } = client;
  const namespaces = informers.of(kinds.Namespace);
  const accounts = informers.of(kinds.ServiceAccount);
  const configMaps = informers.of(kinds.ConfigMap);

  async function ensureAccount(namespace: string): Promise<void> {
    if (accounts.get(accountName, namespace) !== undefined) return;
    await client
      .create(kinds.ServiceAccount, { metadata: { name: accountName, namespace } })
      .catch(ignoreExists);
  }

  async function ensureCa(namespace: string, pem: string): Promise<void> {
    const standing = configMaps.get(caName, namespace);
    const data = { 'ca.crt': pem };
    if (standing === undefined) {
      const annotations = { 'kubernetes.io/description': description };
      await client
        .create(kinds.ConfigMap, { metadata: { name: caName, namespace, annotations }, data })
        .catch(ignoreExists);
    } else if (standing.data?.['ca.crt'] !== pem || Object.keys(standing.data).length > 1) {
      await client.update(kinds.ConfigMap, { ...standing, data });
    }
  }

  async function reconcile(name: string): Promise<void> {
    const namespace = namespaces.get(name);
    if (namespace === undefined || !isActive(namespace)) return;
    try {
      await Promise.all([ensureAccount(name), caPem === undefined ? undefined : ensureCa(name, caPem)]);
    } catch (error) {
      // The namespace began to end in this moment.
      if (!isNotFound(error) && !isNamespaceEnding(error)) throw error;
    }
  }

  await runController({
    ...context,
    name: 'service-account',
    concurrency: 4,
    watches: [
      watchOf(namespaces, { keysOf: ({ metadata }) => [metadata.name] }),
      watchOf(accounts, {
        keysOf: ({ metadata }) => (metadata.name === accountName ? [metadata.namespace ?? ''] : []),
      }),
      watchOf(configMaps, {
        keysOf: ({ metadata }) => (metadata.name === caName ? [metadata.namespace ?? ''] : []),
      }),
    ],
    reconcile,
  });
}

function isActive(namespace: Namespace): boolean {
  return namespace.metadata.deletionTimestamp === undefined;
}

function ignoreExists(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
