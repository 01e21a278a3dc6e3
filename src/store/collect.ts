import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { faultPoint } from '../durable/fault.ts';
import { systemCode } from '../errors/error.ts';
import { algorithmOf, type Digest, digestAlgorithms, hexOf, isAnyDigest } from '../oci/digest.ts';
import { parseManifest } from '../oci/manifest.ts';
import type { TreeContent } from './content.ts';
import type { StoreItem } from './item.ts';
import { fileFacts } from './mark.ts';
import {
  blobData,
  blobDirectory,
  blobsPath,
  layersPath,
  repositoriesPath,
  revisionsPath,
  tagsPath,
} from './path.ts';
import { dropEntries } from './removal.ts';
import { type Inventory, type RepositoryInventory, type Swept, sweep } from './sweep.ts';

export interface CollectionOptions {
  /** With all that their manifests name, and all that refers to them. */
  readonly keep: Iterable<StoreItem>;
  /** Freed at once where nothing that is kept needs it. */
  readonly remove?: Iterable<StoreItem>;
  /** Anything else that nothing names is freed when it is older than this, in milliseconds. */
  readonly graceMs: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What `applyCollection` would remove, in its order. */
export interface CollectionPlan extends Swept {
  /** Bytes that it frees. */
  readonly bytes: number;
  /** What could not be read, and so was kept with all that stands beside it. */
  readonly problems: readonly string[];
  /** The count of the store's events when it was made: what was used later stays. */
  readonly event: number;
}

/** Reads what stands in the store and decides; see `sweep` for the rules. */
export async function planCollection(
  content: TreeContent,
  root: string,
  options: CollectionOptions,
  event: number,
): Promise<CollectionPlan> {
  const inventory = await takeInventory(content, root);
  const keep = [...options.keep];
  const first = sweep(inventory, keep);
  const young = await youngOf(
    root,
    first,
    new Set([...(options.remove ?? [])].map((item) => item.digest)),
    options,
  );
  const swept = young.length === 0 ? first : sweep(inventory, [...keep, ...young]);
  return {
    ...swept,
    bytes: swept.blobs.reduce((sum, blob) => sum + blob.size, 0),
    problems: inventory.problems,
    event,
  };
}

async function takeInventory(content: TreeContent, root: string): Promise<Inventory> {
  const repositories = new Map<string, RepositoryInventory>();
  const manifests: Map<Digest, ReturnType<typeof parseManifest> | undefined> = new Map();
  const problems: string[] = [];
  for (const name of await content.repositories()) {
    const tags = new Map<string, Digest | undefined>();
    for (const tag of await content.tags(name)) tags.set(tag, await content.resolveTag(name, tag));
    const revisions = await content.links(name, 'manifest');
    repositories.set(name, { tags, manifests: revisions, layers: await content.links(name, 'blob') });
    for (const digest of revisions) {
      if (manifests.has(digest)) continue;
      try {
        const raw = await content.manifest(name, digest);
        manifests.set(digest, raw === undefined ? undefined : parseManifest(raw.bytes, raw.mediaType));
      } catch (error) {
        manifests.set(digest, undefined);
        problems.push(`${name}@${digest}: ${(error as Error).message}`);
      }
    }
  }
  return { repositories, manifests, blobs: await blobsBelow(root), problems };
}

async function blobsBelow(root: string): Promise<Map<Digest, number>> {
  const blobs = new Map<Digest, number>();
  for (const algorithm of digestAlgorithms) {
    for (const prefix of await names(join(root, blobsPath(algorithm)))) {
      for (const hex of await names(join(root, blobsPath(algorithm), prefix))) {
        const digest = `${algorithm}:${hex}`;
        if (!isAnyDigest(digest)) continue;
        const facts = await fileFacts(join(root, blobData(digest)));
        if (facts !== undefined) blobs.set(digest, facts.size);
      }
    }
  }
  return blobs;
}

/** What is swept only because nothing names it, and is too young for that. */
async function youngOf(
  root: string,
  swept: Swept,
  removed: ReadonlySet<Digest>,
  options: CollectionOptions,
): Promise<StoreItem[]> {
  const isYoung = async (path: string) => {
    const facts = await stat(join(root, path)).catch(() => undefined);
    return facts !== undefined && options.now - facts.mtimeMs < options.graceMs;
  };
  const young: StoreItem[] = [];
  for (const { repository, tag, digest } of swept.tags) {
    if (digest === undefined || removed.has(digest)) continue;
    if (await isYoung(`${tagsPath(repository)}/${tag}`)) {
      young.push({ repository, kind: 'manifest', digest, tags: [tag] });
    }
  }
  for (const [kind, list, parentOf] of [
    ['manifest', swept.manifests, revisionsPath],
    ['blob', swept.layers, layersPath],
  ] as const) {
    for (const { repository, digest } of list) {
      if (removed.has(digest)) continue;
      if (await isYoung(`${parentOf(repository, algorithmOf(digest))}/${hexOf(digest)}`)) {
        young.push({ repository, kind, digest, tags: [] });
      }
    }
  }
  for (const { digest } of swept.blobs) {
    if (!removed.has(digest) && (await isYoung(blobData(digest)))) {
      young.push({ repository: '', kind: 'blob', digest, tags: [] });
    }
  }
  return young;
}

/**
 * Removes what a plan lists: names first, then what they named, each step on disk before the next, so that
 * after a crash nothing visible lacks a part.
 */
export async function applyPlan(
  root: string,
  scratch: string,
  plan: CollectionPlan,
  world: { isUsedSince(digest: Digest): boolean; removed(digest: Digest): void },
): Promise<number> {
  const stays = (digest: Digest | undefined) => digest !== undefined && world.isUsedSince(digest);
  await dropEntries(
    root,
    scratch,
    plan.tags
      .filter(({ digest }) => !stays(digest))
      .map(({ repository, tag }) => [tagsPath(repository), tag]),
  );
  faultPoint('store-collect-tags');
  const stayingManifests = plan.manifests.filter(({ digest }) => stays(digest));
  await dropEntries(
    root,
    scratch,
    plan.manifests
      .filter(({ digest }) => !stays(digest))
      .map(({ repository, digest }) => [revisionsPath(repository, algorithmOf(digest)), hexOf(digest)]),
  );
  faultPoint('store-collect-manifests');
  // Whatever a manifest that stays after all may name stays with it: all of its repository.
  const touched = new Set(stayingManifests.map(({ repository }) => repository));
  const layers = plan.layers.filter(({ repository, digest }) => !touched.has(repository) && !stays(digest));
  await dropEntries(
    root,
    scratch,
    layers.map(({ repository, digest }) => [layersPath(repository, algorithmOf(digest)), hexOf(digest)]),
  );
  faultPoint('store-collect-layers');
  const linked = new Set(
    plan.layers
      .filter((layer) => !layers.includes(layer))
      .concat(stayingManifests)
      .map(({ digest }) => digest),
  );
  let freed = 0;
  for (const { digest, size } of plan.blobs) {
    if (stays(digest) || linked.has(digest)) continue;
    await rm(join(root, blobData(digest)), { force: true });
    await rmdir(join(root, blobDirectory(digest))).catch(() => {});
    world.removed(digest);
    freed += size;
    faultPoint('store-collect-blob');
  }
  for (const repository of plan.emptied) await dropRepository(root, repository);
  return freed;
}

/** Removes a repository that holds nothing any more, so that it is not listed; never one that holds something. */
async function dropRepository(root: string, repository: string): Promise<void> {
  const directory = join(root, repositoriesPath, repository);
  const held = [
    tagsPath(repository),
    ...digestAlgorithms.flatMap((kind) => [revisionsPath(repository, kind), layersPath(repository, kind)]),
  ].map((path) => names(join(root, path)));
  if ((await Promise.all(held)).some((list) => list.length > 0)) return;
  for (const part of ['_manifests', '_layers', '_uploads']) {
    await rm(join(directory, part), { recursive: true, force: true });
  }
  const parts = repository.split('/');
  for (let depth = parts.length; depth > 0; depth -= 1) {
    const removed = await rmdir(join(root, repositoriesPath, ...parts.slice(0, depth))).then(
      () => true,
      () => false,
    );
    if (!removed) return;
  }
}

async function names(directory: string): Promise<string[]> {
  return await readdir(directory).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return [];
    throw error;
  });
}
