import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { parseStrictJson } from '../oci/json.ts';

/** Bytes of an inventory: 200 000 blobs with 75 bytes each. */
export const inventoryBytesMax = 32 * 1024 * 1024;
const formatVersion = 1;
const releasesMax = 4096;
const blobsMax = 400_000;

/** What every control-plane node of a cluster has, to be carried out to where bundles are built. */
export interface Inventory {
  readonly releases: readonly {
    readonly name: string;
    readonly bundleDigest: Digest;
    /** Those of the blobs that are this release's; absent: not said. */
    readonly blobs?: ReadonlySet<Digest> | undefined;
  }[];
  /** Blobs of these releases; absent: not looked at. */
  readonly blobs?: ReadonlySet<Digest>;
}

/** The document of `sluice inventory`: the same content always gives the same bytes. */
export function inventoryObject(inventory: Inventory): object {
  const releases = [...inventory.releases].sort((a, b) => (a.name < b.name ? -1 : 1));
  const sorted = [...(inventory.blobs ?? [])].sort();
  return {
    formatVersion,
    releases: releases.map(({ name, bundleDigest, blobs }) => ({
      name,
      bundleDigest,
      // By their place in the list, which is a tenth of their digests.
      ...(blobs === undefined || inventory.blobs === undefined
        ? {}
        : { holds: sorted.flatMap((digest, index) => (blobs.has(digest) ? [index] : [])) }),
    })),
    ...(inventory.blobs === undefined ? {} : { blobs: sorted }),
  };
}

/** Errors: InputInvalid, InputTooLarge. */
export function parseInventory(bytes: Uint8Array, where: string): Inventory {
  if (bytes.length > inventoryBytesMax)
    throw new SluiceError('InputTooLarge', `${where} has ${bytes.length} bytes`);
  const document = (parseStrictJson(bytes, where) ?? {}) as Record<string, unknown>;
  const { releases, blobs } = document;
  if (document.formatVersion !== formatVersion) throw invalid(where, 'it is not of this format');
  if (!Array.isArray(releases) || releases.length > releasesMax)
    throw invalid(where, 'releases is not a list');
  if (blobs !== undefined && (!Array.isArray(blobs) || blobs.length > blobsMax))
    throw invalid(where, 'blobs is not a list');
  const listed = blobs?.map((value: unknown) => {
    if (typeof value === 'string' && isDigest(value)) return value;
    throw invalid(where, 'a blob is no digest');
  });
  return {
    releases: releases.map((value: unknown) => {
      const { name, bundleDigest, holds } = (value ?? {}) as Record<string, unknown>;
      if (typeof name !== 'string' || typeof bundleDigest !== 'string' || !isDigest(bundleDigest)) {
        throw invalid(where, 'a release has no name or no bundleDigest');
      }
      if (holds === undefined) return { name, bundleDigest };
      return { name, bundleDigest, blobs: heldOf(holds, listed ?? [], where) };
    }),
    ...(listed === undefined ? {} : { blobs: new Set(listed) }),
  };
}

function heldOf(holds: unknown, listed: readonly Digest[], where: string): Set<Digest> {
  if (!Array.isArray(holds) || holds.length > blobsMax)
    throw invalid(where, 'what a release holds is not a list');
  return new Set(
    holds.map((index: unknown) => {
      const digest = typeof index === 'number' ? listed[index] : undefined;
      if (digest === undefined) throw invalid(where, 'a release holds what is not among the blobs');
      return digest;
    }),
  );
}

function invalid(where: string, what: string): SluiceError {
  return new SluiceError('InputInvalid', `${where} is not an inventory: ${what}`, {
    next: 'Make one with: sluice inventory > inventory.json',
  });
}
