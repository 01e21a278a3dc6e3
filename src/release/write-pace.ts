import type { Clock } from '../observe/clock.ts';

/** How long progress alone waits: an API that many nodes write to must not feel a copy. */
export interface Waits {
  /** Milliseconds after news: whoever has read them soon wants to see that it moves. */
  readonly afterNews: number;
  readonly afterProgress: number;
}

/** Of what people watch. */
export const progressWaits: Waits = { afterNews: 10_000, afterProgress: 20_000 };

/** Lets news through at once, and the same with other numbers only now and then. */
export interface WritePace {
  /** Whether to write now. @param news whether more than progress has changed. */
  isDue(news: boolean): boolean;
  /** Milliseconds until progress may be written again; 0: now. */
  remainingMs(): number;
  /** What was let through last was not written. */
  forget(): void;
}

export function createWritePace(waits: Waits, clock: Clock): WritePace {
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    isDue(news) {
      const now = clock.monotonic();
      if (!news && now < nextAt) return false;
      nextAt = now + (news ? waits.afterNews : waits.afterProgress);
      return true;
    },
    remainingMs: () => Math.max(0, nextAt - clock.monotonic()),
    forget() {
      nextAt = Number.NEGATIVE_INFINITY;
    },
  };
}
