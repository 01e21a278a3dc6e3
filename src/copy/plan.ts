import type { VerifiedBundle } from '../bundle/bundle.ts';
import { type ClosureItem, closure } from '../bundle/closure.ts';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { Store, StoreSpace } from '../store/store.ts';

/** A blob of the closure, once. */
export interface PlannedBlob {
  readonly digest: Digest;
  /** Bytes, as the signed closure says. */
  readonly size: number;
  /** A repository of the source that carries it. */
  readonly repository: string;
  /** The image that needs it, for messages. */
  readonly image: string;
}

export interface CopyPlan {
  readonly source: ContentSource;
  readonly store: Store;
  readonly bundle: VerifiedBundle;
  /** The whole closure, children before parents. */
  readonly items: readonly ClosureItem[];
  /** Every blob of it, each once. */
  readonly blobs: readonly PlannedBlob[];
  /** What the store lacks, largest first, so that a copy does not end with one long blob alone. */
  readonly missing: readonly PlannedBlob[];
  readonly bytesMissing: number;
  /** Of these, bytes that stand in the store already, in blobs that are not whole. */
  readonly bytesArrived: number;
  readonly bytesTotal: number;
  readonly imagesTotal: number;
}

/** Share of the missing bytes that must be free beside them: directories, links, block rounding. */
const marginShare = 0.1;
/** What a copy never takes of a disk: 2 % of it, at most 1 GiB. */
const reserveShare = 0.02;
const reserveBytesMax = 1024 ** 3;
/** Files and directories that one blob costs at most: data, its directories, a link with its own. */
const inodesPerBlob = 8;

/**
 * What a store lacks of a bundle. Presence is size and a verified mark, never a name alone: a
 * blob that came into the store otherwise is hashed when its turn comes.
 *
 * Errors: ContentMissing, DigestMismatch (the source lacks or damages a manifest), and those of the transport.
 */
export async function planCopy(
  source: ContentSource,
  store: Store,
  bundle: VerifiedBundle,
): Promise<CopyPlan> {
  const items: ClosureItem[] = [];
  const blobs = new Map<Digest, PlannedBlob>();
  for await (const item of closure(source, bundle)) {
    items.push(item);
    if (item.kind === 'blob' && !blobs.has(item.digest)) {
      const { digest, size, repository, image } = item;
      blobs.set(digest, { digest, size, repository, image });
    }
  }
  const missing: PlannedBlob[] = [];
  for (const blob of blobs.values()) {
    if ((await store.blobState(blob.digest, blob.size)) !== 'verified') missing.push(blob);
  }
  missing.sort((a, b) => b.size - a.size);
  return {
    source,
    store,
    bundle,
    items,
    blobs: [...blobs.values()],
    missing,
    bytesMissing: sizeOf(missing),
    bytesArrived: await store.partialBytes(missing.map((blob) => blob.digest)),
    bytesTotal: sizeOf([...blobs.values()]),
    imagesTotal: new Set(items.map((item) => item.image)).size,
  };
}

function sizeOf(blobs: readonly PlannedBlob[]): number {
  return blobs.reduce((total, blob) => total + blob.size, 0);
}

/** Bytes and inodes that a copy needs of a disk with this space. */
export function spaceNeeded(
  missing: { readonly bytes: number; readonly blobs: number },
  space: Pick<StoreSpace, 'bytesTotal'>,
): { bytes: number; inodes: number } {
  if (missing.blobs === 0) return { bytes: 0, inodes: 0 };
  const reserve = Math.min(reserveBytesMax, Math.floor(space.bytesTotal * reserveShare));
  return {
    bytes: Math.ceil(missing.bytes * (1 + marginShare)) + reserve,
    inodes: missing.blobs * inodesPerBlob,
  };
}

/**
 * Refuses a copy that cannot end well before it takes a byte.
 * Errors: DiskFull, with what is needed and what is free.
 */
export function requireSpace(plan: CopyPlan, space: StoreSpace): void {
  const need = spaceNeeded(
    { bytes: Math.max(0, plan.bytesMissing - plan.bytesArrived), blobs: plan.missing.length },
    space,
  );
  const name = plan.bundle.document.name;
  if (need.bytes > space.bytesFree) {
    throw new SluiceError(
      'DiskFull',
      `Cannot install release ${name}, out of disk space: ${need.bytes} bytes are needed with a margin, ${space.bytesFree} are free in ${plan.store.root}`,
      { next: `Free ${need.bytes - space.bytesFree} bytes there; the copy begins by itself.` },
    );
  }
  // Some file systems (btrfs) count no inodes and say 0 of 0.
  if (space.inodesFree > 0 && need.inodes > space.inodesFree) {
    throw new SluiceError(
      'DiskFull',
      `Cannot install release ${name}, out of inodes: ${need.inodes} are needed, ${space.inodesFree} are free in ${plan.store.root}`,
    );
  }
}
