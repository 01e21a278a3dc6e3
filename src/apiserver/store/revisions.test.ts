import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type Change, prefixRange, RevisionStore } from './revisions.ts';

function open(t: TestContext): { store: RevisionStore; path: string } {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  const path = join(dir, 'cluster.db');
  const store = new RevisionStore(path);
  t.after(() => {
    try {
      store.close();
    } catch {
      // The test has closed it.
    }
    rmSync(dir, { recursive: true, force: true });
  });
  return { store, path };
}

const everything = prefixRange('cm/');

async function write(store: RevisionStore, key: string, value: string): Promise<number> {
  const written = store.put(key, store.getForWrite(key), () => value);
  await written.committed;
  return written.revision;
}

async function remove(store: RevisionStore, key: string): Promise<number> {
  const before = store.getForWrite(key);
  assert.ok(before);
  const written = store.delete(key, before, () => before.value);
  await written.committed;
  return written.revision;
}

const values = (store: RevisionStore, at = store.revision) =>
  store.list(everything, at, -1).map(([key, value]) => `${key}=${value}`);

test('a written value is read back, at its revision and later', async (t) => {
  const { store } = open(t);
  const first = await write(store, 'cm/a', '1');
  const second = await write(store, 'cm/a', '2');
  assert.equal(store.get('cm/a')?.value, '2');
  assert.deepEqual(values(store, first), ['cm/a=1']);
  assert.deepEqual(values(store, second), ['cm/a=2']);
  assert.equal(second, first + 1);
});

test('reads see nothing that is not yet on the disk, writes see it', async (t) => {
  const { store } = open(t);
  const written = store.put('cm/a', undefined, () => '1');
  assert.equal(store.get('cm/a'), undefined);
  assert.equal(store.getForWrite('cm/a')?.value, '1');
  assert.equal(store.revision, 0);
  await written.committed;
  assert.equal(store.get('cm/a')?.value, '1');
});

test('writes of one turn share one commit', async (t) => {
  const { store } = open(t);
  const commits: number[] = [];
  store.onCommit((changes) => commits.push(changes.length));
  const writes = Array.from({ length: 50 }, (_, at) => store.put(`cm/${at}`, undefined, () => `${at}`));
  await Promise.all(writes.map(({ committed }) => committed));
  assert.deepEqual(commits, [50]);
});

test('a range holds the keys of its prefix, and goes on after a key', async (t) => {
  const { store } = open(t);
  for (const key of ['cm/a', 'cm/b', 'cm/b-x', 'cm0', 'cmx/a']) await write(store, key, key);
  assert.deepEqual(
    store.list(everything, store.revision, -1).map(([key]) => key),
    ['cm/a', 'cm/b', 'cm/b-x'],
  );
  const rest = store.list({ ...everything, after: 'cm/a' }, store.revision, 1);
  assert.deepEqual(
    rest.map(([key]) => key),
    ['cm/b'],
  );
  assert.equal(store.count('cm/'), 3);
});

test('the history after a revision has every change once, in order, with what was before', async (t) => {
  const { store } = open(t);
  await write(store, 'cm/a', '1');
  const from = store.revision;
  await write(store, 'cm/a', '2');
  await write(store, 'other/x', '-');
  await remove(store, 'cm/a');
  await write(store, 'cm/a', '3');
  const seen = [...store.since(everything, from)].map(({ value, deleted, before }) => [
    value,
    deleted,
    before,
  ]);
  assert.deepEqual(seen, [
    ['2', false, '1'],
    ['2', true, '2'],
    ['3', false, undefined],
  ]);
});

