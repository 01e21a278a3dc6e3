import { setTimeout as sleep } from 'node:timers/promises';

/** That a process alone works in a place. It ends with the process, however that ends. */
export interface Claim {
  release(): void;
}

const retryMs = 50;
/** The code of SQLite for what another connection holds (SQLITE_BUSY). */
const busy = 5;

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
      database.exec('BEGIN EXCLUSIVE');
      return { release: () => database.close() };
    } catch (error) {
      const isHeld = (error as { errcode?: number }).errcode === busy;
      if (!isHeld || Date.now() >= end) {
        database.close();
        if (isHeld) return undefined;
        throw error;
      }
    }
    await sleep(retryMs);
  }
}
