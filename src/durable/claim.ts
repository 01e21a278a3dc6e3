import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '../errors/error.ts';

/** That a process alone works in a place. It ends with the process, however that ends. */
export interface Claim {
  release(): void;
}

const retryMs = 50;
/** Codes of SQLite: another connection holds it (SQLITE_BUSY), the disk is full (SQLITE_FULL). */
const busy = 5;
const full = 13;

/**
 * Claims a file, which is made where it is missing and stays. The claim is a lock of the kernel, taken by way of
 * SQLite since Node.js has no call for it. Undefined where another process, or this one, holds it for `waitMs`.
 */
export async function claimFile(path: string, waitMs = 0): Promise<Claim | undefined> {
  const { DatabaseSync } = await import('node:sqlite');
  const end = Date.now() + waitMs;
  const database = new DatabaseSync(path, { timeout: 0 });
  for (;;) {
    try {
      // Nothing is ever written here; without a journal a full disk hinders no claim.
      database.exec('PRAGMA journal_mode = MEMORY');
      database.exec('BEGIN EXCLUSIVE');
      return { release: () => database.close() };
    } catch (error) {
      const isHeld = (error as { errcode?: number }).errcode === busy;
      if (!isHeld || Date.now() >= end) {
        database.close();
        if (isHeld) return undefined;
        if ((error as { errcode?: number }).errcode !== full) throw error;
        throw new SluiceError('DiskFull', `no space left to write ${path}`, { cause: error });
      }
    }
    await sleep(retryMs);
  }
}
