import type { Clock } from '../observe/clock.ts';

/** Progress alone is written this often: an API that many nodes write to must not feel a copy. */
export const progressMs = 10_000;

/** Lets news through at once, and the same with other numbers only now and then. */
export interface WritePace {
  /** Whether to write now. @param news whether more than progress has changed. */
  isDue(news: boolean): boolean;
  /** Milliseconds until progress may be written again; 0: now. */
  remainingMs(): number;
  /** What was let through last was not written. */
  forget(): void;
}

export function createWritePace(everyMs: number, clock: Clock): WritePace {
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    isDue(news) {
      const now = clock.monotonic();
      if (!news && now < nextAt) return false;
      nextAt = now + everyMs;
      return true;
    },
    remainingMs: () => Math.max(0, nextAt - clock.monotonic()),
    forget() {
      nextAt = Number.NEGATIVE_INFINITY;
    },
  };
}
