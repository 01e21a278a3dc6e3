import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than any part takes that ends at all, shorter than a file of tests may take. */
const partMsMax = 60_000;

/**
 * Ends the parts of a test's world, the last first. A part that fails or does not end is told, and keeps none of the
 * others from ending: what is left running holds the process of the test file until its time is up.
 */
export class Closing {
  readonly #parts: { readonly what: string; readonly end: () => unknown }[] = [];

  /** @param end called once, when the world ends or did not come up. */
  add(what: string, end: () => unknown): void {
    this.#parts.push({ what, end });
  }

  /** Runs what brings up a part of the world; where it fails everything that stands already is ended. */
  async unless<T>(bringUp: () => Promise<T>): Promise<T> {
    try {
      return await bringUp();
    } catch (error) {
      await this.close().catch((also: unknown) => console.error(also));
      throw error;
    }
  }

  async close(msMax: number = partMsMax): Promise<void> {
    const failures: unknown[] = [];
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      const { what, end } = part;
      const timer = new AbortController();
      const tooLong = sleep(msMax, undefined, { signal: timer.signal }).then(() => {
        throw new Error(`${what} does not end`);
      });
      try {
        await Promise.race([(async () => await end())(), tooLong]);
      } catch (error) {
        failures.push(error);
      } finally {
        timer.abort();
        tooLong.catch(() => {});
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'parts of the test did not end well');
  }
}
