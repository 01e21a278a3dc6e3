import { type ClosureItem, type ImageRoot, imageClosure } from '../bundle/closure.ts';
import type { Attachment } from '../bundle/document.ts';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { childrenOf, isManifestType } from '../oci/manifest.ts';
import { readManifest } from '../oci/read.ts';
import { isTag } from '../oci/reference.ts';
import type { ContentSource } from '../oci/source.ts';
import type { Store } from '../store/store.ts';
import { layoutRepository } from './source.ts';

/** Endings of the tags under which cosign keeps what belongs to an image. */
const attachedTags = ['.sig', '.att', '.sbom'];
const attachedMax = 64;

/** Everything that an image needs, as its source has it; the repositories are where it will stand. */
export interface ImagePlan {
  readonly content: ContentSource;
  readonly repository: string;
  readonly items: readonly ClosureItem[];
  readonly attached: readonly Attachment[];
  /** Bytes of the manifest. */
  readonly size: number;
  /** Bytes of all items, each digest once. */
  readonly closureBytes: number;
}

export interface TransferProgress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** The image that is being copied. */
  readonly image: string;
}

/**
 * Finds out what an image needs, with its signatures, attestations and referrers, and those of an index's children.
 * Nothing is copied. Errors: ContentMissing, DigestMismatch, InputInvalid.
 */
export async function planImage(
  content: ContentSource,
  target: { image: string; repository: string; digest: Digest; tag: string },
): Promise<ImagePlan> {
  const { image, repository, digest, tag } = target;
  const attached = await findAttached(content, digest);
  const roots: ImageRoot[] = attached.map((each) => ({
    image,
    repository: layoutRepository,
    digest: each.digest,
    tags: each.tag === undefined ? [] : [each.tag],
  }));
  roots.push({ image, repository: layoutRepository, digest, tags: [tag] });
  const items: ClosureItem[] = [];
  const seen = new Set<string>();
  for (const root of roots) {
    for await (const item of imageClosure(content, root, seen)) items.push({ ...item, repository });
  }
  const sizes = new Map(items.map((item) => [item.digest, item.size]));
  return {
    content,
    repository,
    items,
    attached,
    size: items.at(-1)?.size ?? 0,
    closureBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
  };
}

/** Bytes that plans need together, each digest once. */
export function plannedBytes(plans: readonly ImagePlan[]): number {
  const sizes = new Map(plans.flatMap((plan) => plan.items.map((item) => [item.digest, item.size])));
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

/**
 * Copies planned images into a store, children first; each blob is hashed on the way. What the store has verified
 * already is not copied again, so that an interrupted build goes on where it stopped.
 *
 * Errors: ContentMissing, DigestMismatch (both name the image and the digest), DiskFull.
 */
export async function transferImages(
  store: Store,
  plans: readonly ImagePlan[],
  onProgress: (progress: TransferProgress) => void,
): Promise<void> {
  const bytesTotal = plannedBytes(plans);
  const counted = new Set<Digest>();
  let bytesDone = 0;
  for (const plan of plans) {
    for (const item of plan.items) {
      const isNew = !counted.has(item.digest);
      counted.add(item.digest);
      const count = (bytes: number) => {
        if (isNew) bytesDone += bytes;
        onProgress({ bytesDone, bytesTotal, image: item.image });
      };
      if (item.kind === 'blob') await transferBlob(store, plan.content, item, count);
      else await transferManifest(store, plan.content, item, count);
    }
  }
}

async function transferBlob(
  store: Store,
  content: ContentSource,
  item: ClosureItem,
  count: (bytes: number) => void,
): Promise<void> {
  const writer = await store.begin(item.digest, item.size);
  if (writer === undefined) {
    count(item.size);
  } else {
    try {
      const blob = await content.blob(layoutRepository, item.digest, { offset: writer.offset });
      if (blob === undefined) {
        throw new SluiceError(
          'ContentMissing',
          `image ${item.image}: ${content.label} does not hold the blob ${item.digest}`,
        );
      }
      count(writer.offset);
      for await (const chunk of blob.stream) {
        await writer.write(chunk);
        count(chunk.length);
      }
      await writer.commit();
    } catch (error) {
      await writer.abort();
      throw named(error, item);
    }
  }
  await store.linkLayer(item.repository, item.digest);
}

async function transferManifest(
  store: Store,
  content: ContentSource,
  item: ClosureItem,
  count: (bytes: number) => void,
): Promise<void> {
  const { raw } = await readManifest(content, layoutRepository, item.digest);
  await store.putManifest(item.repository, raw);
  for (const tag of item.tags) await store.tag(item.repository, tag, item.digest);
  count(raw.bytes.length);
}

function named(error: unknown, item: ClosureItem): unknown {
  if (!(error instanceof SluiceError) || error.code !== 'DigestMismatch') return error;
  return new SluiceError('DigestMismatch', `image ${item.image}: the blob ${item.digest} holds other bytes`, {
    cause: error,
    next: 'The source is damaged: pull the image again.',
  });
}

async function findAttached(content: ContentSource, digest: Digest): Promise<Attachment[]> {
  const { manifest } = await readManifest(content, layoutRepository, digest);
  const children =
    manifest.kind === 'index' ? childrenOf(manifest).filter((each) => isManifestType(each.mediaType)) : [];
  const found = new Map<Digest, Attachment>();
  for (const subject of [digest, ...children.map((child) => child.digest)]) {
    for (const ending of attachedTags) {
      const tag = `${subject.replace(':', '-')}${ending}`;
      const raw = await content.manifest(layoutRepository, tag);
      if (raw !== undefined && isTag(tag)) found.set(raw.digest, { digest: raw.digest, tag });
    }
    for (const referrer of await content.referrers(layoutRepository, subject)) {
      if (found.has(referrer.digest) || referrer.digest === digest) continue;
      // A referrers list may name what is no longer there; that is no part of the image.
      if ((await content.manifest(layoutRepository, referrer.digest)) === undefined) continue;
      found.set(referrer.digest, { digest: referrer.digest });
    }
  }
  if (found.size > attachedMax) {
    throw new SluiceError('InputTooLarge', `${digest} has more than ${attachedMax} signatures and referrers`);
  }
  return [...found.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
}
