import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Hold } from './hold.ts';

/** After something that failed: the first wait, doubled up to the longest. Milliseconds. */
export const setbackMs = { first: 5_000, most: 600_000 };

/** What staging or finalizing met last: it is not tried again at once, and each time it waits longer. */
export interface Setback {
  take(gate: 'staged' | 'finalize', reason: string, message: string): void;
  /** What holds the node because of it; undefined when it is tried again. */
  hold(): Hold | undefined;
  /** How often in a row staging failed. */
  stagingFailures(): number;
  /** It went well. */
  clear(): void;
}

export function createSetback(clock: Clock, logger: Logger): Setback {
  let last: { readonly hold: Hold; readonly count: number; readonly over: number } | undefined;
  return {
    take(gate, reason, message) {
      const count = (last?.hold.reason === reason ? last.count : 0) + 1;
      const waitMs = Math.min(setbackMs.first * 2 ** (count - 1), setbackMs.most);
      last = { count, over: clock.monotonic() + waitMs, hold: { gate, reason, message } };
      logger.warn(
        { reason, error: message, again: rfc3339(clock.now() + waitMs) },
        'finalization could not go on',
      );
    },
    hold() {
      const leftMs = (last?.over ?? 0) - clock.monotonic();
      return last === undefined || leftMs <= 0 ? undefined : { ...last.hold, opensAt: clock.now() + leftMs };
    },
    stagingFailures: () => (last?.hold.gate === 'staged' ? last.count : 0),
    clear() {
      last = undefined;
    },
  };
}
