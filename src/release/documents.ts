import { openBundle } from '../bundle/bundle.ts';
import type { BundleDocument } from '../bundle/document.ts';
import { messageOf } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { TrustedKey } from '../trust/keys.ts';

export interface Documents {
  /** The signed documents of these bundles, as far as they can be read now. */
  read(digests: readonly Digest[]): Promise<ReadonlyMap<Digest, BundleDocument>>;
}

/** How long one that could not be read is left alone. */
const retryMs = 1_500;

/**
 * Signed documents by identity: a digest never changes its meaning, so each is read and verified once. Those that are
 * not asked for any more are forgotten: a cluster sees many releases come and go while one process runs.
 */
export function createDocuments(options: {
  readonly content: ContentSource;
  readonly keys: () => Promise<readonly TrustedKey[]>;
  readonly clock: Clock;
  readonly logger: Logger;
}): Documents {
  const { clock, logger } = options;
  const known = new Map<Digest, BundleDocument>();
  const retryAt = new Map<Digest, number>();
  return {
    async read(digests) {
      const wanted = new Set(digests);
      for (const memory of [known, retryAt]) {
        for (const digest of memory.keys()) if (!wanted.has(digest)) memory.delete(digest);
      }
      const missing = digests.filter(
        (digest) => !known.has(digest) && (retryAt.get(digest) ?? 0) <= clock.now(),
      );
      const keys = missing.length === 0 ? [] : await options.keys();
      for (const digest of missing) {
        try {
          known.set(digest, (await openBundle(options.content, { digest }, keys)).document);
        } catch (error) {
          retryAt.set(digest, clock.now() + retryMs);
          logger.info({ digest, error: messageOf(error) }, 'bundle cannot be read yet');
        }
      }
      return new Map(
        digests.flatMap((digest) => {
          const document = known.get(digest);
          return document === undefined ? [] : [[digest, document] as const];
        }),
      );
    },
  };
}
