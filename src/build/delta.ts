import {
  type Delta,
  type DeltaBase,
  deltaArtifactType,
  deltaDocumentType,
  deltaTag,
  formatDelta,
} from '../bundle/delta.ts';
import { type BundleRole, bundleRepository } from '../bundle/document.ts';
import { SluiceError } from '../errors/error.ts';
import { type Digest, digestOf } from '../oci/digest.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import type { Store } from '../store/store.ts';
import { signatureTag } from '../trust/cosign.ts';
import { type BaseRelease, readBase } from './base.ts';
import type { ImagePlan } from './plan.ts';
import { putBlob, signBundle } from './sign.ts';

interface Planned {
  readonly image: { readonly role: BundleRole };
  readonly plan: ImagePlan;
}

/**
 * What a base lets a bundle leave out: layers and configurations. Manifests always travel, so that what is needed is
 * known before the base is looked at, and so does the whole payload, which says what is to be checked.
 *
 * Errors: Conflict (the base is the bundle itself), and those of `readBase`.
 */
export async function planDelta(since: string, planned: readonly Planned[], bundle: Digest): Promise<Delta> {
  const base = await readBase(since);
  const releases = base.releases.filter((each) => each.digest !== bundle);
  if (releases.length < base.releases.length) {
    throw new SluiceError('Conflict', `${since} holds this very bundle already: a delta would be empty`);
  }
  const needed = new Set<Digest>();
  const lacks = new Map<Digest, number>();
  for (const { image, plan } of planned) {
    for (const { kind, digest, size } of plan.items) {
      if (image.role === 'payload') needed.add(digest);
      else if (kind === 'blob' && base.blobs.has(digest)) lacks.set(digest, size);
    }
  }
  for (const digest of needed) lacks.delete(digest);
  return { bundle, since: neededOf(releases, lacks.keys()), lacks };
}

/**
 * The releases of the base that hold what is left out, as few as it takes: what a base holds besides may go before the
 * delta arrives. Always the same ones for the same base.
 */
function neededOf(releases: readonly BaseRelease[], lacks: Iterable<Digest>): DeltaBase[] {
  const left = new Set(lacks);
  const needed: DeltaBase[] = [];
  const rest = [...releases].sort((a, b) => (a.name < b.name ? 1 : -1));
  while (left.size > 0) {
    const counts = rest.map(({ blobs }) => [...left].filter((digest) => blobs?.has(digest)).length);
    const most = Math.max(0, ...counts);
    const [best] = most === 0 ? [] : rest.splice(counts.indexOf(most), 1);
    // What no release is known to hold, all of them together do.
    if (best === undefined) return [...needed, ...rest].map(({ name, digest }) => ({ name, digest }));
    needed.push({ name: best.name, digest: best.digest });
    for (const digest of best.blobs ?? []) left.delete(digest);
  }
  return needed.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Puts the document of a delta beside its bundle, and signs it. */
export async function putDelta(
  store: Store,
  delta: Delta,
  privatePem: string,
  subject: Descriptor,
): Promise<void> {
  const layer = await putBlob(store, bundleRepository, formatDelta(delta), deltaDocumentType);
  const config = await putBlob(store, bundleRepository, Buffer.from('{}'), mediaTypes.ociEmpty);
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      artifactType: deltaArtifactType,
      config,
      layers: [layer],
      subject,
    }),
  );
  const digest = digestOf(bytes);
  await store.putManifest(bundleRepository, { digest, mediaType: mediaTypes.ociManifest, bytes });
  await signBundle(store, { mediaType: mediaTypes.ociManifest, digest, size: bytes.length }, privatePem);
  await store.tag(bundleRepository, deltaTag(delta.bundle), digest);
}

/** Takes the document of a delta away, once all that it left out has come. */
export async function removeDelta(store: Store, bundle: Digest): Promise<void> {
  const digest = await store.resolveTag(bundleRepository, deltaTag(bundle));
  if (digest === undefined) return;
  await store.unlinkManifest(bundleRepository, digest);
  const signature = await store.resolveTag(bundleRepository, signatureTag(digest));
  if (signature !== undefined) await store.unlinkManifest(bundleRepository, signature);
}
