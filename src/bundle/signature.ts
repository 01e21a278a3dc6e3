import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { type Descriptor, parseManifest } from '../oci/manifest.ts';
import { readBlob } from '../oci/read.ts';
import type { ContentSource, RawManifest } from '../oci/source.ts';
import {
  keyIdAnnotation,
  signatureAnnotation,
  signatureArtifactType,
  signatureTag,
  simpleSigningBytesMax,
  simpleSigningMediaType,
  verifyClaim,
} from '../trust/cosign.ts';
import { describeKeys, type TrustedKey } from '../trust/keys.ts';
import { type Attachment, bundleRepository } from './document.ts';

/** Signature manifests of one bundle that are looked at, and signatures in each of them. */
const manifestsMax = 16;
const layersMax = 32;

export interface VerifiedSignatures {
  /** A trusted key that signed. */
  readonly key: TrustedKey;
  /** The signature manifests that a trusted key's signature was found in. */
  readonly signatures: readonly Attachment[];
}

/**
 * What must hold before anything else of a bundle is believed: a trusted key signed this very digest, as a
 * bundle. Signatures stand under cosign's tag or among the referrers.
 *
 * Errors: SignatureMissing, SignatureUntrusted (names the keys), DigestMismatch, ContentMissing, MediaLost.
 */
export async function verifySignatures(
  content: ContentSource,
  digest: Digest,
  keys: readonly TrustedKey[],
  label: string,
): Promise<VerifiedSignatures> {
  const found: Attachment[] = [];
  const claimedIds = new Set<string>();
  let key: TrustedKey | undefined;
  let manifests = 0;
  let damage: unknown;
  for await (const candidate of signatureManifests(content, digest)) {
    manifests += 1;
    try {
      const signer = await verifyManifest(content, candidate.raw, { digest, keys, claimedIds, label });
      if (signer === undefined) continue;
      key ??= signer;
      found.push({
        digest: candidate.raw.digest,
        ...(candidate.tag === undefined ? {} : { tag: candidate.tag }),
      });
    } catch (error) {
      // One damaged signature beside a good one changes nothing; alone it is the answer.
      damage ??= error;
    }
  }
  if (key !== undefined) return { key, signatures: found };
  if (damage !== undefined) throw damage;
  if (manifests === 0) throw new SluiceError('SignatureMissing', `${label} carries no signature (${digest})`);
  const makers =
    claimedIds.size === 0 ? 'a key that does not name itself' : `key ${[...claimedIds].join(', ')}`;
  throw new SluiceError(
    'SignatureUntrusted',
    `${label} is signed by ${makers}, which is not trusted; trusted: ${describeKeys(keys)}`,
  );
}

async function* signatureManifests(
  content: ContentSource,
  digest: Digest,
): AsyncGenerator<{ raw: RawManifest; tag?: string }> {
  const seen = new Set<Digest>();
  const tag = signatureTag(digest);
  const tagged = await content.manifest(bundleRepository, tag);
  if (tagged !== undefined) {
    seen.add(tagged.digest);
    yield { raw: tagged, tag };
  }
  const referrers = await content.referrers(bundleRepository, digest);
  const signatures = referrers.filter((each) => each.artifactType === signatureArtifactType);
  for (const each of signatures.slice(0, manifestsMax)) {
    if (seen.has(each.digest)) continue;
    seen.add(each.digest);
    const raw = await content.manifest(bundleRepository, each.digest);
    if (raw !== undefined) yield { raw };
  }
}

async function verifyManifest(
  content: ContentSource,
  raw: RawManifest,
  context: { digest: Digest; keys: readonly TrustedKey[]; claimedIds: Set<string>; label: string },
): Promise<TrustedKey | undefined> {
  const manifest = parseManifest(raw.bytes, raw.mediaType);
  if (manifest.kind !== 'image') return undefined;
  let damage: unknown;
  for (const layer of manifest.layers.slice(0, layersMax)) {
    if (layer.mediaType !== simpleSigningMediaType) continue;
    noteClaimedId(layer, context.claimedIds);
    try {
      const signature = layer.annotations?.[signatureAnnotation] ?? '';
      const payload = await readBlob(content, bundleRepository, layer.digest, simpleSigningBytesMax);
      const claim = verifyClaim(payload, signature, context.keys, context.digest);
      if (claim === undefined) continue;
      requireBundleReference(claim.dockerReference, context.label);
      return claim.key;
    } catch (error) {
      damage ??= error;
    }
  }
  if (damage !== undefined) throw damage;
  return undefined;
}

/** What a signature says of its maker: shown where it cannot be verified, so it must be harmless to print. */
function noteClaimedId(layer: Descriptor, claimedIds: Set<string>): void {
  const id = layer.annotations?.[keyIdAnnotation];
  if (id !== undefined && /^[0-9a-f]{16}$/.test(id)) claimedIds.add(id);
}

/** A key may sign other images too; only what it signed as a bundle is taken for one. */
function requireBundleReference(reference: string, label: string): void {
  const repository = reference.replace(/@.*$/, '').replace(/:[^/]*$/, '');
  if (repository === bundleRepository || repository.endsWith(`/${bundleRepository}`)) return;
  throw new SluiceError(
    'SignatureUntrusted',
    `${label} carries a signature that was made for ${reference.slice(0, 200)}, not for a bundle`,
  );
}
