import { X509Certificate } from 'node:crypto';
import type { AnyObject, Node, Secret } from '../api/core.ts';
import { labels, names } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { conditionIs } from '../kube/conditions.ts';
import type { ClusterFacts, WebhookFact } from './cluster-facts.ts';
import { bothKnown, type Known, known, mapKnown, readFact } from './known.ts';
import {
  backupFact,
  budgetFact,
  clockFacts,
  deprecatedMetrics,
  olmFact,
  poolFact,
  requestFact,
  requestUse,
  troublesOf,
} from './read-facts.ts';

/** On a CronJob: it backs up etcd, and its last success is the age of the backup. */
export const backupLabel = 'sluice.dev/etcd-backup';

/** Reads what may be wrong in a cluster, each fact for itself: what cannot be read is unknown. */
export async function gatherCluster(client: KubeClient, now: number): Promise<ClusterFacts> {
  const { kinds } = client;
  const reader = createReader(client);
  const [budgets, nodes, updates, definitions, secrets, leases] = await Promise.all([
    reader.known('PodDisruptionBudgets', async () => (await client.list(kinds.PodDisruptionBudget)).items),
    reader.known('Nodes', () => client.all(kinds.Node)),
    reader.known('NodeUpdates', () => client.all(kinds.NodeUpdate)),
    reader.known(
      'CustomResourceDefinitions',
      async () => (await client.list(kinds.CustomResourceDefinition)).items,
    ),
    reader.known('the certificates', async () => await tlsSecrets(client)),
    reader.known(
      'the heartbeats of nodes',
      async () => (await client.list(kinds.Lease, { namespace: 'kube-node-lease' })).items,
    ),
  ]);
  const [deprecatedUse, pools, signingRequests, webhooks, etcd, backup, olm] = await Promise.all([
    reader.known('the use of old APIs', () => oldApis(client, reader)),
    reader.some('machineconfiguration.openshift.io/v1', 'MachineConfigPool', poolFact),
    reader.some('certificates.k8s.io/v1', 'CertificateSigningRequest', requestFact),
    reader.known('the webhooks', () => webhookFacts(client, reader)),
    reader.some('operator.openshift.io/v1', 'Etcd', (each) => each),
    reader.known('the backups of etcd', () => backups(reader)),
    reader.some('operators.coreos.com/v1alpha1', 'ClusterServiceVersion', olmFact),
  ]);
  return {
    disruptionBudgets: mapKnown(budgets, (items) => items.map(budgetFact)),
    storage: bothKnown(nodes, updates, storageFacts),
    deprecatedUse: flat(deprecatedUse),
    definitions: mapKnown(definitions, (items) =>
      items.map(({ metadata, status }) => ({ name: metadata.name, stored: status?.storedVersions ?? [] })),
    ),
    certificates: flat(
      mapKnown(secrets, (items) =>
        items.length === 0 ? undefined : items.map((each) => certificateFact(client, each)),
      ),
    ),
    clocks: flat(bothKnown(leases, nodes, (items, all) => clockFacts(items, all, now))),
    pools,
    signingRequests,
    webhooks: flat(mapKnown(webhooks, (items) => (items.length === 0 ? undefined : items))),
    etcdTroubles: etcd === undefined || !etcd.known ? etcd : known(etcd.value.flatMap(troublesOf)),
    etcdBackup: flat(backup),
    olm,
  };
}

interface Reader {
  known<T>(what: string, read: () => Promise<T>): Promise<Known<T>>;
  /** Every object of a kind that need not exist; undefined where the API does not serve it. */
  list(apiVersion: string, kind: string): Promise<AnyObject[] | undefined>;
  some<T>(
    apiVersion: string,
    kind: string,
    change: (object: AnyObject) => T,
  ): Promise<Known<T[]> | undefined>;
}

function createReader(client: KubeClient): Reader {
  const list = async (apiVersion: string, kind: string) => {
    const found = await client.resolveKind(apiVersion, kind);
    return found === undefined ? undefined : ((await client.list(found)).items as AnyObject[]);
  };
  return {
    known: readFact,
    list,
    async some(apiVersion, kind, change) {
      const items = await readFact(`${kind}s`, () => list(apiVersion, kind));
      return items.known && items.value === undefined
        ? undefined
        : mapKnown(items, (all) => (all ?? []).map(change));
    },
  };
}

/** Secrets of the type kubernetes.io/tls in the namespaces of the platform; only how long they live is kept. */
async function tlsSecrets(client: KubeClient): Promise<Secret[]> {
  const { machineConfigNamespace } = names(client.platform);
  const { items } = await client.list(client.kinds.Secret, { fieldSelector: 'type=kubernetes.io/tls' });
  return items.filter(
    ({ metadata: { namespace = '' } }) =>
      namespace === machineConfigNamespace ||
      namespace.startsWith('openshift-') ||
      namespace.startsWith('kube-'),
  );
}

