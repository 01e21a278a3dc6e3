import { type Digest, referrersTag } from '../oci/digest.ts';
import { isManifestType, type Manifest } from '../oci/manifest.ts';
import type { StoreItem } from './item.ts';

export interface RepositoryInventory {
  /** What each tag names; undefined where its link is damaged. */
  readonly tags: ReadonlyMap<string, Digest | undefined>;
  readonly manifests: readonly Digest[];
  readonly layers: readonly Digest[];
}

/** Everything that stands in a store. */
export interface Inventory {
  readonly repositories: ReadonlyMap<string, RepositoryInventory>;
  /** Every manifest; undefined where it cannot be read. */
  readonly manifests: ReadonlyMap<Digest, Manifest | undefined>;
  /** Bytes of every blob, manifests included. */
  readonly blobs: ReadonlyMap<Digest, number>;
  readonly problems: readonly string[];
}

/** What is not kept, parents before what they name. */
export interface Swept {
  readonly tags: readonly { repository: string; tag: string; digest: Digest | undefined }[];
  readonly manifests: readonly { repository: string; digest: Digest }[];
  readonly layers: readonly { repository: string; digest: Digest }[];
  readonly blobs: readonly { digest: Digest; size: number }[];
  /** Repositories that then hold nothing. */
  readonly emptied: readonly string[];
}

/**
 * Marks and sweeps. Kept is: each item; in its repository, what its manifest names, and what refers to a kept
 * manifest by `subject` or by a tag that starts with its digest (`sha256-<hex>`, `.sig`, `.att`, `.sbom`).
 * A kept manifest that cannot be read may name anything, so that everything in its repository is kept with it.
 * An item without a repository keeps the bytes alone.
 */
export function sweep(inventory: Inventory, keep: readonly StoreItem[]): Swept {
  const keptBlobs = new Set<Digest>();
  const kept = new Map<string, Marked>();
  for (const [name, repository] of inventory.repositories) {
    const items = keep.filter((item) => item.repository === name);
    kept.set(name, mark(repository, inventory.manifests, items));
  }
  for (const item of keep) keptBlobs.add(item.digest);
  for (const marked of kept.values()) {
    for (const digest of marked.manifests) keptBlobs.add(digest);
    for (const digest of marked.layers) keptBlobs.add(digest);
  }
  const tags: Swept['tags'][number][] = [];
  const manifests: Swept['manifests'][number][] = [];
  const layers: Swept['layers'][number][] = [];
  const emptied: string[] = [];
  for (const [name, repository] of inventory.repositories) {
    const marked = kept.get(name) ?? mark(repository, inventory.manifests, []);
    for (const [tag, digest] of repository.tags) {
      if (!marked.tags.has(tag)) tags.push({ repository: name, tag, digest });
    }
    for (const digest of parentsFirst(repository.manifests, inventory.manifests)) {
      if (!marked.manifests.has(digest)) manifests.push({ repository: name, digest });
    }
    for (const digest of repository.layers) {
      if (!marked.layers.has(digest)) layers.push({ repository: name, digest });
    }
    if (marked.manifests.size === 0 && marked.layers.size === 0) emptied.push(name);
  }
  const blobs = [...inventory.blobs]
    .filter(([digest]) => !keptBlobs.has(digest))
    .map(([digest, size]) => ({ digest, size }));
  return { tags, manifests, layers, blobs, emptied };
}

interface Marked {
  readonly tags: Set<string>;
  readonly manifests: Set<Digest>;
  readonly layers: Set<Digest>;
}

function mark(
  repository: RepositoryInventory,
  known: ReadonlyMap<Digest, Manifest | undefined>,
  items: readonly StoreItem[],
): Marked {
  const present = new Set(repository.manifests);
  const linked = new Set(repository.layers);
  const marked: Marked = { tags: new Set(), manifests: new Set(), layers: new Set() };
  const referrers = referrersBySubject(repository, known);
  const pending: Digest[] = [];
  const visit = (digest: Digest) => {
    if (!present.has(digest) || marked.manifests.has(digest)) return;
    marked.manifests.add(digest);
    pending.push(digest);
  };
  for (const item of items) {
    if (item.kind === 'manifest') visit(item.digest);
    else if (linked.has(item.digest)) marked.layers.add(item.digest);
  }
  for (let digest = pending.pop(); digest !== undefined; digest = pending.pop()) {
    const manifest = known.get(digest);
    if (manifest === undefined) {
      return { tags: new Set(repository.tags.keys()), manifests: present, layers: linked };
    }
    for (const child of manifest.kind === 'index'
      ? manifest.manifests
      : [manifest.config, ...manifest.layers]) {
      if (isManifestType(child.mediaType)) visit(child.digest);
      else if (linked.has(child.digest)) marked.layers.add(child.digest);
    }
    for (const referrer of referrers.get(digest) ?? []) visit(referrer);
    const prefix = referrersTag(digest);
    for (const [tag, named] of repository.tags) {
      if (named !== undefined && (tag === prefix || tag.startsWith(`${prefix}.`))) visit(named);
    }
  }
  const prefixes = new Set([...marked.manifests].map(referrersTag));
  // A tag is kept with its manifest where the items ask for it, or where it belongs to a kept digest.
  const asked = new Map<string, Digest>();
  for (const item of items) for (const tag of item.tags) asked.set(tag, item.digest);
  for (const [tag, named] of repository.tags) {
    if (named === undefined || !marked.manifests.has(named)) continue;
    const subject = /^(sha(?:256|512)-[0-9a-f]{64})(?:\.|$)/.exec(tag)?.[1];
    const isAsked = asked.get(tag) === named;
    if (isAsked || (subject !== undefined && prefixes.has(subject))) marked.tags.add(tag);
  }
  return marked;
}

function referrersBySubject(
  repository: RepositoryInventory,
  known: ReadonlyMap<Digest, Manifest | undefined>,
): Map<Digest, Digest[]> {
  const referrers = new Map<Digest, Digest[]>();
  for (const digest of repository.manifests) {
    const subject = known.get(digest)?.subject?.digest;
    if (subject !== undefined) referrers.set(subject, [...(referrers.get(subject) ?? []), digest]);
  }
  return referrers;
}

/** Indexes before what they may name. */
function parentsFirst(
  digests: readonly Digest[],
  known: ReadonlyMap<Digest, Manifest | undefined>,
): Digest[] {
  const depth = new Map<Digest, number>();
  const depthOf = (digest: Digest): number => {
    const seen = depth.get(digest);
    if (seen !== undefined) return seen;
    depth.set(digest, 0);
    const manifest = known.get(digest);
    const deepest =
      manifest?.kind === 'index'
        ? Math.max(0, ...manifest.manifests.map((child) => depthOf(child.digest) + 1))
        : 0;
    depth.set(digest, deepest);
    return deepest;
  };
  return [...digests].sort((a, b) => depthOf(b) - depthOf(a));
}
