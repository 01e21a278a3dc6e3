import { readFile, stat } from 'node:fs/promises';
import { readUnverifiedBundle } from '../bundle/bundle.ts';
import { bundleRoots, imageClosure } from '../bundle/closure.ts';
import type { DeltaBase } from '../bundle/delta.ts';
import { inventoryBytesMax, parseInventory } from '../bundle/inventory.ts';
import { bundleTags } from '../bundle/listing.ts';
import { SluiceError } from '../errors/error.ts';
import { type Media, openMedia } from '../media/media.ts';
import { type Digest, isDigest } from '../oci/digest.ts';

/** A release of the base. */
export interface BaseRelease extends DeltaBase {
  /** Absent: an inventory of before does not say which are whose. */
  readonly blobs?: ReadonlySet<Digest> | undefined;
}

/** What is at hand where a delta is to be used. */
export interface Base {
  readonly releases: readonly BaseRelease[];
  readonly blobs: ReadonlySet<Digest>;
}

/**
 * Reads the base of a delta: media with bundles (also deltas themselves), or the inventory of a cluster.
 * Errors: InputInvalid (an inventory without blobs), MediaUnreadable, ContentMissing, NotFound.
 */
export async function readBase(path: string): Promise<Base> {
  return (await isJson(path)) ? await readInventory(path) : await readMedia(path);
}

async function isJson(path: string): Promise<boolean> {
  const facts = await stat(path).catch((cause: unknown) => {
    throw new SluiceError('NotFound', `the base ${path} cannot be read`, { cause });
  });
  if (!facts.isFile() || facts.size > inventoryBytesMax) return false;
  return path.endsWith('.json') || (await readFile(path, 'latin1')).trimStart().startsWith('{');
}

async function readInventory(path: string): Promise<Base> {
  const inventory = parseInventory(await readFile(path), path);
  if (inventory.blobs === undefined) {
    throw new SluiceError('InputInvalid', `the inventory ${path} does not say which blobs the cluster has`, {
      next: 'Make it again with: sluice inventory, or give the bundles themselves with --since.',
    });
  }
  const releases = inventory.releases.map(({ name, bundleDigest, blobs }) => ({
    name,
    digest: bundleDigest,
    blobs,
  }));
  return { releases, blobs: inventory.blobs };
}

async function readMedia(path: string): Promise<Base> {
  const media = await openMedia(path);
  try {
    const releases: BaseRelease[] = [];
    for (const name of await bundleTags(media.content)) releases.push(await readRelease(media, name));
    if (releases.length === 0) throw new SluiceError('MediaUnreadable', `${path} carries no release bundle`);
    return { releases, blobs: new Set(releases.flatMap((each) => [...(each.blobs ?? [])])) };
  } finally {
    await media.close();
  }
}

/** What the bundle names counts: who has the release has all of it, also where this copy of it is a delta. */
async function readRelease(media: Media, name: string): Promise<BaseRelease> {
  const blobs = new Set<Digest>();
  const { digest, document } = await readUnverifiedBundle(media.content, { name });
  const roots = bundleRoots({ digest, document, signedBy: { id: '', name: '' }, signatures: [] });
  const seen = new Set<string>();
  for (const root of roots) {
    for await (const item of imageClosure(media.content, root, seen, document.platforms)) {
      if (item.kind === 'blob' && isDigest(item.digest)) blobs.add(item.digest);
    }
  }
  return { name, digest, blobs };
}
