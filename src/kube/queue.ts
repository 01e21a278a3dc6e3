import { type Clock, systemClock } from '../observe/clock.ts';
import { type Backoff, backoffMs } from './backoff.ts';

/**
 * Keys that want work. A key is there once, however often it is added; while it is worked on, it is not handed
 * out again, and what was added meanwhile comes after. (The shape of client-go's workqueue.)
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after `ms`; of several delays the shortest counts. */
  addAfter(key: string, ms: number): void;
  /** Adds the key after its back-off, which grows with each call until `forget`. Returns the wait in ms. */
  addAfterFailure(key: string): number;
  /** The key succeeded: its back-off starts afresh. */
  forget(key: string): void;
  /** The next key, when there is one; undefined when the queue is closed. Each must be ended with `done`. */
  next(): Promise<string | undefined>;
  done(key: string): void;
  /** Nothing is handed out any more. */
  close(): void;
  /** Keys that wait for work now, without those that are delayed. */
  readonly length: number;
}

export const queueBackoff: Backoff = { firstMs: 200, factor: 2, mostMs: 300_000, jitter: 0.25 };

export function createQueue(
  options: { backoff?: Backoff; clock?: Clock; random?: () => number } = {},
): WorkQueue {
  const backoff = options.backoff ?? queueBackoff;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const waiting = new Set<string>();
  const working = new Set<string>();
  /** Worked on and added again meanwhile. */
  const again = new Set<string>();
  const failures = new Map<string, number>();
  const delayed = new Map<string, { dueMs: number; cancel: AbortController }>();
  const takers: ((key: string | undefined) => void)[] = [];
  let handing = false;
  let closed = false;

  /** Not before the present turn is over: what is added several times in one turn is one piece of work. */
  function hand(): void {
    if (handing) return;
    handing = true;
    queueMicrotask(handNow);
  }

  function handNow(): void {
    handing = false;
    while (takers.length > 0) {
      const [key] = waiting;
      if (key === undefined) return;
      waiting.delete(key);
      working.add(key);
      takers.shift()?.(key);
    }
  }

  function add(key: string): void {
    if (closed) return;
    delayed.get(key)?.cancel.abort();
    delayed.delete(key);
    if (working.has(key)) again.add(key);
    else waiting.add(key);
    hand();
  }

  function addAfter(key: string, ms: number): void {
    if (closed) return;
    if (ms <= 0) {
      add(key);
      return;
    }
    const dueMs = clock.monotonic() + ms;
    const standing = delayed.get(key);
    if (standing !== undefined && standing.dueMs <= dueMs) return;
    standing?.cancel.abort();
    const cancel = new AbortController();
    delayed.set(key, { dueMs, cancel });
    void clock.sleep(ms, cancel.signal).then(() => {
      if (!cancel.signal.aborted) add(key);
    });
  }

  return {
    add,
    addAfter,
    addAfterFailure(key) {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const waitMs = backoffMs(backoff, count, random);
      addAfter(key, waitMs);
      return waitMs;
    },
    forget(key) {
      failures.delete(key);
    },
    next() {
      return new Promise((resolve) => {
        if (closed) return resolve(undefined);
        takers.push(resolve);
        hand();
      });
    },
    done(key) {
      working.delete(key);
      if (again.delete(key)) waiting.add(key);
      hand();
    },
    close() {
      closed = true;
      waiting.clear();
      again.clear();
      for (const { cancel } of delayed.values()) cancel.abort();
      delayed.clear();
      for (const taker of takers.splice(0)) taker(undefined);
    },
    get length() {
      return waiting.size;
    },
  };
}
