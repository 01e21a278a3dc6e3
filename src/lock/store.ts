import type { Holder, Slots } from './slots.ts';

/** A group as a store knows it. Durations are milliseconds. */
export interface LockGroup extends Slots {
  readonly name: string;
  readonly minReadyMs: number;
  readonly overdueMs: number;
  /** Whether a node goes only drained, after `drainTimeoutMs` even so, or without a drain. */
  readonly drain: 'Required' | 'BestEffort' | 'None';
  readonly drainTimeoutMs: number;
}

/** What a decision about a group leads to; the same list of holders where it changes nothing. */
export interface Decision<T> {
  readonly holders: readonly Holder[];
  readonly result: T;
}

export type Decide<T> = (group: LockGroup) => Decision<T>;

/** Where the slots are kept. Each store passes the suite of store-suite.ts. */
export interface LockStore {
  /**
   * Changes the holders of a group by a pure function, which may be called again where another writer was faster.
   * Resolves when the change is durable; undefined where there is no such group.
   */
  change<T>(name: string, decide: Decide<T>): Promise<T | undefined>;
  groups(): Promise<readonly LockGroup[]>;
}

interface Waiting {
  readonly decide: Decide<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * Gathers what arrives for a group while its last write is still on the way, and decides all of it in one write: no
 * request races another of the same server, and a thousand cost no more writes than the disk can take.
 */
export function createGatherer(
  write: (name: string, decide: (group: LockGroup) => readonly Holder[]) => Promise<boolean>,
): <T>(name: string, decide: Decide<T>) => Promise<T | undefined> {
  const queues = new Map<string, Waiting[]>();

  async function drain(name: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0);
      let results: unknown[] = [];
      try {
        const known = await write(name, (group) => {
          results = [];
          let { holders } = group;
          for (const { decide } of batch) {
            const decided = decide({ ...group, holders });
            holders = decided.holders;
            results.push(decided.result);
          }
          return holders;
        });
        for (const [index, { resolve }] of batch.entries()) resolve(known ? results[index] : undefined);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    queues.delete(name);
  }

  return (name, decide) =>
    new Promise((resolve, reject) => {
      const waiting = { decide, resolve: resolve as (result: unknown) => void, reject };
      const queue = queues.get(name);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const begun = [waiting];
      queues.set(name, begun);
      void drain(name, begun);
    });
}
