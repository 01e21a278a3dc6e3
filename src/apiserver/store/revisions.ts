import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { faultPoint } from '../../durable/fault.ts';
import { messageOf } from '../../errors/error.ts';
import { expired, unavailable } from '../status.ts';
import {
  compactSql,
  countSql,
  databaseBytesMax,
  isDiskFull,
  listSql,
  openDatabase,
  prepareDatabase,
  readMeta,
} from './database.ts';

/** One version of one key. `value` is JSON text, stored and served as it is. */
export interface Revision {
  readonly revision: number;
  readonly key: string;
  /** The last value where the key was deleted by this revision. */
  readonly value: string;
  readonly deleted: boolean;
  /** The revision that this one replaced; 0 where the key was new. */
  readonly previous: number;
}

/** What a committed write tells those who watch. */
export interface Change extends Revision {
  /** The value before it; undefined where the key was new. */
  readonly before: string | undefined;
}

/** Rows that one compaction step looks at, so that requests wait for none of them for long. */
const compactionRowsMax = 2_000;

/** Prefixes whose number of keys is kept. */
const countsMax = 64;

/**
 * The one append-only table behind the API: every write is a row with the next revision, what is current is the
 * last row of a key. Writes of one turn of the event loop share a transaction and its fsync; `committed` resolves
 * after it. Reads see only what is committed, except those that a write makes about its own key.
 */
export class RevisionStore {
  readonly #writer: DatabaseSync;
  readonly #reader: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #pendingGet: StatementSync;
  readonly #get: StatementSync;
  readonly #at: StatementSync;
  readonly #list: StatementSync;
  readonly #count: StatementSync;
  readonly #since: StatementSync;
  #lastRevision: number;
  #committedRevision: number;
  #compacted: number;
  #batch: Batch | undefined;
  readonly #counts = new Map<string, number>();
  #broken: Error | undefined;
  readonly #listeners = new Set<(changes: readonly Change[]) => void>();

