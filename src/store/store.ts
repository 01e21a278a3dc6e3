import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { faultPoint } from '../durable/fault.ts';
import { fsyncDirectory, fsyncFile } from '../durable/file.ts';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { algorithmOf, type Digest, emptyDigest, hexOf, isDigestOf, isEmptyDigest } from '../oci/digest.ts';
import { isManifestType, type Manifest, parseManifest } from '../oci/manifest.ts';
import { isRepositoryName, isTag } from '../oci/reference.ts';
import type { RawManifest } from '../oci/source.ts';
import { type Binding, bindingsFolder, bindName, readBindings } from './binding.ts';
import { applyPlan, type CollectionOptions, type CollectionPlan, planCollection } from './collect.ts';
import { type TreeContent, treeContent } from './content.ts';
import { createSingleFlight } from './flight.ts';
import { createHashThreads } from './hash-thread.ts';
import { createPublishLock } from './lock.ts';
import { fileFacts, openMarks } from './mark.ts';
import { isOwnerAlive, ownOwner } from './owner.ts';
import { dropPartials, openPartial, ownerOfPartial, partialBytes } from './partial.ts';
import { blobData, blobDirectory, layersPath, revisionsPath, tagLink, tagsPath } from './path.ts';
import { diskError, makeDirectory, placeFile, placeLinks } from './place.ts';
import { createNameRemoval, type NameRemoval } from './removal.ts';
import { directoryTree } from './tree.ts';
import { type BlobWriter, createBlobWriter, type WritePace } from './writer.ts';

export type { Binding } from './binding.ts';
export type { CollectionOptions, CollectionPlan } from './collect.ts';
export type { StoreItem } from './item.ts';
export type { BlobWriter } from './writer.ts';

export interface StoreSpace {
  readonly bytesFree: number;
  readonly bytesTotal: number;
  readonly inodesFree: number;
}

/** Files that are hashed at a time: one core's hashing is slower than a good disk. */
const hashThreads = 2;

/** Content on disk, for one process to write to; any number may read, also while it writes. */
export interface Store extends TreeContent, NameRemoval {
  readonly root: string;
  /**
   * 'verified': whole, and this store has hashed its bytes. 'unverified': it has the size, but came here
   * otherwise. 'absent': not there, or of another size.
   */
  blobState(digest: Digest, size: number): Promise<'verified' | 'unverified' | 'absent'>;
  /** Hashes a blob that is there; a good one becomes 'verified', a bad one is quarantined. Answers whether it is good. */
  verifyBlob(
    digest: Digest,
    size: number,
    options?: { beforeQuarantine?: () => Promise<void> },
  ): Promise<boolean>;
  /**
   * A writer for a blob, or undefined where it is there and verified. One at a time per digest: others wait for
   * it, and get undefined when it was committed. An unverified blob is hashed first.
   * Errors: DigestMismatch (size 0 under another digest than that of nothing), DiskFull.
   */
  begin(
    digest: Digest,
    size: number,
    options?: { signal?: AbortSignal; pace?: WritePace },
  ): Promise<BlobWriter | undefined>;
  /** Stores bytes that are at hand as a blob, durably. Errors: as `begin` and the writer. */
  putBlob(digest: Digest, bytes: Uint8Array): Promise<void>;
  /**
   * Takes a finished file on the same file system over as a blob. Errors: DigestMismatch where its bytes are others;
   * the file is left to the caller then.
   */
  adopt(path: string, digest: Digest): Promise<void>;
  /** Makes blobs readable in a repository, durably. Errors: ContentMissing. */
  linkLayers(repository: string, digests: readonly Digest[]): Promise<void>;
  linkLayer(repository: string, digest: Digest): Promise<void>;
  /**
   * Stores a manifest and makes it readable by digest. What it names must be there before it: linked blobs of the
   * size it says, child manifests (`sparse`: an index may lack some, as when platforms were left out; `without`:
   * blobs that are not here on purpose, as on media that carry a delta).
   * Errors: ContentMissing, DigestMismatch, InputInvalid, DiskFull.
   */
  putManifest(
    repository: string,
    raw: RawManifest,
    options?: { sparse?: boolean; without?: ReadonlySet<Digest> },
  ): Promise<void>;
  /** Lets a tag name a manifest that is there. Errors: ContentMissing. */
  tag(repository: string, tag: string, digest: Digest): Promise<void>;
  space(): Promise<StoreSpace>;
  /** Bytes that have come already of blobs that are not whole. */
  partialBytes(digests: Iterable<Digest>): Promise<number>;
  /** Drops what has come of blobs that nobody wants any more, where nobody works on them. */
  dropPartials(digests: Iterable<Digest>): Promise<void>;
  /** Removes temporary files of ended processes that are older than `ageMs`. Answers their number. */
  purgeStale(ageMs: number): Promise<number>;
  /** What may be removed (see CollectionOptions). Nothing is changed. */
  planCollection(options: CollectionOptions): Promise<CollectionPlan>;
  /** Removes what was planned, parents before what they name; what was used since the plan stays. Answers the bytes freed. */
  applyCollection(plan: CollectionPlan): Promise<number>;
  /** Binds a bundle's name to its digest for ever. Errors: Conflict where it is bound to another. */
  bind(name: string, bundleDigest: Digest): Promise<void>;
  bindings(): Promise<Binding[]>;
}

