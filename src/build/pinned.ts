import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import type { Payload } from '../payload/payload.ts';
import type { PlannedImage, Wanted } from './images.ts';
import { describe, reachesClusters } from './left-out.ts';
import { pinnedImages } from './pod-images.ts';
import type { ImageSource, SourceOpener } from './source.ts';

/**
 * Images that Pods of the payload name by digest and that no tag of it names: a release without them cannot run where
 * there is no internet. Each is taken from where the bundle has the same content already, from the payload's own place,
 * or, for a payload of a registry, from where the Pod names it.
 *
 * @param planned what the bundle has so far.
 * Errors: ReferenceUnresolved, with all that is nowhere and who needs it.
 */
export async function findPinned(
  payload: Payload,
  planned: readonly (PlannedImage & { readonly from: ImageSource })[],
  source: ImageSource,
  opener: SourceOpener,
): Promise<Wanted[]> {
  const known = new Set<string>();
  const origins = new Map<Digest, ImageSource>();
  for (const { image, plan, from } of planned) {
    for (const { digest } of plan.items) {
      known.add(`${image.source}@${digest}`);
      origins.set(digest, origins.get(digest) ?? from);
    }
  }
  const found: Wanted[] = [];
  const missing: string[] = [];
  for (const manifest of payload.manifests) {
    if (!reachesClusters(manifest)) continue;
    for (const text of pinnedImages(manifest)) {
      const { host, repository: path, digest } = parseReference(text);
      const repository = `${host}/${path}`;
      if (digest === undefined || known.has(`${repository}@${digest}`)) continue;
      known.add(`${repository}@${digest}`);
      const from = origins.get(digest) ?? (await placeOf(text, digest, source, opener));
      if (from === undefined) missing.push(`${text} of ${describe(manifest)} (${manifest.file})`);
      else found.push({ facts: { role: 'additional', name: repository, source: repository, digest }, from });
    }
  }
  if (missing.length === 0) return found;
  throw new SluiceError(
    'ReferenceUnresolved',
    `Pods of the payload need images by digest for which no source is given: ${missing.join(', ')}`,
    { next: 'Give one for each: --image REPOSITORY@DIGEST=SOURCE. Without internet it could not be pulled.' },
  );
}

async function placeOf(
  text: string,
  digest: Digest,
  source: ImageSource,
  opener: SourceOpener,
): Promise<ImageSource | undefined> {
  if ((await source.content.manifest(source.repository, digest)) !== undefined) return source;
  return source.registry === undefined ? undefined : await opener.open(`docker://${text}`);
}
