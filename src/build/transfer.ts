import { setTimeout as sleep } from 'node:timers/promises';
import type { ClosureItem } from '../bundle/closure.ts';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { readManifest } from '../oci/read.ts';
import type { BlobReader, ContentSource } from '../oci/source.ts';
import type { BlobWriter, Store } from '../store/store.ts';
import { inParallel } from './parallel.ts';
import type { ImagePlan } from './plan.ts';

export interface TransferProgress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** The image that is being copied. */
  readonly image: string;
}

export interface TransferOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** Blobs that are left to the base of a delta. */
  readonly leftOut?: ReadonlySet<Digest>;
}

/** Blobs that are copied at once. */
const width = 4;
/** How often a source that breaks off without having moved a byte is asked again. */
const retriesMax = 4;
const retryBaseMs = 500;

interface PlannedBlob {
  readonly content: ContentSource;
  readonly from: string;
  readonly item: ClosureItem;
}

/**
 * Copies planned images into a store: blobs first, then manifests, children before parents. Each blob is hashed
 * before it has its name. What the store has verified already is not copied again, and a blob that was broken off is gone on with, so
 * that an interrupted build goes on where it stopped.
 *
 * Errors: ContentMissing, DigestMismatch (both name the image and the digest), DiskFull, Unreachable, Stalled.
 */
export async function transferImages(
  store: Store,
  plans: readonly ImagePlan[],
  options: TransferOptions = {},
): Promise<void> {
  const leftOut = options.leftOut ?? new Set<Digest>();
  const sizes = new Map<Digest, number>();
  const blobs = new Map<Digest, PlannedBlob>();
  for (const { content, from, items } of plans) {
    for (const item of items) {
      if (leftOut.has(item.digest)) continue;
      sizes.set(item.digest, item.size);
      if (item.kind === 'blob' && !blobs.has(item.digest)) blobs.set(item.digest, { content, from, item });
    }
  }
  const bytesTotal = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  let bytesDone = 0;
  const count = (image: string) => (bytes: number) => {
    bytesDone += bytes;
    options.onProgress?.({ bytesDone, bytesTotal, image });
  };
  await inParallel([...blobs.values()], width, (blob) => transferBlob(store, blob, count(blob.item.image)));
  const counted = new Set<Digest>();
  for (const plan of plans) {
    const layers = plan.items.filter((item) => item.kind === 'blob' && !leftOut.has(item.digest));
    for (const [repository, digests] of byRepository(layers)) await store.linkLayers(repository, digests);
    for (const item of plan.items) {
      if (item.kind !== 'manifest') continue;
      await transferManifest(store, plan, item, leftOut);
      if (!counted.has(item.digest)) count(item.image)(item.size);
      counted.add(item.digest);
    }
  }
}

function byRepository(items: readonly ClosureItem[]): Map<string, Digest[]> {
  const found = new Map<string, Digest[]>();
  for (const { repository, digest } of items)
    found.set(repository, [...(found.get(repository) ?? []), digest]);
  return found;
}

async function transferBlob(store: Store, blob: PlannedBlob, count: (bytes: number) => void): Promise<void> {
  const { item } = blob;
  let counted = 0;
  let farthest = 0;
  for (let attempt = 0; ; attempt += 1) {
    const writer = await store.begin(item.digest, item.size);
    if (writer === undefined) return count(item.size - counted);
    if (writer.offset > farthest) attempt = 0; // It moves: the patience begins anew.
    farthest = Math.max(farthest, writer.offset);
    count(writer.offset - counted);
    counted = writer.offset;
    try {
      await pour(blob, writer, (bytes) => {
        counted += bytes;
        count(bytes);
      });
      return;
    } catch (error) {
      const mayPass = isSluiceError(error, 'Unreachable', 'Stalled', 'MediaLost');
      // A writer that nobody ends would keep the blob to itself for ever.
      if (mayPass) await writer.suspend();
      else await writer.abort();
      // What an interrupted build had left may be the bad part, and is gone now.
      if (writer.offset > 0 && isSluiceError(error, 'DigestMismatch')) continue;
      if (!mayPass || attempt >= retriesMax) throw named(error, item);
      await sleep(retryBaseMs * 2 ** attempt);
    }
  }
}

async function pour(blob: PlannedBlob, writer: BlobWriter, count: (bytes: number) => void): Promise<void> {
  const { content, from, item } = blob;
  // A blob that came whole before is only compared.
  if (writer.offset < item.size) {
    const reader = await content.blob(from, item.digest, { offset: writer.offset });
    if (reader === undefined) {
      throw new SluiceError(
        'ContentMissing',
        `image ${item.image}: ${content.label} does not hold the blob ${item.digest}`,
      );
    }
    await requireSize(reader, item, content.label);
    for await (const chunk of reader.stream) {
      await writer.write(chunk);
      count(chunk.length);
    }
  }
  await writer.commit();
}

/** A source that tells of another size is not asked for the bytes at all. */
async function requireSize(reader: BlobReader, item: ClosureItem, label: string): Promise<void> {
  if (reader.size === item.size) return;
  await reader.close?.();
  throw new SluiceError(
    'DigestMismatch',
    `${label} has ${reader.size} bytes of ${item.digest}, where the manifest tells of ${item.size}`,
  );
}

async function transferManifest(
  store: Store,
  plan: ImagePlan,
  item: ClosureItem,
  leftOut: ReadonlySet<Digest>,
): Promise<void> {
  const { raw } = await readManifest(plan.content, plan.from, item.digest);
  await store.putManifest(item.repository, raw, { sparse: true, without: leftOut });
  for (const tag of item.tags) await store.tag(item.repository, tag, item.digest);
}

function named(error: unknown, item: ClosureItem): unknown {
  if (!(error instanceof SluiceError)) return error;
  if (error.code === 'DigestMismatch') {
    return new SluiceError(
      'DigestMismatch',
      `image ${item.image}: the blob ${item.digest} holds other bytes`,
      {
        cause: error,
        next: 'The source is damaged: pull the image again.',
      },
    );
  }
  if (error.message.includes(item.digest)) return error;
  return new SluiceError(error.code, `image ${item.image}: ${error.message}`, {
    cause: error,
    next: error.next,
  });
}