test('compaction keeps what stands, and refuses what it took away', async (t) => {
  const { store } = open(t);
  await write(store, 'cm/a', '1');
  await write(store, 'cm/gone', 'x');
  const old = store.revision;
  await write(store, 'cm/a', '2');
  await remove(store, 'cm/gone');
  const at = store.revision;
  await write(store, 'cm/a', '3');
  while (store.compact(at));
  assert.equal(store.compacted, at);
  assert.deepEqual(values(store), ['cm/a=3']);
  assert.deepEqual(values(store, at), ['cm/a=2']);
  assert.throws(() => values(store, old), /too old resource version/);
  assert.throws(() => [...store.since(everything, old)], /too old resource version/);
  assert.deepEqual(
    [...store.since(everything, at)].map(({ value, before }) => [value, before]),
    [['3', '2']],
  );
});

test('revisions never start again, even where the newest row was compacted', async (t) => {
  const { store, path } = open(t);
  await write(store, 'cm/a', '1');
  const last = await remove(store, 'cm/a');
  while (store.compact(last));
  store.close();
  const again = new RevisionStore(path);
  assert.equal(again.revision, last);
  assert.equal(await write(again, 'cm/b', '2'), last + 1);
  again.close();
});

test('the store agrees with a map of maps, whatever is written', async (t) => {
  const key = fc.constantFrom('cm/a', 'cm/b', 'cm/c', 'other/d');
  const step = fc.oneof(
    fc.record({ do: fc.constant('put' as const), key, value: fc.string() }),
    fc.record({ do: fc.constant('delete' as const), key, value: fc.constant('') }),
    fc.record({ do: fc.constant('settle' as const), key, value: fc.constant('') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { store } = open(t);
      assert.equal(store.count('cm/'), 0);
      const seen: Change[] = [];
      store.onCommit((changes) => seen.push(...changes));
      const now = new Map<string, string>();
      const history: [number, string[]][] = [];
      for (const { do: action, key: at, value } of steps) {
        const before = store.getForWrite(at);
        assert.equal(before?.value, now.get(at));
        if (action === 'put') {
          const { revision } = store.put(at, before, () => value);
          now.set(at, value);
          history.push([revision, listed(now)]);
        } else if (action === 'delete' && before !== undefined) {
          const { revision } = store.delete(at, before, () => before.value);
          now.delete(at);
          history.push([revision, listed(now)]);
        } else await store.settled();
      }
      await store.settled();
      assert.equal(store.count('cm/'), listed(now).length);
      for (const [revision, expected] of history) assert.deepEqual(values(store, revision), expected);
      assert.deepEqual(
        seen.map((change) => change.revision),
        history.map(([revision]) => revision),
      );
      assert.deepEqual(
        [...store.since(everything, 0)],
        seen.filter((change) => change.key.startsWith('cm/')),
      );
    }),
    { numRuns: 40 },
  );
});

function listed(now: ReadonlyMap<string, string>): string[] {
  return [...now]
    .filter(([key]) => key.startsWith('cm/'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`);
}

test('a full disk refuses writes, loses nothing, and goes on when there is space', async (t) => {
  const { store: setup, path } = open(t);
  setup.close();
  const store = new RevisionStore(path, { bytesMax: 200 * 1024 });
  await write(store, 'cm/before', 'kept');
  const text = (n: number) => `${n} ${'x'.repeat(30_000)}`;
  let last = 0;
  await assert.rejects(async () => {
    for (let n = 1; n < 12; n += 1) {
      await write(store, 'cm/grows', text(n));
      last = n;
    }
  }, /did not reach the disk: .*full/);
  assert.ok(last > 1);
  assert.equal(store.get('cm/grows')?.value, text(last));
  assert.equal(store.getForWrite('cm/grows')?.value, text(last));
  // What was replaced is history; without it there is space again.
  while (store.compact(store.revision));
  await write(store, 'cm/grows', text(99));
  assert.equal(store.get('cm/before')?.value, 'kept');
  store.close();
});

test('a file that is no database is a clear error', (t) => {
  const { store, path } = open(t);
  store.close();
  rmSync(path);
  assert.throws(() => new RevisionStore(tmpdir()), /the database .* cannot be read/);
});
