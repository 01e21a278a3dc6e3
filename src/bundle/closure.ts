import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { childrenOf, type Descriptor, isManifestType, parseManifest } from '../oci/manifest.ts';
import { selectChildren } from '../oci/platform.ts';
import type { ContentSource } from '../oci/source.ts';
import type { VerifiedBundle } from './bundle.ts';
import { bundleRepository } from './document.ts';

/** Indexes inside indexes; real ones have two levels. */
const indexDepthMax = 8;
/** Descriptors of one image: an index of a hundred platforms with a hundred layers each. */
const descriptorsMax = 10_000;

/** A manifest or a blob, and the repository in which it must be readable. */
export interface ClosureItem {
  readonly repository: string;
  readonly kind: 'manifest' | 'blob';
  readonly digest: Digest;
  /** Bytes, as the signed content says. */
  readonly size: number;
  readonly mediaType: string;
  /** Tags that name it there; only manifests have any. */
  readonly tags: readonly string[];
  /** Name of the image that needs it, for messages. */
  readonly image: string;
}

/** An image to walk, and what belongs to it. */
export interface ImageRoot {
  readonly image: string;
  readonly repository: string;
  readonly digest: Digest;
  readonly tags: readonly string[];
  /** Bytes that the manifest must have, where they are known. */
  readonly size?: number;
}

/**
 * Everything that a bundle is made of, children before their parents, the images first, then the bundle's own
 * signature, the bundle's manifest last: who stores it in this order never has a parent without its children.
 * A blob appears once for each repository that needs it; a manifest once for each repository and image name.
 * All of it hangs on the signed digest, but for the signatures: their manifests are signed by nobody, and
 * `verifySignatures` lets only those in that name nothing but small documents about the bundle. What is on media
 * besides is not in it.
 *
 * Errors, while it is read: ContentMissing, DigestMismatch, InputInvalid, MediaLost.
 */
export async function* closure(content: ContentSource, bundle: VerifiedBundle): AsyncGenerator<ClosureItem> {
  const seen = new Set<string>();
  const { platforms } = bundle.document;
  for (const root of bundleRoots(bundle)) yield* imageClosure(content, root, seen, platforms);
}

/** The images of a bundle in the order of its closure. */
export function bundleRoots(bundle: VerifiedBundle): ImageRoot[] {
  const { document } = bundle;
  const roots: ImageRoot[] = [];
  for (const image of document.images) {
    const { name, repository, digest, tag, size } = image;
    for (const attached of image.attached) {
      const tags = attached.tag === undefined ? [] : [attached.tag];
      roots.push({ image: name, repository, digest: attached.digest, tags });
    }
    roots.push({ image: name, repository, digest, tags: [tag], size });
  }
  const own = { image: document.name, repository: bundleRepository };
  for (const signature of bundle.signatures) {
    roots.push({
      ...own,
      digest: signature.digest,
      tags: signature.tag === undefined ? [] : [signature.tag],
    });
  }
  roots.push({ ...own, digest: bundle.digest, tags: [document.name] });
  return roots;
}

/**
 * What one image needs, itself last.
 *
 * @param seen `repository@digest` of what was walked before, which is not walked again.
 * @param platforms those of an index that are needed; undefined: all.
 */
export async function* imageClosure(
  content: ContentSource,
  root: ImageRoot,
  seen: Set<string>,
  platforms: readonly string[] | undefined,
): AsyncGenerator<ClosureItem> {
  const walk: Walk = { content, root, seen, platforms, descriptors: 0 };
  yield* manifestClosure(walk, root.digest, { tags: root.tags, size: root.size, depth: 0 });
}

interface Walk {
  readonly content: ContentSource;
  readonly root: ImageRoot;
  readonly seen: Set<string>;
  readonly platforms: readonly string[] | undefined;
  descriptors: number;
}

async function* manifestClosure(
  walk: Walk,
  digest: Digest,
  here: { tags: readonly string[]; size: number | undefined; depth: number },
): AsyncGenerator<ClosureItem> {
  const { image, repository } = walk.root;
  if (here.depth > indexDepthMax) throw limit(image, `indexes are nested more than ${indexDepthMax} deep`);
  const key = `${repository}@${digest}`;
  // A manifest under another name is shown again for its tag, but what hangs on it is known already.
  const known = walk.seen.has(key);
  if (known && here.tags.length === 0) return;
  const raw = await walk.content.manifest(repository, digest);
  if (raw === undefined) throw missing(walk, 'manifest', digest);
  if (here.size !== undefined && raw.bytes.length !== here.size) {
    throw new SluiceError(
      'DigestMismatch',
      `image ${image}: the manifest ${digest} has ${raw.bytes.length} bytes, not ${here.size}`,
    );
  }
  const manifest = parseManifest(raw.bytes, raw.mediaType);
  if (!known) {
    walk.seen.add(key);
    const children =
      manifest.kind === 'index' ? selectChildren(manifest, walk.platforms) : childrenOf(manifest);
    for (const child of children) yield* childClosure(walk, child, manifest.kind, here.depth);
  }
  const { mediaType } = manifest;
  yield { repository, kind: 'manifest', digest, size: raw.bytes.length, mediaType, tags: here.tags, image };
}

async function* childClosure(
  walk: Walk,
  child: Descriptor,
  parent: 'image' | 'index',
  depth: number,
): AsyncGenerator<ClosureItem> {
  const { image, repository } = walk.root;
  walk.descriptors += 1;
  if (walk.descriptors > descriptorsMax) throw limit(image, `it names more than ${descriptorsMax} parts`);
  // Only an index has manifests as children; a layer that claims to be one is a blob all the same.
  if (parent === 'index' && isManifestType(child.mediaType)) {
    yield* manifestClosure(walk, child.digest, { tags: [], size: child.size, depth: depth + 1 });
    return;
  }
  const key = `${repository}@${child.digest}`;
  if (walk.seen.has(key)) return;
  walk.seen.add(key);
  const { digest, size, mediaType } = child;
  yield { repository, kind: 'blob', digest, size, mediaType, tags: [], image };
}

function missing(walk: Walk, kind: string, digest: Digest): SluiceError {
  return new SluiceError(
    'ContentMissing',
    `image ${walk.root.image}: ${walk.content.label} does not hold the ${kind} ${digest}`,
  );
}

function limit(image: string, what: string): SluiceError {
  return new SluiceError('InputTooLarge', `image ${image}: ${what}`);
}
