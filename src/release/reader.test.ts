import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { names } from '../api/names.ts';
import { authorityKey, readerIdentity } from './reader.ts';

test('where the registries have an authority of their own, it is believed, and the password is asked for', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { registryCa: name, machineConfigNamespace: namespace } = names(client.platform);
  const identity = { caPem: 'A\n', certPem: 'C', keyPem: 'K' };
  assert.deepEqual(await readerIdentity(client, identity), identity, 'nothing is published');
  await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
  const publish = (bundle: string) => ({ metadata: { name, namespace }, data: { [authorityKey]: bundle } });
  await client.create(client.kinds.ConfigMap, publish('B\nA\n'));
  assert.deepEqual(
    await readerIdentity(client, identity),
    identity,
    'the cluster own authority is among them',
  );
  await client.patch(client.kinds.ConfigMap, name, { data: { [authorityKey]: 'B\n' } }, { namespace });
  assert.deepEqual(await readerIdentity(client, identity), { caPem: 'B\nA\n' });
});
