import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { isSluiceError } from '../../errors/error.ts';
import { backUpDatabase } from './backup.ts';
import { prefixRange, RevisionStore } from './revisions.ts';

function pathIn(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-database-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'cluster.db');
}

const everything = prefixRange('cm/');
const values = (store: RevisionStore, at = store.revision) =>
  store.list(everything, at, -1).map(([key, value]) => `${key}=${value}`);

function formatOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  database.close();
  return version;
}

test('a database of the format before is brought up to date, with its history', async (t) => {
  const path = pathIn(t);
  // Written by the version that knew format 1: six revisions, compacted at the third.
  copyFileSync(join(import.meta.dirname, 'format-1.db'), path);
  assert.equal(formatOf(path), 0);
  for (let opened = 0; opened < 2; opened += 1) {
    const store = new RevisionStore(path);
    assert.deepEqual([store.revision, store.compacted], [6 + opened, 3]);
    assert.deepEqual(values(store).slice(0, 2), ['cm/a=2', 'cm/b=2']);
    assert.deepEqual(values(store, 4), ['cm/a=2', 'cm/b=1', 'cm/gone=x']);
    assert.deepEqual(
      [...store.since(everything, 4)].slice(0, 2).map(({ key, deleted }) => [key, deleted]),
      [
        ['cm/gone', true],
        ['cm/b', false],
      ],
    );
    assert.throws(() => values(store, 2), /too old resource version/);
    await store.put(`cm/z${opened}`, undefined, () => 'new').committed;
    store.close();
    assert.equal(formatOf(path), 2);
  }
});

test('a database that a newer version wrote is refused, and stays as it was', (t) => {
  const path = pathIn(t);
  new RevisionStore(path).close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 3');
  database.close();
  assert.throws(
    () => new RevisionStore(path),
    (error) => isSluiceError(error, 'InputInvalid') && /has the format 3, known is 2/.test(error.message),
  );
  assert.equal(formatOf(path), 3);
});

test('the database of another program is not written to', (t) => {
  const path = pathIn(t);
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE music (title TEXT)');
  database.close();
  assert.throws(() => new RevisionStore(path), /it belongs to another program/);
  const after = new DatabaseSync(path, { readOnly: true });
  assert.deepEqual(
    after
      .prepare('SELECT name FROM sqlite_schema')
      .all()
      .map(({ name }) => name),
    ['music'],
  );
  after.close();
});

test('damaged pages are a clear error at the start, wherever they are', async (t) => {
  const path = pathIn(t);
  const store = new RevisionStore(path);
  for (let n = 0; n < 200; n += 1) {
    await store.put(`cm/${n}`, undefined, () => `${n}`.padEnd(300, 'x')).committed;
  }
  store.close();
  const whole = readFileSync(path);
  let told = 0;
  const pages = whole.length / 4096;
  for (let page = 0; page < pages; page += 1) {
    const damaged = Buffer.from(whole);
    damaged.fill(0xa5, page * 4096, page * 4096 + 200);
    writeFileSync(path, damaged);
    assert.throws(
      () => new RevisionStore(path),
      (error) => {
        assert.ok(isSluiceError(error, 'InputInvalid'), String(error));
        return /the database .* cannot be read/.test(error.message);
      },
      `page ${page}`,
    );
    told += 1;
  }
  assert.ok(told > 10);
});

test('a backup of a database that is being written to has every write that was acknowledged before', async (t) => {
  const path = pathIn(t);
  const store = new RevisionStore(path);
  let acknowledged = 0;
  let writing = true;
  t.after(() => {
    writing = false;
  });
  const writer = (async () => {
    while (writing) {
      const batch = Array.from({ length: 5 }, (_, at) =>
        store.put(`cm/${acknowledged + at}`, undefined, () => 'x'.repeat(200)),
      );
      await Promise.all(batch.map(({ committed }) => committed));
      acknowledged += batch.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  for (let number = 0; number < 3; number += 1) {
    while (acknowledged < (number + 1) * 300) await new Promise((resolve) => setTimeout(resolve, 2));
    const before = acknowledged;
    const out = `${path}.${number}`;
    const { bytes } = await backUpDatabase(path, out);
    assert.equal(bytes, readFileSync(out).length);
    const copy = new RevisionStore(out);
    assert.ok(copy.revision >= before, `${copy.revision} of ${before}`);
    assert.equal(values(copy).length, copy.revision);
    assert.equal(copy.revision % 5, 0, 'a part of a commit is in it');
    copy.close();
    await assert.rejects(backUpDatabase(path, out), (error) => isSluiceError(error, 'Conflict'));
  }
  writing = false;
  await writer;
  store.close();
  await assert.rejects(backUpDatabase(`${path}.none`, `${path}.x`), (error) =>
    isSluiceError(error, 'NotFound'),
  );
});
