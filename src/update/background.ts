import { setTimeout as after } from 'node:timers/promises';

/** What a read in the background has come to. */
export type Reading<T> =
  | { readonly state: 'done'; readonly value: T }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'pending' };

/** Milliseconds that a turn waits for a read before it goes on without it. */
const patienceMs = 2000;

/**
 * Reads that may take long (a registry on a slow line) go on beside the turns of a controller, so that what runs is
 * kept as it is meanwhile. One read of a kind at a time; another key gives the one before up.
 */
export class Background<T> {
  readonly #patienceMs: number;
  #current: { key: string; reading: Promise<Reading<T>> } | undefined;

  constructor(waitMs: number = patienceMs) {
    this.#patienceMs = waitMs;
  }

  /** The outcome of the read under this key, begun now or before; pending where it takes longer than a turn waits. */
  async of(key: string, read: () => Promise<T>): Promise<Reading<T>> {
    if (this.#current?.key !== key) {
      const reading = read().then(
        (value): Reading<T> => ({ state: 'done', value }),
        (error: unknown): Reading<T> => ({ state: 'failed', error }),
      );
      this.#current = { key, reading };
    }
    const { reading } = this.#current;
    const stop = new AbortController();
    const patience = after(this.#patienceMs, { state: 'pending' } as const, { signal: stop.signal }).catch(
      () => ({ state: 'pending' }) as const,
    );
    const outcome = await Promise.race([reading, patience]);
    stop.abort();
    // What has ended is told once; the next turn looks anew.
    if (outcome.state !== 'pending' && this.#current?.reading === reading) this.#current = undefined;
    return outcome;
  }
}
