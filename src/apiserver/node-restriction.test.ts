import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
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
