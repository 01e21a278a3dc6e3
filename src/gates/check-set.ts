import { createHash } from 'node:crypto';
import { annotations } from '../api/names.ts';
import type { BundleDocument } from '../bundle/document.ts';
import type { Payload, PayloadManifest } from '../payload/payload.ts';

/** Whether a manifest is a check: it is run by a preflight and never applied by an update. */
export function isCheck({ object }: PayloadManifest): boolean {
  return object.metadata.annotations?.[annotations.preflightCheck] === 'true';
}

/** Images that a bundle brings as checks of operators outside the payload. */
export function checkImages(document: BundleDocument): BundleDocument['images'] {
  return document.images.filter((image) => image.role === 'check');
}

/**
 * What tells the set of a release's checks from every other: the payload's own manifests and the check images of the
 * bundle that it came in, since the same payload may come in another bundle with other checks.
 */
export function checkSetOf(payload: Payload, document: BundleDocument): string {
  const hash = createHash('sha256');
  for (const manifest of payload.manifests) {
    if (isCheck(manifest)) hash.update(`${JSON.stringify(manifest.object)}\n`);
  }
  for (const image of [...checkImages(document)].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    hash.update(`${image.name} ${image.source}@${image.digest}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}
