import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import type { KubeObject } from '../api/core.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { withCaches } from './cached-client.ts';
import { createInformer } from './informer.ts';

let cluster: TestCluster;
const stop = new AbortController();
before(async () => {
  cluster = await startTestCluster();
});
after(async () => {
  stop.abort();
  await cluster.close();
});

test('what was written is seen at once, what others write soon, and an older word never hides a newer one', async () => {
  const { client } = cluster;
  const kind = client.kinds.FleetLockGroup;
  const informer = createInformer<KubeObject>(client, kind, { logger: silentLogger, signal: stop.signal });
  const cached = withCaches(client, [informer], systemClock);
  const slots = async () =>
    Object.fromEntries((await cached.all(kind)).map(({ metadata, spec }) => [metadata.name, spec?.slots]));
  await cached.create(kind, { metadata: { name: 'a' }, spec: { slots: 1 } });
  assert.deepEqual(await slots(), { a: 1 });
  for (let round = 2; round < 30; round += 1) {
    await cached.patch(kind, 'a', { spec: { slots: round } });
    assert.deepEqual(await slots(), { a: round });
    // Another one writes right after: its word must be there soon, however the two met.
    await client.patch(kind, 'a', { spec: { slots: round + 100 } });
    const end = systemClock.monotonic() + 5_000;
    while ((await slots()).a !== round + 100) {
      assert.ok(
        systemClock.monotonic() < end,
        `an older word hides a newer one: ${JSON.stringify(await slots())}`,
      );
      await systemClock.sleep(5);
    }
  }
  await client.delete(kind, 'a');
  while (Object.keys(await slots()).length > 0) await systemClock.sleep(5);
});
