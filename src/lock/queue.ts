import type { Clock } from '../observe/clock.ts';

/** Who is refused asks again after this many seconds at least, and at most. */
export const askAgainS = { least: 1, most: 10 } as const;
/** Questions a second that all who wait may ask together. */
const asksPerSecondMax = 20;
/** Who has not asked for this long waits no more. Milliseconds. */
const waitsMsMax = 60_000;
/** Clients that are counted; where more wait, the longest pause is right anyway. */
const countedMax = asksPerSecondMax * askAgainS.most;

/** Who was told to ask again, so that a few are told to do so soon, and a fleet does not ask all the time. */
export interface Queue {
  /** Notes a client that is refused. Returns the seconds after which it may ask again. */
  refused(id: string): number;
  /** It has a slot, or gives one back. */
  left(id: string): void;
}

export function createQueue(clock: Pick<Clock, 'monotonic'>): Queue {
  /** The last question of each, the latest at the end. */
  const asked = new Map<string, number>();
  return {
    refused(id) {
      const now = clock.monotonic();
      asked.delete(id);
      asked.set(id, now);
      for (const [oldest, at] of asked) {
        if (asked.size <= countedMax && now - at <= waitsMsMax) break;
        asked.delete(oldest);
      }
      return Math.min(askAgainS.most, Math.max(askAgainS.least, Math.ceil(asked.size / asksPerSecondMax)));
    },
    left: (id) => void asked.delete(id),
  };
}