/** Opens the store below `root` (which holds `docker/registry/v2`), and makes it where it is not there. */
export async function openStore(root: string): Promise<Store> {
  const own = join(root, 'sluice'); // Beside `docker`, where the stock registry does not look.
  const partials = join(own, 'partial');
  const scratch = join(own, 'scratch');
  const quarantine = join(own, 'quarantine');
  for (const directory of [
    partials,
    scratch,
    quarantine,
    join(root, blobDirectory(emptyDigest), '..', '..'),
  ]) {
    await mkdir(directory, { recursive: true });
  }
  const marks = await openMarks(join(own, 'verified'));
  const content = treeContent(directoryTree(root));
  const lock = createPublishLock();
  const hashes = createHashThreads(Math.min(hashThreads, availableParallelism()));
  const flight = createSingleFlight();
  const busyPaths = new Set<string>();
  /** When something was last written or relied upon, by the count of such events: a removal planned before leaves it. */
  const used = new Map<Digest, number>();
  let events = 0;
  const use = (digest: Digest) => used.set(digest, ++events);
  const dataPath = (digest: Digest) => join(root, blobData(digest));

  async function verify(
    digest: Digest,
    size: number,
    beforeQuarantine?: () => Promise<void>,
  ): Promise<boolean> {
    const state = await store.blobState(digest, size);
    if (state === 'absent') return false;
    const path = dataPath(digest);
    const before = await stat(path);
    if ((await hashes.hash(path, digest)) === hexOf(digest)) {
      await marks.add(digest, before);
      return true;
    }
    await beforeQuarantine?.();
    marks.remove(digest);
    // Moved aside, not deleted: whoever looks for the cause finds the very bytes. `purgeStale` ends it.
    await rename(path, join(quarantine, `${hexOf(digest)}-${randomBytes(4).toString('hex')}`));
    await fsyncDirectory(join(root, blobDirectory(digest)));
    return false;
  }

  async function requireChildren(
    repository: string,
    manifest: Manifest,
    { sparse = false, without }: { sparse?: boolean; without?: ReadonlySet<Digest> },
  ): Promise<void> {
    const children =
      manifest.kind === 'index'
        ? manifest.manifests.map((child) => ({ ...child, isManifest: isManifestType(child.mediaType) }))
        : [manifest.config, ...manifest.layers].map((child) => ({ ...child, isManifest: false }));
    for (const child of children) {
      // An index may lack platforms; what may not be distributed need not be here (image-spec, layer.md).
      if ((manifest.kind === 'index' && sparse) || isForeign(child.mediaType)) continue;
      if (without?.has(child.digest) === true) continue;
      const linked = await content.hasLink(repository, child.isManifest ? 'manifest' : 'blob', child.digest);
      const size = linked ? (await fileFacts(dataPath(child.digest)))?.size : undefined;
      if (size !== child.size) {
        throw new SluiceError(
          'ContentMissing',
          `${repository}: ${child.digest} must be there before what names it${size === undefined ? '' : ` (it has ${size} of ${child.size} bytes)`}`,
        );
      }
      use(child.digest);
    }
  }

  const store: Store = {
    ...content,
    ...createNameRemoval(content, root, scratch),
    root,

    async blobState(digest, size) {
      const facts = await fileFacts(dataPath(digest));
      if (facts?.size !== size) return 'absent';
      return marks.has(digest, facts) ? 'verified' : 'unverified';
    },

    async verifyBlob(digest, size, options = {}) {
      const release = await flight.enter(digest);
      try {
        return await verify(digest, size, options.beforeQuarantine);
      } finally {
        release();
      }
    },

    async begin(digest, size, options = {}) {
      if (size === 0 && !isEmptyDigest(digest)) {
        throw new SluiceError('DigestMismatch', `the blob ${digest} cannot be empty`);
      }
      const release = await flight.enter(digest, options.signal);
      try {
        const state = await store.blobState(digest, size);
        if (state === 'verified' || (state === 'unverified' && (await verify(digest, size)))) {
          use(digest);
          release();
          return undefined;
        }
        const partial = await openPartial(partials, digest, size, (path) => busyPaths.has(path));
        busyPaths.add(partial.path);
        return createBlobWriter(digest, size, partial, {
          directory: join(root, blobDirectory(digest)),
          hash: (path) => hashes.hash(path, digest),
          publish: lock.shared,
          pace: options.pace,
          async ended(committed) {
            busyPaths.delete(partial.path);
            const facts = committed ? await fileFacts(dataPath(digest)) : undefined;
            if (facts !== undefined) await marks.add(digest, facts).catch(() => {});
            use(digest);
            release();
          },
        });
      } catch (error) {
        release();
        throw diskError(error, partials);
      }
    },

    async putBlob(digest, bytes) {
      for (;;) {
        const writer = await store.begin(digest, bytes.length);
        if (writer === undefined) return;
        await writer.write(bytes.subarray(writer.offset));
        try {
          return await writer.commit();
        } catch (error) {
          // What a crash had left was the bad part, and is gone now.
          if (writer.offset === 0 || !isSluiceError(error, 'DigestMismatch')) throw error;
        }
      }
    },

    async adopt(path, digest) {
      const release = await flight.enter(digest);
      try {
        await fsyncFile(path);
        if ((await hashes.hash(path, digest)) !== hexOf(digest)) {
          throw new SluiceError('DigestMismatch', `what came as the blob ${digest} has another digest`);
        }
        if ((await store.blobState(digest, (await stat(path)).size)) === 'verified') {
          use(digest);
          return;
        }
        await lock.shared(async () => {
          const flushParents = await makeDirectory(join(root, blobDirectory(digest)));
          await rename(path, dataPath(digest));
          await fsyncDirectory(join(root, blobDirectory(digest)));
          await flushParents();
        });
        const facts = await fileFacts(dataPath(digest));
        if (facts !== undefined) await marks.add(digest, facts);
        use(digest);
      } catch (error) {
        throw diskError(error, dataPath(digest));
      } finally {
        release();
      }
    },

    async linkLayers(repository, digests) {
      requireName(repository);
      await lock.shared(async () => {
        for (const digest of digests) {
          if ((await content.hasBlob(digest)) === undefined) {
            throw new SluiceError('ContentMissing', `${repository}: the blob ${digest} is not in the store`);
          }
          use(digest);
        }
        await placeLinks(
          scratch,
          digests.map((digest) => ({
            parent: join(root, layersPath(repository, algorithmOf(digest))),
            name: hexOf(digest),
            text: digest,
          })),
        );
        faultPoint('store-layers-linked');
      });
    },

    linkLayer: (repository, digest) => store.linkLayers(repository, [digest]),

    async putManifest(repository, raw, options = {}) {
      requireName(repository);
      if (!isDigestOf(raw.digest, raw.bytes)) {
        throw new SluiceError(
          'DigestMismatch',
          `the bytes of the manifest ${raw.digest} have another digest`,
        );
      }
      const manifest = parseManifest(raw.bytes, raw.mediaType);
      await store.putBlob(raw.digest, raw.bytes);
      await lock.shared(async () => {
        await requireChildren(repository, manifest, options);
        if ((await fileFacts(dataPath(raw.digest)))?.size !== raw.bytes.length) {
          throw new SluiceError(
            'ContentMissing',
            `${repository}: the manifest ${raw.digest} was removed meanwhile`,
          );
        }
        use(raw.digest);
        const parent = join(root, revisionsPath(repository, algorithmOf(raw.digest)));
        await placeLinks(scratch, [{ parent, name: hexOf(raw.digest), text: raw.digest }]);
        faultPoint('store-manifest-linked');
      });
    },

    async tag(repository, tag, digest) {
      requireName(repository);
      if (!isTag(tag)) throw new SluiceError('InputInvalid', `"${tag}" is not a tag`);
      await lock.shared(async () => {
        if (!(await content.hasLink(repository, 'manifest', digest))) {
          throw new SluiceError(
            'ContentMissing',
            `${repository} has no manifest ${digest} that ${tag} could name`,
          );
        }
        use(digest);
        if ((await content.resolveTag(repository, tag)) === digest) return;
        const parent = join(root, tagsPath(repository), tag, 'index', algorithmOf(digest));
        await placeLinks(scratch, [{ parent, name: hexOf(digest), text: digest }]);
        faultPoint('store-tag-indexed');
        await placeFile(scratch, join(root, tagLink(repository, tag)), digest);
        faultPoint('store-tagged');
      });
    },

    async space() {
      const facts = await statfs(root);
      return {
        bytesFree: facts.bavail * facts.bsize,
        bytesTotal: facts.blocks * facts.bsize,
        inodesFree: facts.ffree,
      };
    },

    partialBytes: (digests) => partialBytes(partials, digests),
    dropPartials: (digests) => dropPartials(partials, digests, (path) => busyPaths.has(path)),

    async purgeStale(ageMs) {
      const before = Date.now() - ageMs;
      let purged = 0;
      for (const directory of [partials, scratch, quarantine]) {
        for (const name of await readdir(directory)) {
          const path = join(directory, name);
          const owner = ownerOfPartial(name);
          if (
            busyPaths.has(path) ||
            (owner !== undefined && owner !== ownOwner && (await isOwnerAlive(owner)))
          )
            continue;
          const facts = await stat(path).catch(() => undefined);
          if (facts === undefined || facts.mtimeMs > before) continue;
          await rm(path, { recursive: true, force: true });
          purged += 1;
        }
      }
      return purged;
    },

    planCollection: (options) => planCollection(content, root, options, events),

    applyCollection: (plan) =>
      lock.alone(() =>
        applyPlan(root, scratch, plan, {
          isUsedSince: (digest) => (used.get(digest) ?? 0) > plan.event || flight.has(digest),
          removed: (digest) => {
            marks.remove(digest);
            // What is gone needs no protection: else a store would remember every blob that it ever had.
            if ((used.get(digest) ?? 0) <= plan.event) used.delete(digest);
          },
        }),
      ),

    bind: (name, bundleDigest) => bindName(join(root, bindingsFolder), name, bundleDigest),
    bindings: () => readBindings(join(root, bindingsFolder)),
  };
  return store;
}

function requireName(repository: string): void {
  if (!isRepositoryName(repository)) {
    throw new SluiceError('InputInvalid', `"${repository}" is not the name of a repository`);
  }
}

function isForeign(mediaType: string): boolean {
  return mediaType.includes('.nondistributable.') || mediaType.includes('.foreign.');
}
