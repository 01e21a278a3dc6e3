import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { prefixRange, RevisionStore } from './revisions.ts';

/** Keys that are written over and over, so that there is history to compact. */
const keysMax = 50;
const batchSize = 7;
/** By then each kill has come. */
const childMs = 30_000;

/**
 * Writes value n to key n modulo `keysMax`, n = 1, 2, …, in batches that are acknowledged on standard output, while it
 * compacts what was replaced and backs itself up to `backup-<revision that was acknowledged before>`.
 */
const program = `
  import { join } from 'node:path';
  import { RevisionStore } from ${JSON.stringify(join(import.meta.dirname, 'revisions.ts'))};
  import { backUpDatabase } from ${JSON.stringify(join(import.meta.dirname, 'backup.ts'))};
  const path = process.env.STORE;
  const first = Number(process.env.FIRST);
  const store = new RevisionStore(path);
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  async function backUp() {
    for (;;) {
      await backUpDatabase(path, join(path, '..', 'backup-' + store.revision)).catch(() => {});
      for (let wait = 0; wait < 20; wait += 1) await tick();
    }
  }
  void backUp();
  for (let n = store.revision - first, round = 1; ; round += 1) {
    const batch = Array.from({ length: ${batchSize} }, () => {
      n += 1;
      const key = 'cm/' + (n % ${keysMax});
      const value = String(n) + ' '.repeat(200);
      return store.put(key, store.getForWrite(key), () => value);
    });
    await Promise.all(batch.map((write) => write.committed));
    process.stdout.write(store.revision + '\\n');
    if (round % 4 === 0) while (store.compact(store.revision - 20)) await tick();
  }`;

/** Runs it until the fault, or for some milliseconds, kills it with -9. Returns the last revision that it acknowledged. */
async function runUntilKilled(
  path: string,
  first: number,
  kill: { fault: string } | { afterMs: number },
): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    {
      env: {
        ...process.env,
        STORE: path,
        FIRST: String(first),
        ...('fault' in kill ? { SLUICE_FAULT: kill.fault } : {}),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (output === '' && 'afterMs' in kill) setTimeout(() => child.kill('SIGKILL'), kill.afterMs);
    output += chunk.toString('utf8');
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, childMs);
  const signal = await new Promise((resolve) => child.on('close', (_, killed) => resolve(killed)));
  clearTimeout(timer);
  assert.ok(!late, `${JSON.stringify(kill)} never came`);
  assert.equal(signal, 'SIGKILL');
  // What follows the last line feed is no whole number.
  return Number(output.split('\n').at(-2) ?? 0);
}

/** Asserts that a database holds just what the program had written at its revision, and returns that. */
function check(path: string, first: number): number {
  const store = new RevisionStore(path);
  try {
    const written = store.revision - first;
    assert.equal(written % batchSize, 0, 'a part of a commit is visible');
    const expected = Array.from({ length: Math.min(written, keysMax) }, (_, at) => written - at)
      .map((n): [string, string] => [`cm/${n % keysMax}`, String(n)])
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const everything = prefixRange('cm/');
    assert.deepEqual(
      store.list(everything, store.revision, -1).map(([key, value]) => [key, value.trim()]),
      expected,
    );
    // The history that is said to be there is there.
    const since = [...store.since(everything, store.compacted)].map(({ revision }) => revision);
    assert.deepEqual(
      since,
      Array.from({ length: store.revision - store.compacted }, (_, at) => store.compacted + at + 1),
    );
    return store.revision;
  } finally {
    store.close();
  }
}

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Every backup that has its name is whole, and holds what was acknowledged before it began. */
function checkBackups(dir: string, first: number): number {
  const names = readdirSync(dir).filter((name) => /^backup-\d+$/.test(name));
  for (const name of names) {
    assert.ok(check(join(dir, name), first) >= Number(name.slice('backup-'.length)), name);
    for (const end of ['', '-wal', '-shm']) rmSync(join(dir, name + end), { force: true });
  }
  return names.length;
}

test('killed with -9 at each step of writing, compacting and backing up, it loses nothing acknowledged', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'cluster.db');
  let acknowledged = 0;
  let backups = 0;
  const faults = [
    ...['commit', 'backup'].flatMap((step) => [`apiserver-before-${step}`, `apiserver-after-${step}`]),
    'apiserver-in-compaction',
    'apiserver-after-compaction',
    'apiserver-before-commit:4',
    'apiserver-after-commit:9',
    'apiserver-in-compaction:3',
    'apiserver-before-backup:2',
    ...[1, 2, 5, 11, 17, 23, 31].map((nth) => `*:${nth}`),
  ];
  for (const fault of faults) {
    acknowledged = Math.max(acknowledged, await runUntilKilled(path, 0, { fault }));
    const stands = check(path, 0);
    assert.ok(stands >= acknowledged, `${fault}: ${stands} of ${acknowledged}`);
    backups += checkBackups(dir, 0);
  }
  assert.ok(backups > 0, 'no backup was made');
});

test('killed with -9 at moments of no choice, it loses nothing acknowledged', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'cluster.db');
  let acknowledged = 0;
  for (const afterMs of [0, 1, 3, 7, 15, 40, 90, 200]) {
    acknowledged = Math.max(acknowledged, await runUntilKilled(path, 0, { afterMs }));
    const stands = check(path, 0);
    assert.ok(stands >= acknowledged, `${afterMs} ms: ${stands} of ${acknowledged}`);
    checkBackups(dir, 0);
  }
  assert.ok(acknowledged > 100, `${acknowledged} writes only`);
});

for (const fault of ['apiserver-before-format', 'apiserver-after-format']) {
  test(`killed with -9 while a format is brought up to date (${fault}), it is of the one or the other`, async (t) => {
    const path = join(directory(t), 'cluster.db');
    copyFileSync(join(import.meta.dirname, 'format-1.db'), path);
    await runUntilKilled(path, 6, { fault });
    const store = new RevisionStore(path);
    assert.deepEqual([store.revision, store.compacted], [6, 3]);
    const kept = store.list(prefixRange('cm/'), 4, -1).map(([key, value]) => `${key}=${value}`);
    assert.deepEqual(kept, ['cm/a=2', 'cm/b=1', 'cm/gone=x']);
    store.close();
    assert.ok(!existsSync(`${path}-wal`));
  });
}
