import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { labels, names } from '../api/names.ts';
import { uninstallObjects } from './uninstall.ts';

test('of a ConfigMap with signatures of a release only what Sluice wrote is taken away', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client } = cluster;
  const { ConfigMap, Namespace } = client.kinds;
  const { configManagedNamespace: namespace } = names(client.platform);
  if ((await client.tryGet(Namespace, namespace)) === undefined)
    await client.create(Namespace, { metadata: { name: namespace } });
  const [digits, other] = ['a'.repeat(12), 'b'.repeat(64)];
  const ours: Record<string, string> = { [labels.releaseSignatures]: digits };
  const signature = Buffer.from('signature').toString('base64');
  const own = `sha256-${'a'.repeat(64)}-1`;
  const make = (name: string, binaryData: Record<string, string>, label = ours) =>
    client.create(ConfigMap, { metadata: { name, namespace, labels: label }, binaryData });
  await make('own', { [own]: signature });
  await make('shared', { [own]: signature, [`sha256-${other}-1`]: signature });
  await make('foreign', { [own]: signature }, {});
  const steps = await uninstallObjects(client, [], { keepData: false, dryRun: false });
  const taken = steps.filter((step) => step.namespace === namespace);
  assert.deepEqual(
    taken.map(({ act, name }) => `${act} ${name}`),
    ['delete own', 'release shared'],
  );
  assert.equal(await client.tryGet(ConfigMap, 'own', namespace), undefined);
  const { binaryData, metadata } = await client.get(ConfigMap, 'shared', namespace);
  assert.deepEqual(Object.keys(binaryData ?? {}), [`sha256-${other}-1`]);
  assert.equal(metadata.labels?.[labels.releaseSignatures], undefined);
  assert.ok(await client.tryGet(ConfigMap, 'foreign', namespace));
});
