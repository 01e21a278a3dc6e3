import { DatabaseSync } from 'node:sqlite';
import { messageOf, SluiceError } from '../../errors/error.ts';

/** Version of the format of the file; a file of a later one is refused. */
const storeFormat = 1;
/** Bytes of page cache of each of the two connections. */
const cacheKiB = 8 * 1024;
/** SQLite's own page size. */
const pageBytes = 4096;
/** Bytes to which the file may grow: what etcd recommends at most. */
export const databaseBytesMax = 8 * 1024 ** 3;

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
    throw new SluiceError('InputInvalid', `the database ${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
      next: 'Put a backup in its place, or move it away to start with an empty cluster.',
    });
  }
}

/** What the file says of itself. Errors: InputInvalid where a newer version wrote it. */
export function readMeta(database: DatabaseSync, path: string): { revision: number; compacted: number } {
  const rows = database.prepare('SELECT name, value FROM meta').all() as { name: string; value: number }[];
  const meta = Object.fromEntries(rows.map((row) => [row.name, row.value]));
  const top = database.prepare('SELECT MAX(revision) AS top FROM revision').get() as { top: number | null };
  if (meta.format !== storeFormat) {
    throw new SluiceError('InputInvalid', `${path} has the format ${meta.format}, known is ${storeFormat}`, {
      next: 'Start the version of Sluice that wrote it, or a newer one.',
    });
  }
  return {
    revision: Math.max(meta.revision ?? 0, top.top ?? 0),
    compacted: meta.compacted ?? 0,
  };
}

export const schemaSql = `
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
