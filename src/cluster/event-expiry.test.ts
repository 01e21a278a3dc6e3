import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { createFakeClock } from '../../tests/fake-clock.ts';
import { silentLogger } from '../observe/log.ts';
import { createInformers } from './context.ts';
import { runEventExpiry } from './event-expiry.ts';

test('events that nothing was added to for an hour are forgotten', async (t) => {
  const cluster = await startTestCluster();
  const { client } = cluster;
  const { Event } = client.kinds;
  const stop = new AbortController();
  const clock = createFakeClock();
  const base = { client, logger: silentLogger, signal: stop.signal, clock };
  t.after(async () => {
    stop.abort();
    await cluster.close();
  });
  const at = (minutes: number) => `${new Date(clock.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`;
  const record = (name: string, firstTimestamp: string, lastTimestamp: string) =>
    client.create(Event, {
      metadata: { name, namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'n', namespace: 'default' },
      reason: 'Test',
      firstTimestamp,
      lastTimestamp,
    });
  await record('old', at(-90), at(-58));
  await record('counted-again', at(-90), at(-10));
  await record('young', at(0), at(0));
  const running = runEventExpiry({ ...base, random: Math.random, informers: createInformers(base) });
  await clock.advance(300_000);
  const names = async () =>
    (await client.list(Event, { namespace: 'default' })).items.map(({ metadata }) => metadata.name).sort();
  for (let turn = 0; turn < 200 && (await names()).length > 2; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.deepEqual(await names(), ['counted-again', 'young']);
  stop.abort();
  await running;
});