  /** @param options.bytesMax bytes to which the file may grow */
  constructor(path: string, options: { bytesMax?: number } = {}) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const bytesMax = options.bytesMax ?? databaseBytesMax;
    this.#writer = openDatabase(path, bytesMax);
    try {
      prepareDatabase(this.#writer, path);
    } catch (error) {
      this.#writer.close();
      throw error;
    }
    this.#reader = openDatabase(path, bytesMax);
    this.#reader.exec('PRAGMA query_only = ON');
    const meta = readMeta(this.#writer);
    this.#lastRevision = meta.revision;
    this.#committedRevision = meta.revision;
    this.#compacted = meta.compacted;
    this.#insert = this.#writer.prepare(
      'INSERT INTO revision (revision, key, previous, deleted, value) VALUES (?, ?, ?, ?, ?)',
    );
    const latest = 'SELECT * FROM revision WHERE key = ? ORDER BY revision DESC LIMIT 1';
    this.#pendingGet = this.#writer.prepare(latest);
    this.#get = this.#reader.prepare(latest);
    this.#at = this.#reader.prepare('SELECT value FROM revision WHERE revision = ?');
    this.#list = this.#reader.prepare(listSql);
    this.#list.setReturnArrays(true);
    this.#count = this.#reader.prepare(countSql);
    this.#since = this.#reader.prepare(
      'SELECT * FROM revision WHERE revision > ? AND revision <= ? AND key >= ? AND key < ? ORDER BY revision',
    );
  }

  /** The newest revision that is on the disk. */
  get revision(): number {
    return this.#committedRevision;
  }

  /** History up to here is gone; lists at it and watches from before it answer 410. */
  get compacted(): number {
    return this.#compacted;
  }

  /** The committed version of a key; undefined where it does not exist. */
  get(key: string): Revision | undefined {
    return live(this.#get.get(key));
  }

  /** As `get`, with writes that are not yet on the disk: what a write decides by. */
  getForWrite(key: string): Revision | undefined {
    return live((this.#batch === undefined ? this.#get : this.#pendingGet).get(key));
  }

  /**
   * The values of a range of keys as they stood at a revision, in the order of keys.
   * @param range.after exclusive lower bound to go on from
   * @throws 410 where that history is compacted
   */
  list(range: KeyRange, at: number, limit: number): ListedRow[] {
    if (at < this.#compacted) throw expired(tooOldMessage(at, this.#compacted));
    const from = range.after === undefined ? range.from : `${range.after}\u0000`;
    return this.#list.all(from, range.to, at, limit) as unknown as ListedRow[];
  }

  /** How many keys with a prefix exist now. Counted once, then kept up with each commit. */
  count(prefix: string): number {
    let count = this.#counts.get(prefix);
    if (count === undefined) {
      const { from, to } = prefixRange(prefix);
      count = Number((this.#count.get(from, to, this.#committedRevision) as { n: number }).n);
      if (this.#counts.size >= countsMax) this.#counts.clear();
      this.#counts.set(prefix, count);
    }
    return count;
  }

  #countChanges(changes: readonly Change[]): void {
    for (const [prefix, count] of this.#counts) {
      let moved = 0;
      for (const { key, before, deleted } of changes) {
        if (key.startsWith(prefix)) moved += (deleted ? 0 : 1) - (before === undefined ? 0 : 1);
      }
      if (moved !== 0) this.#counts.set(prefix, count + moved);
    }
  }

  /**
   * What happened in a range after a revision, up to what is committed.
   * @throws 410 where that history is compacted
   */
  *since(range: KeyRange, after: number): Generator<Change> {
    if (after < this.#compacted) throw expired(tooOldMessage(after, this.#compacted));
    for (const row of this.#since.iterate(after, this.#committedRevision, range.from, range.to)) {
      const change = toRevision(row);
      const before =
        change.previous === 0
          ? undefined
          : (this.#at.get(change.previous) as { value: string } | undefined)?.value;
      yield { ...change, before };
    }
  }

  /** Resolves once everything that was written so far is on the disk. */
  async settled(): Promise<void> {
    await this.#batch?.done;
  }

  /** Called after each commit with its changes, in the order of revisions. Returns the way to end it. */
  onCommit(listener: (changes: readonly Change[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Appends a version of a key. Decide by `getForWrite` in the same turn of the event loop.
   * @param before what `getForWrite` gave
   * @param value makes the text, given the revision it will have
   * @returns the revision, and a promise that resolves once it is on the disk
   */
  put(key: string, before: Revision | undefined, value: (revision: number) => string): Written {
    return this.#append(key, before, false, value);
  }

  /** Ends a key. @param value makes the last text, as watchers of the deletion see it */
  delete(key: string, before: Revision, value: (revision: number) => string): Written {
    return this.#append(key, before, true, value);
  }

  #append(
    key: string,
    before: Revision | undefined,
    deleted: boolean,
    value: (revision: number) => string,
  ): Written {
    if (this.#broken !== undefined) throw unavailable(`the database failed: ${this.#broken.message}`);
    const revision = this.#lastRevision + 1;
    const text = value(revision);
    const batch = this.#begin();
    const previous = before?.revision ?? 0;
    try {
      this.#insert.run(revision, key, previous, deleted ? 1 : 0, text);
    } catch (error) {
      throw this.#fail(batch, error);
    }
    this.#lastRevision = revision;
    batch.changes.push({ revision, key, value: text, deleted, previous, before: before?.value });
    return { revision, value: text, committed: batch.done };
  }

  #begin(): Batch {
    if (this.#batch === undefined) {
      this.#writer.exec('BEGIN IMMEDIATE');
      this.#batch = newBatch();
      setImmediate(() => this.#commit());
    }
    return this.#batch;
  }

  #commit(): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    try {
      faultPoint('apiserver-before-commit');
      this.#writer.exec('COMMIT');
      faultPoint('apiserver-after-commit');
    } catch (error) {
      this.#fail(batch, error);
      return;
    }
    this.#committedRevision = this.#lastRevision;
    this.#countChanges(batch.changes);
    batch.resolve();
    for (const listener of this.#listeners) listener(batch.changes);
  }

  /** Undoes a batch: none of its writes counts. A full disk may be freed; after anything else nothing is written. */
  #fail(batch: Batch, cause: unknown): Error {
    this.#batch = undefined;
    if (this.#writer.isTransaction) this.#writer.exec('ROLLBACK');
    this.#lastRevision = this.#committedRevision;
    const message = messageOf(cause);
    if (!isDiskFull(cause)) this.#broken = cause instanceof Error ? cause : new Error(message);
    const failure = unavailable(`the write did not reach the disk: ${message}`);
    batch.reject(failure);
    return failure;
  }

  /**
   * Drops versions that were replaced or deleted at or before a revision. Works in steps; returns whether more is
   * left. History before `upTo` is out of reach from the first step on.
   */
  compact(upTo: number): boolean {
    if (this.#batch !== undefined) this.#commit();
    const target = Math.min(upTo, this.#committedRevision);
    if (target > this.#compacted) {
      this.#writer.prepare("UPDATE meta SET value = ? WHERE name = 'compacted'").run(target);
      this.#compacted = target;
    }
    this.#writer.prepare("UPDATE meta SET value = ? WHERE name = 'revision'").run(this.#committedRevision);
    faultPoint('apiserver-in-compaction');
    const result = this.#writer.prepare(compactSql).run(this.#compacted, this.#compacted, compactionRowsMax);
    faultPoint('apiserver-after-compaction');
    return Number(result.changes) === compactionRowsMax;
  }

  close(): void {
    this.#commit();
    this.#reader.close();
    try {
      this.#writer.exec('PRAGMA optimize');
    } catch {
      // On a full disk; it is of use only, not of need.
    }
    this.#writer.close();
  }
}

/** A range of keys: `from` inclusive, `to` exclusive; `after` (exclusive) moves the start on. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
  readonly after?: string;
}

/** [key, value, revision] */
export type ListedRow = [key: string, value: string, revision: number];

export interface Written {
  readonly revision: number;
  readonly value: string;
  readonly committed: Promise<void>;
}

interface Batch {
  readonly changes: Change[];
  readonly done: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function newBatch(): Batch {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  promise.catch(() => {}); // Each writer awaits it; one that went away is no unhandled rejection.
  return { changes: [], done: promise, resolve, reject };
}

/** Every key that starts with `prefix`, which ends in a slash. */
export function prefixRange(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { from: prefix, to: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}

function tooOldMessage(asked: number, compacted: number): string {
  return `too old resource version: ${asked} (${compacted})`;
}

function live(row: unknown): Revision | undefined {
  if (row === undefined) return undefined;
  const revision = toRevision(row);
  return revision.deleted ? undefined : revision;
}

function toRevision(row: unknown): Revision {
  const { revision, key, value, deleted, previous } = row as Record<keyof Revision, never>;
  return { revision, key, value, deleted: deleted === 1, previous };
}