function certificateFact(client: KubeClient, { metadata, data }: Secret) {
  const { machineConfigNamespace, registryTlsSecret } = names(client.platform);
  const { name, namespace = '' } = metadata;
  let notAfter: number | undefined;
  try {
    notAfter = Date.parse(new X509Certificate(Buffer.from(data?.['tls.crt'] ?? '', 'base64')).validTo);
  } catch {
    notAfter = undefined; // That it cannot be read is the finding.
  }
  const vital = namespace === machineConfigNamespace && name === registryTlsSecret;
  return { namespace, name, notAfter, vital };
}

function storageFacts(nodes: readonly Node[], updates: readonly NodeUpdate[]) {
  const byName = new Map(updates.map((update) => [update.metadata.name, update]));
  return nodes
    .filter((node) => node.metadata.labels?.[labels.controlPlane] !== undefined)
    .map(({ metadata, status }) => {
      const full = byName.get(metadata.name)?.status?.copies?.find((copy) => copy.reason === 'DiskFull');
      return {
        node: metadata.name,
        diskPressure: conditionIs(status?.conditions, 'DiskPressure', 'True'),
        ...(full === undefined ? {} : { full: full.message ?? full.reason ?? '' }),
      };
    });
}

/** Uses of APIs that go: as OpenShift counts them, else as the API server's own metrics do. */
async function oldApis(client: KubeClient, reader: Reader) {
  const counted = await reader.list('apiserver.openshift.io/v1', 'APIRequestCount');
  if (counted !== undefined) return counted.flatMap(requestUse);
  if (client.platform === 'standalone') return undefined;
  return deprecatedMetrics(String(await client.raw({ path: '/metrics', accept: 'text/plain' })));
}

async function backups(reader: Reader) {
  const [objects, jobs] = await Promise.all([
    reader.list('operator.openshift.io/v1alpha1', 'EtcdBackup'),
    reader.list('batch/v1', 'CronJob'),
  ]);
  return backupFact([
    ...(objects ?? []),
    ...(jobs ?? []).filter((job) => job.metadata.labels?.[backupLabel] !== undefined),
  ]);
}

interface WebhookConfiguration {
  readonly metadata: { readonly name: string };
  readonly webhooks?: readonly {
    readonly name: string;
    readonly failurePolicy?: string;
    readonly clientConfig?: { readonly service?: { readonly name: string; readonly namespace: string } };
    readonly rules?: readonly { readonly resources?: readonly string[] }[];
  }[];
}

async function webhookFacts(client: KubeClient, reader: Reader): Promise<WebhookFact[]> {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const configurations = [
    ...((await reader.list(apiVersion, 'ValidatingWebhookConfiguration')) ?? []),
    ...((await reader.list(apiVersion, 'MutatingWebhookConfiguration')) ?? []),
  ] as unknown as WebhookConfiguration[];
  const found: WebhookFact[] = [];
  for (const { metadata, webhooks = [] } of configurations) {
    for (const webhook of webhooks) {
      const service = webhook.clientConfig?.service;
      if (service === undefined) continue; // Outside the cluster: nobody here can tell.
      const dead = await whyDead(client, service);
      const resources = (webhook.rules ?? []).flatMap((rule) => rule.resources ?? []);
      found.push({
        configuration: metadata.name,
        webhook: webhook.name,
        service: `${service.namespace}/${service.name}`,
        fails: (webhook.failurePolicy ?? 'Fail') === 'Fail',
        vital: resources.some((each) => /^(?:\*|\*\/\*|pods|nodes)$/.test(each)),
        ...(dead === undefined ? {} : { dead }),
      });
    }
  }
  return found;
}

async function whyDead(
  client: KubeClient,
  { name, namespace }: { name: string; namespace: string },
): Promise<string | undefined> {
  const kind = await client.resolveKind('v1', 'Service');
  const service = kind === undefined ? undefined : await client.tryGet(kind, name, namespace);
  if (service === undefined) return 'there is no such service';
  const selector = (service as unknown as { spec?: { selector?: Record<string, string> } }).spec?.selector;
  if (selector === undefined) return undefined; // Its endpoints are kept by somebody else.
  const labelSelector = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  const pods = await client.list(client.kinds.Pod, { namespace, labelSelector });
  const isReady = pods.items.some(({ status }) => conditionIs(status?.conditions, 'Ready', 'True'));
  return isReady ? undefined : 'none of its Pods is ready';
}

/** Known to be nothing is nothing to look at. */
function flat<T>(fact: Known<T | undefined>): Known<T> | undefined {
  if (!fact.known) return fact;
  return fact.value === undefined ? undefined : known(fact.value);
}
