import type { Clock } from '../observe/clock.ts';

/** Secrets are read again after this long, and sooner where one is shown that is not among them. Milliseconds. */
const rememberMs = { shown: 1_000, most: 10_000 };

/**
 * Remembers what is accepted, so that whoever tries many keeps nothing busy. Where it cannot be read, what was read last
 * counts; before that nobody is let in.
 */
export function rememberSecrets(
  read: () => Promise<readonly string[]>,
  clock: Pick<Clock, 'monotonic'>,
): (fresh: boolean) => Promise<readonly string[]> {
  let known: { readonly at: number; readonly secrets: Promise<readonly string[]> } | undefined;
  return async (fresh) => {
    const before = known;
    const age = before === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - before.at;
    if (before !== undefined && age < (fresh ? rememberMs.shown : rememberMs.most))
      return await before.secrets;
    const reading = {
      at: clock.monotonic(),
      secrets: read().catch(async (error: unknown) => {
        const last = await before?.secrets.catch(() => undefined);
        if (last !== undefined) return last;
        // What could not be read is not worth remembering: who asks next reads again.
        if (known === reading) known = undefined;
        throw error;
      }),
    };
    known = reading;
    return await reading.secrets;
  };
}
