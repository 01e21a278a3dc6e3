import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freshNamespace, startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { runCommand } from '../../tests/kubectl.ts';
import { makeReadyNode, playKubelets } from '../../tests/played-kubelet.ts';
import { needs } from '../../tests/tier.ts';
import type { AnyObject, ConfigMap, KubeObject, OwnerReference } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import type { KubeClient } from '../kube/client.ts';
import { isForbidden, isNotFound } from '../kube/error.ts';
import { waitFor, waitForDeletion } from '../kube/wait.ts';
import { silentLogger } from '../observe/log.ts';
import { runClusterControllers } from './controllers.ts';

/** Namespaces, owners and service accounts on the embedded API. */
let cluster: TestCluster;
let client: KubeClient;
const stop = new AbortController();
let controllers: Promise<void>;
before(async () => {
  cluster = await startTestCluster();
  client = cluster.client;
  playKubelets(client, stop.signal);
  const { caPem } = cluster;
  controllers = runClusterControllers({ client, logger: silentLogger, signal: stop.signal, caPem });
});
after(async () => {
  stop.abort();
  await controllers;
  await cluster.close();
});

const timeoutMs = 15_000;
/** Long enough for what must not happen to happen. */
const quietMs = 300;
const quiet = () => new Promise((resolve) => setTimeout(resolve, quietMs));

const reference = (owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid ?? '',
  ...more,
});

async function configMap(
  namespace: string,
  name: string,
  ownerReferences: OwnerReference[] = [],
  finalizers: string[] = [],
): Promise<ConfigMap> {
  return await client.create(client.kinds.ConfigMap, {
    metadata: { name, namespace, ownerReferences, finalizers },
  });
}

const stands = async (namespace: string, name: string) =>
  (await client.tryGet(client.kinds.ConfigMap, name, namespace)) !== undefined;

async function untilGone(namespace: string, name: string): Promise<void> {
  await waitForDeletion(client, client.kinds.ConfigMap, name, { namespace, timeoutMs });
}

/** Defines a kind at run time. */
async function defineKind(kind: string): Promise<KindRef<AnyObject>> {
  const group = 'test.example';
  const plural = `${kind.toLowerCase()}s`;
  const { CustomResourceDefinition } = client.kinds;
  await client.create(CustomResourceDefinition, {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  await waitFor(
    client,
    CustomResourceDefinition,
    `${plural}.${group}`,
    (one) =>
      one?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ??
      false,
    { timeoutMs },
  );
  return { kind, plural, group, version: 'v1', namespaced: true };
}

test('every namespace has its service account and the authority of the API, also after they were removed', async () => {
  const namespace = await freshNamespace(client);
  const { ConfigMap, ServiceAccount } = client.kinds;
  const has = async (kind: KindRef, name: string, where = namespace) =>
    await waitFor(client, kind, name, (one) => one !== undefined, { namespace: where, timeoutMs });
  await has(ServiceAccount, 'default');
  const published = (await has(ConfigMap, 'kube-root-ca.crt')) as ConfigMap;
  assert.equal(published.data?.['ca.crt'], cluster.caPem);
  await has(ServiceAccount, 'default', 'kube-system');
  await client.delete(ServiceAccount, 'default', { namespace });
  await has(ServiceAccount, 'default');
  await client.patch(
    ConfigMap,
    'kube-root-ca.crt',
    { data: { 'ca.crt': 'forged', more: '1' } },
    { namespace },
  );
  await waitFor(
    client,
    ConfigMap,
    'kube-root-ca.crt',
    (one) => one?.data?.['ca.crt'] === cluster.caPem && one.data.more === undefined,
    { namespace, timeoutMs },
  );
});

test(
  'kubectl delete namespace: all that is in it goes, Pods and custom objects too',
  needs('kubectl'),
  async () => {
    const namespace = await freshNamespace(client);
    const { kinds } = client;
    await makeReadyNode(client, 'node-of-namespaces');
    const Gadget = await defineKind('Gadget');
    await client.create(Gadget, { metadata: { name: 'g', namespace } });
    await client.create(kinds.Deployment, {
      metadata: { name: 'web', namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'main', image: 'a' }] },
        },
      },
    });
    await waitFor(client, kinds.Deployment, 'web', (one) => one?.status?.availableReplicas === 2, {
      namespace,
      timeoutMs,
    });
    const { code, output } = await runCommand('kubectl', [
      '--kubeconfig',
      cluster.kubeconfig,
      'delete',
      'namespace',
      namespace,
      '--timeout=10s',
    ]);
    assert.equal(code, 0, output);
    assert.equal(await client.tryGet(kinds.Namespace, namespace), undefined);
    for (const kind of [
      Gadget,
      kinds.Pod,
      kinds.Deployment,
      kinds.ConfigMap,
      kinds.ServiceAccount,
      kinds.Event,
    ]) {
      assert.deepEqual((await client.list(kind, { namespace })).items, [], kind.kind);
    }
    await client.delete(kinds.Node, 'node-of-namespaces');
  },
);

