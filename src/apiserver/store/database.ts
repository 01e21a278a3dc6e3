import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { faultPoint } from '../../durable/fault.ts';
import { messageOf, SluiceError } from '../../errors/error.ts';

/**
 * Version of the format of the file, in its `user_version`. One of the version before is brought up to date when it
 * is opened, any other is refused. Format 1 said its version in the table `meta` alone.
 */
const storeFormat = 2;
/** `application_id` of the file (SQLite file format, section 1.3.14): "Slui", so that no other database is written to. */
const applicationId = 0x536c_7569;
/** Bytes of page cache of each of the two connections. */
const cacheKiB = 8 * 1024;
/** SQLite's own page size. */
const pageBytes = 4096;
/** Bytes to which the file may grow: what etcd recommends at most. */
export const databaseBytesMax = 8 * 1024 ** 3;
/** Bytes of a file that is looked through when it is opened; a larger one would make the start wait. */
const checkedBytesMax = 256 * 1024 ** 2;

/** Opens the file with durable commits. Errors: InputInvalid where it is no database. */
export function openDatabase(path: string, bytesMax: number): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 5_000 });
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -${cacheKiB}`);
    database.exec(`PRAGMA max_page_count = ${Math.floor(bytesMax / pageBytes)}`);
    return database;
  } catch (error) {
    database?.close();
    throw unreadable(path, messageOf(error), error);
  }
}

/**
 * Makes the file one of this format: a new one is laid out, one of the format before is brought up to date.
 * Errors: InputInvalid where it is damaged, belongs to another program, or a newer version wrote it.
 */
export function prepareDatabase(database: DatabaseSync, path: string): void {
  const pragma = (name: string) =>
    Number((database.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[name]);
  const tables = new Set(
    (database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]).map(
      ({ name }) => name,
    ),
  );
  const isOurs = pragma('application_id') === applicationId || (tables.has('revision') && tables.has('meta'));
  if (tables.size > 0 && !isOurs) throw unreadable(path, 'it belongs to another program');
  const format = tables.size === 0 ? 0 : pragma('user_version') || formatOfMeta(database);
  if (format > storeFormat || (format > 0 && format < storeFormat - 1)) {
    throw new SluiceError('InputInvalid', `${path} has the format ${format}, known is ${storeFormat}`, {
      next: 'Start the version of Sluice that wrote it, or a newer one.',
    });
  }
  if (format !== 0) checkPages(database, path);
  // What is up to date already is opened without a write, so that a full disk still serves what it holds.
  if (format === storeFormat && pragma('application_id') === applicationId) return;
  try {
    layOut(database);
  } catch (error) {
    throw unreadable(path, messageOf(error), error);
  }
}

function layOut(database: DatabaseSync): void {
  database.exec(`BEGIN IMMEDIATE;
    ${schemaSql}
    UPDATE meta SET value = ${storeFormat} WHERE name = 'format';
    PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${storeFormat}`);
  faultPoint('apiserver-before-format');
  database.exec('COMMIT');
  faultPoint('apiserver-after-format');
}

function formatOfMeta(database: DatabaseSync): number {
  const row = database.prepare("SELECT value FROM meta WHERE name = 'format'").get() as
    | { value: number }
    | undefined;
  return Number(row?.value ?? 0);
}

/** A damaged page is told now, not by the request that comes upon it. */
function checkPages(database: DatabaseSync, path: string): void {
  if (statSync(path).size > checkedBytesMax) return;
  let found: string;
  try {
    const row = database.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
    found = row.quick_check;
  } catch (error) {
    throw unreadable(path, messageOf(error), error);
  }
  if (found !== 'ok') throw unreadable(path, found.replaceAll('\n', ' '));
}

/** What SQLite says of a full disk (SQLITE_FULL), with the extended codes. */
export function isDiskFull(error: unknown): boolean {
  return ((error as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === 13;
}

function unreadable(path: string, why: string, cause?: unknown): SluiceError {
  if (isDiskFull(cause)) return new SluiceError('DiskFull', `no space left to write ${path}`, { cause });
  return new SluiceError('InputInvalid', `the database ${path} cannot be read: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    next: 'Put a backup in its place (sluice apiserver backup makes them), or move it away to start with an empty cluster.',
  });
}

/** What the file says of itself. */
export function readMeta(database: DatabaseSync): { revision: number; compacted: number } {
  const rows = database.prepare('SELECT name, value FROM meta').all() as { name: string; value: number }[];
  const meta = Object.fromEntries(rows.map((row) => [row.name, row.value]));
  const top = database.prepare('SELECT MAX(revision) AS top FROM revision').get() as { top: number | null };
  return {
    revision: Math.max(meta.revision ?? 0, top.top ?? 0),
    compacted: meta.compacted ?? 0,
  };
}

const schemaSql = `
CREATE TABLE IF NOT EXISTS revision (
  revision INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  previous INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  value TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS revision_by_key ON revision (key, revision, deleted);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT OR IGNORE INTO meta VALUES ('format', ${storeFormat}), ('revision', 0), ('compacted', 0);
`;

// Walks the index in the order of keys, so that nothing is sorted and a limit ends it early; the row of the table is
// only read for a version that is the newest of its key.
const newestSql = `FROM revision AS r INDEXED BY revision_by_key
  WHERE r.key >= ?1 AND r.key < ?2 AND r.revision <= ?3 AND r.deleted = 0 AND NOT EXISTS (
    SELECT 1 FROM revision AS n WHERE n.key = r.key AND n.revision > r.revision AND n.revision <= ?3)`;
export const listSql = `SELECT r.key, r.value, r.revision ${newestSql} ORDER BY r.key LIMIT ?4`;
export const countSql = `SELECT COUNT(*) AS n ${newestSql}`;
export const compactSql = `DELETE FROM revision WHERE revision IN (
  SELECT o.revision FROM revision AS o INDEXED BY revision_by_key WHERE o.revision <= ? AND (o.deleted = 1 OR EXISTS (
    SELECT 1 FROM revision AS n WHERE n.key = o.key AND n.revision > o.revision AND n.revision <= ?))
  LIMIT ?)`;
