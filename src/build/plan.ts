import { type ClosureItem, type ImageRoot, imageClosure } from '../bundle/closure.ts';
import type { Attachment } from '../bundle/document.ts';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { platformsOf } from '../oci/image.ts';
import { isSchema1Type, schema1 } from '../oci/manifest.ts';
import { requirePlatform } from '../oci/platform.ts';
import type { ContentSource } from '../oci/source.ts';
import { findAttached } from './attached.ts';

/** Layers that tools leave out of registries: their bytes lie at an address of somebody else. */
const foreignTypes = /(?:\.foreign\.|\.nondistributable\.)/;

/** Everything that an image needs, as its source has it; the repositories of `items` are where it will stand. */
export interface ImagePlan {
  readonly content: ContentSource;
  /** Repository in which the source has it. */
  readonly from: string;
  readonly items: readonly ClosureItem[];
  readonly attached: readonly Attachment[];
  /** Bytes of the manifest. */
  readonly size: number;
  /** Bytes of all items, each digest once. */
  readonly closureBytes: number;
}

export interface PlanTarget {
  /** Name for messages. */
  readonly image: string;
  readonly digest: Digest;
  /** Where it will stand. */
  readonly repository: string;
  readonly tag: string;
  /** Those of an index that are wanted; undefined: all. */
  readonly platforms?: readonly string[] | undefined;
}

/**
 * Finds out what an image needs, with its signatures, attestations and referrers, and those of an index's children.
 * Nothing is copied. Errors: ContentMissing (also for layers that only lie elsewhere), DigestMismatch, InputInvalid,
 * and those of the source.
 */
export async function planImage(
  source: { readonly content: ContentSource; readonly repository: string },
  target: PlanTarget,
): Promise<ImagePlan> {
  const { content, repository: from } = source;
  const { image, digest, repository, tag, platforms } = target;
  await checkRoot(source, target);
  const seen = new Set<string>();
  const walk = async (root: Pick<ImageRoot, 'digest' | 'tags'>): Promise<ClosureItem[]> => {
    const items: ClosureItem[] = [];
    for await (const item of imageClosure(content, { image, repository: from, ...root }, seen, platforms))
      items.push(item);
    return items;
  };
  const own = await walk({ digest, tags: [tag] });
  const manifests = own.filter((item) => item.kind === 'manifest').map((item) => item.digest);
  const attached = await findAttached(content, from, manifests);
  const items: ClosureItem[] = [];
  for (const each of attached)
    items.push(...(await walk({ digest: each.digest, tags: each.tag === undefined ? [] : [each.tag] })));
  items.push(...own);
  for (const item of items) await requireHere(source, item);
  const sizes = new Map(items.map((item) => [item.digest, item.size]));
  return {
    content,
    from,
    items: items.map((item) => ({ ...item, repository })),
    attached,
    size: own.at(-1)?.size ?? 0,
    closureBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
  };
}

async function checkRoot(
  source: { readonly content: ContentSource; readonly repository: string },
  { image, digest, platforms }: PlanTarget,
): Promise<void> {
  if (platforms === undefined) return;
  const named = await platformsOf(source.content, source.repository, digest);
  requirePlatform(named, platforms, `image ${image}`);
}

async function requireHere(
  source: { readonly content: ContentSource; readonly repository: string },
  item: ClosureItem,
): Promise<void> {
  // A child of an index; as an image of its own it is refused where it is read.
  if (isSchema1Type(item.mediaType)) throw schema1(`image ${item.image}: the manifest ${item.digest}`);
  if (!foreignTypes.test(item.mediaType)) return;
  const blob = await source.content.blob(source.repository, item.digest);
  await blob?.close?.();
  if (blob !== undefined) return;
  throw new SluiceError(
    'ContentMissing',
    `image ${item.image}: its layer ${item.digest} is not in ${source.content.label}: it lies at an address of its maker (${item.mediaType})`,
    {
      next: 'Push the image with that layer (docker: --allow-nondistributable-artifacts), or leave it out: a cluster without internet could not pull it.',
    },
  );
}
