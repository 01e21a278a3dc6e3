import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { type Descriptor, type Manifest, parseManifest } from '../oci/manifest.ts';
import type { ContentSource, RawManifest } from '../oci/source.ts';
import { readLayer } from '../payload/layer.ts';
import type { TrustedKey } from '../trust/keys.ts';
import {
  type Attachment,
  type BundleDocument,
  bundleRepository,
  documentBytesMax,
  parseBundleDocument,
} from './document.ts';
import { verifySignatures } from './signature.ts';

/** The file in the bundle image's one layer. */
export const documentFile = 'bundle.json';

/** A bundle by its name, or by its identity. */
export type BundleReference = { readonly name: string } | { readonly digest: Digest };

/** A bundle whose signature was verified, and whose document is the one that was signed. */
export interface VerifiedBundle {
  /** Identity: the digest of the signed manifest. */
  readonly digest: Digest;
  readonly document: BundleDocument;
  readonly signedBy: { readonly id: string; readonly name: string };
  /** Manifests of the signatures that a trusted key made, in the bundle's repository. */
  readonly signatures: readonly Attachment[];
}

/**
 * Opens a bundle: signature, then bundle.json, nothing before its proof. What it names is not read yet; each of
 * those blobs must be hashed by whoever reads it.
 *
 * Errors: NotFound, SignatureMissing, SignatureUntrusted, DigestMismatch, ContentMissing, InputInvalid, MediaLost.
 */
export async function openBundle(
  content: ContentSource,
  reference: BundleReference,
  keys: readonly TrustedKey[],
): Promise<VerifiedBundle> {
  const raw = await findBundle(content, reference);
  const label = labelOf(reference);
  const signed = await verifySignatures(content, raw.digest, keys, label);
  const document = await readDocument(content, raw, label);
  if ('name' in reference && document.name !== reference.name) {
    throw new SluiceError(
      'DigestMismatch',
      `under the name ${reference.name} stands the bundle ${document.name}`,
    );
  }
  return {
    digest: raw.digest,
    document,
    signedBy: { id: signed.key.id, name: signed.key.name },
    signatures: signed.signatures,
  };
}

/**
 * What a bundle says of itself, whoever made it: to show to a person, never to act upon.
 * Errors: NotFound, DigestMismatch, ContentMissing, InputInvalid, MediaLost.
 */
export async function readUnverifiedBundle(
  content: ContentSource,
  reference: BundleReference,
): Promise<{ digest: Digest; document: BundleDocument }> {
  const raw = await findBundle(content, reference);
  return { digest: raw.digest, document: await readDocument(content, raw, labelOf(reference)) };
}

function labelOf(reference: BundleReference): string {
  return 'name' in reference ? reference.name : `${bundleRepository}@${reference.digest}`;
}

async function findBundle(content: ContentSource, reference: BundleReference): Promise<RawManifest> {
  const word = 'name' in reference ? reference.name : reference.digest;
  const raw = await content.manifest(bundleRepository, word);
  if (raw !== undefined) return raw;
  const joined = isDigest(word) ? `@${word}` : `:${word}`;
  throw new SluiceError('NotFound', `${content.label} holds no bundle ${bundleRepository}${joined}`);
}

async function readDocument(
  content: ContentSource,
  raw: RawManifest,
  label: string,
): Promise<BundleDocument> {
  const layer = soleLayer(parseManifest(raw.bytes, raw.mediaType), label);
  const entries = await readLayer(content, bundleRepository, layer, {
    what: `bundle ${label}`,
    wanted: (path) => path === documentFile,
    limits: {
      unpackedBytesMax: 2 * documentBytesMax,
      entriesMax: 16,
      fileBytesMax: documentBytesMax,
      keptBytesMax: documentBytesMax,
    },
  });
  const [file, ...others] = entries;
  if (file?.kind !== 'file' || others.length > 0) {
    throw new SluiceError('InputInvalid', `${label} is not a bundle: it must hold one file /${documentFile}`);
  }
  return parseBundleDocument(file.data);
}

function soleLayer(manifest: Manifest, label: string): Descriptor {
  const [layer, ...others] = manifest.kind === 'image' ? manifest.layers : [];
  if (layer !== undefined && others.length === 0) return layer;
  throw new SluiceError('InputInvalid', `${label} is not a bundle: its image must have exactly one layer`);
}
