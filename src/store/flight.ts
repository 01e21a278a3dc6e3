import type { Digest } from '../oci/digest.ts';

/** One at a time per digest: whoever comes later waits, and then sees what the first one left. */
export interface SingleFlight {
  /** Resolves when nobody else works on it; what it answers lets the next one in. Errors: the signal's reason. */
  enter(digest: Digest, signal?: AbortSignal): Promise<() => void>;
  has(digest: Digest): boolean;
}

export function createSingleFlight(): SingleFlight {
  const running = new Map<Digest, Promise<void>>();
  return {
    async enter(digest, signal) {
      for (let other = running.get(digest); other !== undefined; other = running.get(digest)) {
        await orAborted(other, signal);
      }
      signal?.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      running.set(digest, promise);
      return () => {
        running.delete(digest);
        resolve();
      };
    },
    has: (digest) => running.has(digest),
  };
}

async function orAborted(other: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return await other;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([other, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
