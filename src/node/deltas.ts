import type { Delta } from '../bundle/delta.ts';
import type { Digest } from '../oci/digest.ts';
import type { Store } from '../store/store.ts';
import type { Attachment } from './attachments.ts';

/** Bytes that deltas on attached media leave out and that this node's store does not have, by bundle. */
export interface DeltaCheck {
  /** Looks again where the media or what the store holds have changed. */
  look(attachments: readonly Attachment[], holds: string): Promise<void>;
  missingBytes(bundle: Digest): number | undefined;
}

export function createDeltaCheck(store: Pick<Store, 'blobState'>): DeltaCheck {
  let missing = new Map<Digest, number>();
  let seen = '';
  return {
    async look(attachments, holds) {
      const deltas = deltasOn(attachments);
      const now = JSON.stringify([holds, [...deltas.keys()].sort()]);
      if (now === seen) return;
      const found = new Map<Digest, number>();
      for (const [bundle, { lacks }] of deltas) {
        let bytes = 0;
        for (const [digest, size] of lacks) {
          if ((await store.blobState(digest, size)) !== 'verified') bytes += size;
        }
        found.set(bundle, bytes);
      }
      missing = found;
      seen = now;
    },
    missingBytes: (bundle) => missing.get(bundle),
  };
}

function deltasOn(attachments: readonly Attachment[]): Map<Digest, Delta> {
  const bundles = attachments.flatMap((attachment) => attachment.bundles);
  return new Map(
    bundles.flatMap((each) =>
      each.state === 'Verified' && each.delta !== undefined
        ? [[each.bundle.digest, each.delta] as const]
        : [],
    ),
  );
}

/** Bytes that a delta leaves out. */
export function bytesLeftOut(delta: Delta): number {
  return [...delta.lacks.values()].reduce((sum, size) => sum + size, 0);
}
