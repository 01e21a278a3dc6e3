import { createHash } from 'node:crypto';
import type { VerifiedBundle } from '../bundle/bundle.ts';
import { closure } from '../bundle/closure.ts';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import type { Logger } from '../observe/log.ts';
import { type Digest, hexOf, isDigest } from '../oci/digest.ts';
import { type Descriptor, parseManifest, referrerDescriptor } from '../oci/manifest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { ServedTree } from './tree.ts';

/** What the closure of a bundle holds in one repository. */
interface ServedRepository {
  readonly manifests: Set<Digest>;
  readonly blobs: Map<Digest, number>;
  readonly tags: Map<string, Digest>;
}

export interface VerifiedTreeOptions {
  readonly kind: 'media' | 'peer';
  /** Foreign content, as it is read. */
  readonly content: ContentSource;
  /** Its signature was verified. */
  readonly bundle: VerifiedBundle;
  readonly logger: Logger;
  /** Called once nothing reads from it any more. */
  readonly release: () => Promise<void>;
}

/** Bytes at the end of an answer that leave only after the whole blob has matched. */
const withheldBytes = 64 * 1024;

/**
 * Serves a bundle from where it is not this node's to keep: only what hangs on its signed manifest, and no blob
 * to its end before its hash was right. Parts of a blob that was right are believed for as long as the tree stands; a
 * blob that was wrong once is not there any more.
 *
 * Errors: ContentMissing, DigestMismatch and those of the transport while the closure is read.
 */
export async function openVerifiedTree(options: VerifiedTreeOptions): Promise<ServedTree> {
  const { content, bundle, logger } = options;
  const label = `${content.label} (${bundle.document.name})`;
  const repositories = await readClosure(content, bundle);
  const verified = new Set<Digest>();
  const damaged = new Set<Digest>();
  const referrerLists = new Map<string, Promise<Map<Digest, Descriptor[]>>>();
  let readers = 0;
  let closing = false;
  let released = false;

  async function releaseWhenIdle(): Promise<void> {
    if (!closing || readers > 0 || released) return;
    released = true;
    await options.release();
  }

  async function* readBlob(
    stream: AsyncIterable<Uint8Array>,
    blob: { digest: Digest; size: number },
    range: { offset: number; end: number },
  ): AsyncGenerator<Uint8Array> {
    // Of a part there is nothing to hash; what is read whole anyway is hashed anyway: media may have changed since.
    const isWhole = range.offset === 0 && range.end === blob.size;
    if (verified.has(blob.digest) && !isWhole) {
      yield* cut(stream, range);
      return;
    }
    try {
      yield* withheld(stream, blob, range, label);
    } catch (error) {
      if (isSluiceError(error, 'DigestMismatch')) {
        damaged.add(blob.digest);
        logger.error({ digest: blob.digest, tree: label }, 'a blob has other bytes than were signed');
      }
      throw error;
    }
    verified.add(blob.digest);
  }

  return {
    label,
    kind: options.kind,
    hasRepository: async (repository) => repositories.has(repository),
    repositories: async () => [...repositories.keys()],

    async manifest(repository, reference) {
      const served = repositories.get(repository);
      const digest = isDigest(reference) ? reference : served?.tags.get(reference);
      if (digest === undefined || served?.manifests.has(digest) !== true) return undefined;
      return await content.manifest(repository, digest);
    },

    async blob(repository, digest) {
      const size = repositories.get(repository)?.blobs.get(digest);
      if (size === undefined || damaged.has(digest)) return undefined;
      const blob = await content.blob(repository, digest, { reuse: true });
      if (blob === undefined) return undefined;
      if (blob.size !== size) {
        await blob.close?.();
        damaged.add(digest);
        logger.error(
          { digest, tree: label, size: blob.size, signed: size },
          'a blob has another size than was signed',
        );
        return undefined;
      }
      readers += 1;
      let open = true;
      const ended = async () => {
        if (!open) return;
        open = false;
        readers -= 1;
        await blob.close?.();
        await releaseWhenIdle();
      };
      return {
        size,
        async *read(range) {
          try {
            yield* readBlob(blob.stream, { digest, size }, range);
          } finally {
            await ended();
          }
        },
        close: ended,
      };
    },

    tags: async (repository) => [...(repositories.get(repository)?.tags.keys() ?? [])].sort(),

    async referrers(repository, digest) {
      const served = repositories.get(repository);
      if (served === undefined) return [];
      const list = referrerLists.get(repository) ?? readReferrers(content, repository, served);
      referrerLists.set(repository, list);
      list.catch(() => referrerLists.delete(repository)); // The medium may come back.
      return (await list).get(digest) ?? [];
    },

    async close() {
      closing = true;
      await releaseWhenIdle();
    },
  };
}

async function readClosure(
  content: ContentSource,
  bundle: VerifiedBundle,
): Promise<Map<string, ServedRepository>> {
  const repositories = new Map<string, ServedRepository>();
  for await (const item of closure(content, bundle)) {
    const served = repositories.get(item.repository) ?? {
      manifests: new Set(),
      blobs: new Map(),
      tags: new Map(),
    };
    repositories.set(item.repository, served);
    if (item.kind === 'blob') served.blobs.set(item.digest, item.size);
    else served.manifests.add(item.digest);
    for (const tag of item.tags) served.tags.set(tag, item.digest);
  }
  return repositories;
}

async function readReferrers(
  content: ContentSource,
  repository: string,
  served: ServedRepository,
): Promise<Map<Digest, Descriptor[]>> {
  const lists = new Map<Digest, Descriptor[]>();
  for (const digest of served.manifests) {
    const raw = await content.manifest(repository, digest);
    if (raw === undefined) continue;
    const manifest = parseManifest(raw.bytes, raw.mediaType);
    const subject = manifest.subject?.digest;
    if (subject === undefined) continue;
    const list = lists.get(subject) ?? [];
    list.push(referrerDescriptor(digest, raw.bytes.length, manifest));
    lists.set(subject, list);
  }
  return lists;
}

/** The part of a stream between two offsets. */
async function* cut(
  stream: AsyncIterable<Uint8Array>,
  range: { offset: number; end: number },
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const chunk of stream) {
    const part = chunk.subarray(Math.max(0, range.offset - at), Math.max(0, range.end - at));
    at += chunk.length;
    if (part.length > 0) yield part;
    if (at >= range.end) return;
  }
}

/**
 * As `cut`, but the whole blob is read and hashed whatever part is wanted, and the last bytes of that part are
 * yielded only when the hash of the whole is right.
 */
export async function* withheld(
  stream: AsyncIterable<Uint8Array>,
  blob: { digest: Digest; size: number },
  range: { offset: number; end: number },
  label: string,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  const open = Math.max(range.offset, range.end - withheldBytes);
  const held: Uint8Array[] = [];
  let at = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    const from = Math.max(0, range.offset - at);
    const now = chunk.subarray(from, Math.max(0, open - at));
    const later = chunk.subarray(Math.max(from, open - at), Math.max(0, range.end - at));
    at += chunk.length;
    if (later.length > 0) held.push(Uint8Array.from(later)); // A copy, so that a large chunk is not kept for its end.
    if (now.length > 0) yield now;
  }
  if (at !== blob.size || hash.digest('hex') !== hexOf(blob.digest)) {
    throw new SluiceError(
      'DigestMismatch',
      `${label}: the blob ${blob.digest} has other bytes than were signed`,
    );
  }
  yield* held;
}
