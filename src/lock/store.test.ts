import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { createApiStore } from './api-store.ts';
import { openFileStore } from './file-store.ts';
import { lock, unlock } from './slots.ts';
import type { LockStore } from './store.ts';

const now = '2026-01-01T00:00:00Z';
const view = { overdue: () => false, undrained: false, drains: true };
const take = (store: LockStore, group: string, id: string) =>
  store.change(group, (slots) => {
    const outcome = lock(slots, { id }, now, view);
    return { holders: 'holders' in outcome ? outcome.holders : slots.holders, result: outcome.kind };
  });

async function fileStore(t: TestContext, slots = 10) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const open = () => openFileStore(dir, [{ name: 'default', slots }]);
  return { dir, open };
}

async function apiStore(t: TestContext) {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  await cluster.client.create(cluster.client.kinds.FleetLockGroup, {
    metadata: { name: 'default' },
    spec: { slots: 10 },
  });
  return cluster.client;
}

async function suite(stores: readonly [LockStore, LockStore] | readonly [LockStore]): Promise<void> {
  const [first] = stores;
  const asked = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      take(stores[index % stores.length] ?? first, 'default', `id-${index}`),
    ),
  );
  assert.equal(
    asked.filter((kind) => kind === 'granted').length,
    10,
    'B42: exactly as many as there are slots',
  );
  assert.equal(asked.filter((kind) => kind === 'full').length, 40);
  assert.equal(await take(first, 'unknown', 'a'), undefined);
  const [group] = await first.groups();
  assert.equal(group?.holders.length, 10);
  const id = group?.holders[0]?.id ?? '';
  await first.change('default', (slots) => ({ holders: unlock(slots, id), result: true }));
  assert.equal((await first.groups())[0]?.holders.length, 9);
}

test('B42 fifty at once for ten slots, in a directory', async (t) => {
  const { open } = await fileStore(t);
  const store = await open();
  await suite([store]);
  await store.close();
});

test('B42 fifty at once for ten slots, through two servers on one cluster', async (t) => {
  const client = await apiStore(t);
  await suite([createApiStore(client), createApiStore(client)]);
});

test('what was granted stands after a crash, a torn line was never acknowledged, rules are those of the last start', async (t) => {
  const { dir, open } = await fileStore(t, 1);
  const store = await open();
  assert.equal(await take(store, 'default', 'a'), 'granted');
  // No close: as kill -9 would leave it, in the middle of the next line.
  appendFileSync(join(dir, 'journal'), '["default",[{"id":"b"');
  const again = await openFileStore(dir, [{ name: 'default', slots: 2 }]);
  assert.deepEqual(
    (await again.groups()).map(({ slots, holders }) => [slots, holders.map(({ id }) => id)]),
    [[2, ['a']]],
  );
  assert.equal(await take(again, 'default', 'c'), 'granted', 'airlock#81: the new number of slots counts');
  await again.close();
  await store.close();
});

test('B30 a rule for the group default counts as it is written', async (t) => {
  const { dir } = await fileStore(t);
  const store = await openFileStore(dir, [{ name: 'default', slots: 3 }]);
  const kinds = await Promise.all(['a', 'b', 'c', 'd'].map((id) => take(store, 'default', id)));
  assert.deepEqual(kinds, ['granted', 'granted', 'granted', 'full']);
  await store.close();
});
