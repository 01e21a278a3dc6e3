import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { shippedManifests } from '../../tests/shipped.ts';
import type { Pod } from '../api/core.ts';
import { names } from '../api/names.ts';
import { applyObject } from '../kube/apply.ts';
import { isForbidden } from '../kube/error.ts';

test('a node writes its own Pods and gets tokens for them alone', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { ClusterRole, ClusterRoleBinding, Pod, ServiceAccount } = client.kinds;
  await client.create(ClusterRole, {
    metadata: { name: 'node' },
    rules: [
      { apiGroups: [''], resources: ['pods', 'pods/status'], verbs: ['get', 'patch', 'delete'] },
      { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
    ],
  });
  await client.create(ClusterRoleBinding, {
    metadata: { name: 'node' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'node' },
    subjects: [{ kind: 'Group', name: 'system:nodes', apiGroup: 'rbac.authorization.k8s.io' }],
  });
  const namespace = 'default';
  for (const name of ['mine', 'other']) {
    await client.create(ServiceAccount, { metadata: { name, namespace } });
    await client.create(Pod, {
      metadata: { name, namespace },
      spec: {
        nodeName: name === 'mine' ? 'n0' : 'n1',
        serviceAccountName: name,
        containers: [{ name: 'c', image: 'x' }],
      },
    });
  }
  const node = await cluster.clientAs('system:node:n0', ['system:nodes']);
  t.after(() => node.close());
  const uidOf = async (name: string) => (await client.get(Pod, name, namespace)).metadata.uid;
  const token = async (account: string, pod?: string) => {
    const bound =
      pod === undefined ? undefined : { apiVersion: 'v1', kind: 'Pod', name: pod, uid: await uidOf(pod) };
    return await node.raw({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [], boundObjectRef: bound },
      },
    });
  };
  assert.ok(await token('mine', 'mine'));
  for (const [account, pod] of [['other'], ['mine'], ['other', 'mine'], ['other', 'other']] as const) {
    await assert.rejects(token(account, pod), isForbidden, `${account} by ${pod}`);
  }
  const status = { status: { phase: 'Running' } };
  const write = (name: string) =>
    node.patch(Pod, name, status, { namespace, subresource: 'status', type: 'merge' });
  await write('mine');
  await assert.rejects(write('other'), isForbidden);
  await assert.rejects(node.delete(Pod, 'other', { namespace }), isForbidden);
  await node.delete(Pod, 'mine', { namespace });
});

test('a node reads the Secrets and ConfigMaps that its Pods name, and no others', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { kinds } = client;
  for (const object of await shippedManifests(['00-namespaces.yaml', '30-nodes.yaml', '35-kubelets.yaml'])) {
    await applyObject(client, object);
  }
  const namespace = 'default';
  const uses = ['env', 'env-from', 'volume', 'projected', 'pull'];
  for (const name of [...uses, 'elsewhere', 'unnamed']) {
    await client.create(kinds.Secret, { metadata: { name, namespace } });
    await client.create(kinds.ConfigMap, { metadata: { name, namespace } });
  }
  const pod = (name: string, nodeName: string, spec: Partial<Pod['spec']>) =>
    client.create(kinds.Pod, {
      metadata: { name, namespace },
      spec: { nodeName, containers: [{ name: 'c', image: 'x' }], ...spec },
    });
  await pod('mine', 'n0', {
    imagePullSecrets: [{ name: 'pull' }],
    containers: [
      {
        name: 'c',
        image: 'x',
        env: [
          { name: 'A', valueFrom: { secretKeyRef: { name: 'env', key: 'a' } } },
          { name: 'B', valueFrom: { configMapKeyRef: { name: 'env', key: 'a' } } },
        ],
        envFrom: [{ secretRef: { name: 'env-from' } }, { configMapRef: { name: 'env-from' } }],
      },
    ],
    volumes: [
      { name: 'a', secret: { secretName: 'volume' } },
      { name: 'b', configMap: { name: 'volume' } },
      {
        name: 'c',
        projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected' } }] },
      },
    ],
  });
  await pod('other', 'n1', {
    volumes: [
      { name: 'a', secret: { secretName: 'elsewhere' } },
      { name: 'b', configMap: { name: 'elsewhere' } },
    ],
  });
  const node = await cluster.clientAs('system:node:n0', ['system:nodes']);
  t.after(() => node.close());
  for (const kind of [kinds.Secret, kinds.ConfigMap]) {
    for (const name of uses.filter((each) => each !== 'pull' || kind === kinds.Secret)) {
      assert.ok(await node.get(kind, name, namespace), `${kind.kind} ${name}`);
    }
    for (const name of ['elsewhere', 'unnamed']) {
      await assert.rejects(node.get(kind, name, namespace), isForbidden, `${kind.kind} ${name}`);
    }
    await assert.rejects(node.list(kind, { namespace }), isForbidden);
  }

  // What every node follows, by its name alone.
  const { machineConfigNamespace, registrySecret } = names('standalone');
  await client.create(kinds.Secret, {
    metadata: { name: registrySecret, namespace: machineConfigNamespace },
  });
  await client.create(kinds.Secret, { metadata: { name: 'tls', namespace: machineConfigNamespace } });
  const listed = (fieldSelector: string) =>
    node.list(kinds.Secret, { namespace: machineConfigNamespace, fieldSelector });
  assert.equal((await listed(`metadata.name=${registrySecret}`)).items.length, 1);
  for (const other of [
    'metadata.name=tls',
    `metadata.name!=${registrySecret}`,
    `type!=a\\,metadata.name=${registrySecret}`,
  ]) {
    await assert.rejects(listed(other), other);
  }
});
