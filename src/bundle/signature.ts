import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { type Descriptor, type ImageManifest, parseManifest } from '../oci/manifest.ts';
import { readBlob } from '../oci/read.ts';
import type { ContentSource, RawManifest } from '../oci/source.ts';
import {
  keyIdAnnotation,
  signatureAnnotation,
  signatureArtifactType,
  signatureTag,
  signedDigest,
  simpleSigningBytesMax,
  simpleSigningMediaType,
  verifyClaim,
} from '../trust/cosign.ts';
import { describeKeys, type TrustedKey } from '../trust/keys.ts';
import { readSigstoreBundle, signerOf, sigstoreBundleType } from '../trust/sigstore-bundle.ts';
import { type Attachment, bundleRepository } from './document.ts';

/** Artifact types of signatures among the referrers: of cosign 2, and of cosign 3. */
const signatureTypes = [signatureArtifactType, sigstoreBundleType] as const;
/** Media types of the signed documents in them. */
const documentTypes = [simpleSigningMediaType, sigstoreBundleType] as const;

/** Signature manifests of one bundle that are looked at, and signatures in each of them. */
const manifestsMax = 16;
const layersMax = 32;
/** Bytes of a signature's manifest: certificates may stand in its annotations. */
const signatureManifestBytesMax = 256 * 1024;
/** Bytes of the image configuration that cosign writes beside the signed documents; it lists them. */
const configBytesMax = 64 * 1024;

export interface VerifiedSignatures {
  /** A trusted key that signed. */
  readonly key: TrustedKey;
  /**
   * The signature manifests that a trusted key's signature was found in. Nobody signs these manifests themselves, so
   * one is only among them where all that it names are small documents about this very digest.
   */
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
  const signatures = referrers.filter((each) => signatureTypes.some((type) => type === each.artifactType));
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
  context: Context,
): Promise<TrustedKey | undefined> {
  const manifest = parseManifest(raw.bytes, raw.mediaType);
  if (manifest.kind !== 'image') return undefined;
  let key: TrustedKey | undefined;
  let damage: unknown;
  for (const layer of manifest.layers.slice(0, layersMax)) {
    if (!documentTypes.some((type) => type === layer.mediaType)) continue;
    noteClaimedId(layer, context.claimedIds);
    try {
      const document = await readBlob(content, bundleRepository, layer.digest, simpleSigningBytesMax);
      const signer =
        layer.mediaType === sigstoreBundleType
          ? verifySigstore(document, context)
          : verifySimple(document, layer, context);
      key ??= signer;
    } catch (error) {
      damage ??= error;
    }
  }
  // What is damaged beside a good signature would be served and copied with it.
  if (damage !== undefined) throw damage;
  if (key !== undefined) requireSignaturesOnly(raw, manifest, context.label);
  return key;
}

interface Context {
  readonly digest: Digest;
  readonly keys: readonly TrustedKey[];
  readonly claimedIds: Set<string>;
  readonly label: string;
}

/** cosign's own form: the signature is an annotation beside the signed document. */
function verifySimple(document: Uint8Array, layer: Descriptor, context: Context): TrustedKey | undefined {
  const signature = layer.annotations?.[signatureAnnotation] ?? '';
  const claim = verifyClaim(document, signature, context.keys, context.digest);
  // Of a key that is not known here: it may stand beside, but must speak of the same.
  if (claim === undefined) requireDigest([signedDigest(document)], context);
  else requireBundleReference(claim.dockerReference, context.label);
  return claim?.key;
}

/** Sigstore's form, which says nothing of where the bundle stood. */
function verifySigstore(document: Uint8Array, context: Context): TrustedKey | undefined {
  const statement = readSigstoreBundle(document);
  if (statement === undefined) return undefined;
  requireDigest(statement.digests, context);
  return signerOf(statement, context.keys);
}

/**
 * Whoever has a medium can write another manifest around a good signature: what it names besides would be served and
 * copied as part of the bundle, though no key ever vouched for it.
 */
function requireSignaturesOnly(raw: RawManifest, manifest: ImageManifest, label: string): void {
  const { config, layers } = manifest;
  const isSmall =
    raw.bytes.length <= signatureManifestBytesMax &&
    config.size <= configBytesMax &&
    layers.length <= layersMax &&
    layers.every((layer) => layer.size <= simpleSigningBytesMax);
  if (isSmall && layers.every((layer) => documentTypes.some((type) => type === layer.mediaType))) return;
  throw new SluiceError(
    'SignatureUntrusted',
    `${label} carries a signature manifest, ${raw.digest}, that names more than signatures`,
    { next: 'Take the bundle from its maker again: somebody has added to it.' },
  );
}

function requireDigest(digests: readonly string[], context: { digest: Digest; label: string }): void {
  if (digests.includes(context.digest)) return;
  const other = (digests[0] ?? 'nothing').slice(0, 80);
  throw new SluiceError(
    'DigestMismatch',
    `${context.label} carries a signature for ${other}, not for ${context.digest}`,
  );
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
