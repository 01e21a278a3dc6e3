import type { Clock } from '../src/observe/clock.ts';

export interface FakeClock extends Clock {
  /** Moves on by `ms`; every sleep that ends within them resolves, in order, and what it woke runs before the next. */
  advance(ms: number): Promise<void>;
  /** Somebody sets the wall clock by `ms`; for those who sleep nothing changes. */
  jump(ms: number): void;
  /** Milliseconds that those who sleep now still have to sleep, sorted. */
  sleeping(): number[];
}

/** A clock that moves only when it is told to. */
export function createFakeClock(startMs: number = Date.parse('2026-01-01T00:00:00Z')): FakeClock {
  let now = 0;
  let wallMs = startMs;
  const sleepers = new Set<{ dueMs: number; wake: () => void }>();
  return {
    now: () => wallMs + now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = {
          dueMs: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', sleeper.wake, { once: true });
      }),
    async advance(ms) {
      const endMs = now + ms;
      await settle();
      for (;;) {
        const next = [...sleepers].sort((a, b) => a.dueMs - b.dueMs)[0];
        if (next === undefined || next.dueMs > endMs) break;
        now = next.dueMs;
        next.wake();
        await settle();
      }
      now = endMs;
    },
    jump(ms) {
      wallMs += ms;
    },
    sleeping: () => [...sleepers].map((sleeper) => sleeper.dueMs - now).sort((a, b) => a - b),
  };
}

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