test('a namespace that is held back says what holds it, and takes nothing new', async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  await configMap(namespace, 'held', [], ['test.example/hold']);
  await client.delete(kinds.Namespace, namespace);
  const ending = await waitFor(
    client,
    kinds.Namespace,
    namespace,
    (one) => (one?.status?.conditions ?? []).length > 0,
    { timeoutMs },
  );
  const told = new Map(ending?.status?.conditions?.map((one) => [one.type, one]));
  assert.equal(
    told.get('NamespaceContentRemaining')?.message,
    'Some resources are remaining: configmaps. has 1 resource instances',
  );
  assert.equal(
    told.get('NamespaceFinalizersRemaining')?.message,
    'Some content in the namespace has finalizers remaining: test.example/hold in 1 resource instances',
  );
  assert.equal(told.get('NamespaceDeletionContentFailure')?.status, 'False');
  await assert.rejects(configMap(namespace, 'late'), isForbidden);
  await client.patch(kinds.ConfigMap, 'held', { metadata: { finalizers: null } }, { namespace });
  await waitForDeletion(client, kinds.Namespace, namespace, { timeoutMs });
});

test('what has lost its owner goes, down the whole line', async () => {
  const namespace = await freshNamespace(client);
  const top = await configMap(namespace, 'top');
  const middle = await configMap(namespace, 'middle', [reference(top)]);
  await configMap(namespace, 'bottom', [reference(middle)]);
  await quiet();
  assert.ok(await stands(namespace, 'bottom'));
  await client.delete(client.kinds.ConfigMap, 'top', { namespace, propagationPolicy: 'Background' });
  await untilGone(namespace, 'middle');
  await untilGone(namespace, 'bottom');
});

test('what never had its owner goes: another uid, another namespace, no such object', async () => {
  const namespace = await freshNamespace(client);
  const elsewhere = await configMap(await freshNamespace(client), 'elsewhere');
  const here = await configMap(namespace, 'here');
  const node = await client.create(client.kinds.Node, { metadata: { name: `owner-${namespace}` } });
  await configMap(namespace, 'kept', [reference(here)]);
  await configMap(namespace, 'of-cluster', [reference(node)]);
  await configMap(namespace, 'other-uid', [reference(here, { uid: 'f3f1c1f2-0000-4000-8000-000000000000' })]);
  await configMap(namespace, 'other-namespace', [reference(elsewhere)]);
  await configMap(namespace, 'unknown-kind', [
    reference(here, { apiVersion: 'nobody.example/v1', kind: 'What' }),
  ]);
  await untilGone(namespace, 'other-uid');
  await untilGone(namespace, 'other-namespace');
  await quiet();
  assert.ok(await stands(namespace, 'kept'));
  assert.ok(await stands(namespace, 'of-cluster'));
  assert.ok(await stands(namespace, 'unknown-kind'), 'nobody can say whether its owner is gone');
  await client.delete(client.kinds.Node, node.metadata.name);
  await untilGone(namespace, 'of-cluster');
});

