import { SluiceError } from '../errors/error.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { type Descriptor, parseManifest } from '../oci/manifest.ts';
import { readBlob } from '../oci/read.ts';
import type { ContentSource } from '../oci/source.ts';
import { releaseSignatureBytesMax, releaseSignaturesMax } from '../trust/release-signature.ts';
import type { BundleDocument } from './document.ts';

// OpenPGP signatures of a release payload travel as an artifact that refers to it, and so inside what the bundle's
// own signature covers.

/** Artifact type of the manifest; each layer is one signature, in the order of `signature-1`, `signature-2`, … */
export const releaseSignaturesType = 'application/vnd.sluice.release-signatures.v1';
export const releaseSignatureLayerType = 'application/pgp-signature';
/** By it the cluster-version operator finds such ConfigMaps, whatever their names. */
export const signaturesLabel = 'release.openshift.io/verification-signatures';

/**
 * The OpenPGP signatures of the release that a bundle carries; none where it has none. They are not verified: see
 * `verifyRelease`. Errors: ContentMissing, DigestMismatch, InputInvalid, InputTooLarge.
 */
export async function readReleaseSignatures(
  content: ContentSource,
  document: BundleDocument,
): Promise<Uint8Array[]> {
  const payload = document.images.find((image) => image.role === 'payload');
  const signatures: Uint8Array[] = [];
  for (const { digest } of payload?.attached ?? []) {
    const { repository } = payload as { repository: string };
    const raw = await content.manifest(repository, digest);
    if (raw === undefined)
      throw new SluiceError('ContentMissing', `${content.label} has no manifest ${repository}@${digest}`);
    const manifest = parseManifest(raw.bytes, raw.mediaType);
    if (manifest.kind !== 'image' || manifest.artifactType !== releaseSignaturesType) continue;
    for (const layer of manifest.layers.filter(isSignature).slice(0, releaseSignaturesMax)) {
      signatures.push(await readBlob(content, repository, layer.digest, releaseSignatureBytesMax));
    }
  }
  return signatures.slice(0, releaseSignaturesMax);
}

function isSignature(layer: Descriptor): boolean {
  return layer.mediaType === releaseSignatureLayerType;
}

export interface SignatureConfigMap {
  readonly apiVersion: 'v1';
  readonly kind: 'ConfigMap';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  /** `sha256-<hex>-<n>` → the signature in base64. */
  readonly binaryData: Readonly<Record<string, string>>;
}

/**
 * The ConfigMap in which the cluster-version operator looks for the signatures of a release (openshift/enhancements,
 * "signed release images"); one for each release, so that none grows beyond what a ConfigMap may hold.
 *
 * @param namespace `openshift-config-managed`.
 */
export function signatureConfigMap(
  payload: Digest,
  signatures: readonly Uint8Array[],
  namespace: string,
): SignatureConfigMap {
  const hex = hexOf(payload);
  const entries = signatures.map((bytes, index) => [
    `sha256-${hex}-${index + 1}`,
    Buffer.from(bytes).toString('base64'),
  ]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `sluice-release-signatures-${hex.slice(0, 12)}`,
      namespace,
      labels: { [signaturesLabel]: '' },
    },
    binaryData: Object.fromEntries(entries) as Record<string, string>,
  };
}