test('of two owners one is enough; the other reference is dropped', async () => {
  const namespace = await freshNamespace(client);
  const one = await configMap(namespace, 'one');
  const two = await configMap(namespace, 'two');
  await configMap(namespace, 'shared', [reference(one), reference(two)]);
  await client.delete(client.kinds.ConfigMap, 'one', { namespace });
  await waitFor(
    client,
    client.kinds.ConfigMap,
    'shared',
    (shared) => shared?.metadata.ownerReferences?.length === 1,
    { namespace, timeoutMs },
  );
  await client.delete(client.kinds.ConfigMap, 'two', { namespace });
  await untilGone(namespace, 'shared');
});

test('foreground: the owner waits for those that block it, and no others', async () => {
  const namespace = await freshNamespace(client);
  const { ConfigMap } = client.kinds;
  const owner = await configMap(namespace, 'owner');
  const blocking = { blockOwnerDeletion: true };
  const held = await configMap(namespace, 'held', [reference(owner, blocking)], ['test.example/hold']);
  await configMap(namespace, 'below', [reference(held, blocking)]);
  await configMap(namespace, 'quick', [reference(owner, blocking)]);
  await configMap(namespace, 'loose', [reference(owner)], ['test.example/hold']);
  await client.delete(ConfigMap, 'owner', { namespace, propagationPolicy: 'Foreground' });
  await untilGone(namespace, 'quick');
  await untilGone(namespace, 'below');
  await quiet();
  assert.ok(await stands(namespace, 'owner'));
  await client.patch(ConfigMap, 'held', { metadata: { finalizers: null } }, { namespace });
  await untilGone(namespace, 'held');
  await untilGone(namespace, 'owner');
  await waitFor(client, ConfigMap, 'loose', (one) => one?.metadata.deletionTimestamp !== undefined, {
    namespace,
    timeoutMs,
  });
  await client.patch(ConfigMap, 'loose', { metadata: { finalizers: null } }, { namespace });
});

test('orphan: what is owned stays, without its owner', async () => {
  const namespace = await freshNamespace(client);
  const owner = await configMap(namespace, 'owner');
  await configMap(namespace, 'child', [reference(owner)]);
  await quiet();
  await client.delete(client.kinds.ConfigMap, 'owner', { namespace, propagationPolicy: 'Orphan' });
  await untilGone(namespace, 'owner');
  await quiet();
  const child = await client.get(client.kinds.ConfigMap, 'child', namespace);
  assert.deepEqual(child.metadata.ownerReferences ?? [], []);
});

test('custom kinds that come and go at run time own and are owned', async () => {
  const namespace = await freshNamespace(client);
  const { kinds } = client;
  const Widget = await defineKind('Widget');
  const widget = await client.create(Widget, { metadata: { name: 'w', namespace } });
  await configMap(namespace, 'of-widget', [reference(widget)]);
  const owner = await configMap(namespace, 'owner');
  await client.create(Widget, {
    metadata: { name: 'owned', namespace, ownerReferences: [reference(owner)] },
  });
  await quiet();
  assert.ok(await stands(namespace, 'of-widget'));
  await client.delete(kinds.ConfigMap, 'owner', { namespace });
  await waitForDeletion(client, Widget, 'owned', { namespace, timeoutMs });
  await client.delete(Widget, 'w', { namespace });
  await untilGone(namespace, 'of-widget');
  await client.delete(kinds.CustomResourceDefinition, 'widgets.test.example');
  await waitForDeletion(client, kinds.CustomResourceDefinition, 'widgets.test.example', { timeoutMs });
  await assert.rejects(client.list(Widget), isNotFound);
  const again = await defineKind('Widget');
  const late = await client.create(again, { metadata: { name: 'late', namespace } });
  await configMap(namespace, 'of-late', [reference(late)]);
  await client.delete(again, 'late', { namespace });
  await untilGone(namespace, 'of-late');
});
