import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { parseStrictJson } from '../oci/json.ts';
import { parseManifest } from '../oci/manifest.ts';
import { readBlob } from '../oci/read.ts';
import type { ContentSource } from '../oci/source.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { bundleRepository } from './document.ts';
import { verifySignatures } from './signature.ts';

// A delta carries a bundle without the blobs that its base has. The bundle is the very same: same document, same
// digest, so that nodes which got it whole and nodes which got it as a delta agree. What is left out stands in a
// document of its own beside it, signed like a bundle, so that nobody can take blobs away and call it a delta.

/** Artifact type of the manifest that says what media leave out. */
export const deltaArtifactType = 'application/vnd.sluice.delta.v1';
export const deltaDocumentType = 'application/vnd.sluice.delta.v1+json';
export const deltaBytesMax = 16 * 1024 * 1024;
const formatVersion = 1;
const basesMax = 64;
const blobsMax = 200_000;

/** A release that a delta needs to be there. */
export interface DeltaBase {
  readonly name: string;
  readonly digest: Digest;
}

export interface Delta {
  /** Identity of the bundle that it is a delta of. */
  readonly bundle: Digest;
  /** Releases that hold what is left out, sorted by name. */
  readonly since: readonly DeltaBase[];
  /** Blobs that are left out, and their bytes, sorted by digest. */
  readonly lacks: ReadonlyMap<Digest, number>;
}

/** The tag under which a bundle's delta stands, beside the bundle. */
export function deltaTag(bundle: Digest): string {
  return `delta-${bundle.replace(':', '-')}`;
}

/** The same delta always gives the same bytes. */
export function formatDelta(delta: Delta): Uint8Array {
  const lacks = [...delta.lacks]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([digest, size]) => ({ digest, size }));
  const since = [...delta.since].sort((a, b) => (a.name < b.name ? -1 : 1));
  return Buffer.from(`${JSON.stringify({ formatVersion, bundle: delta.bundle, since, lacks })}\n`);
}

/** Errors: InputInvalid. */
export function parseDelta(bytes: Uint8Array): Delta {
  const document = (parseStrictJson(bytes, 'a delta') ?? {}) as Record<string, unknown>;
  const { bundle, since, lacks } = document;
  if (document.formatVersion !== formatVersion || typeof bundle !== 'string' || !isDigest(bundle)) {
    throw invalid('it is not of this format');
  }
  if (!Array.isArray(since) || since.length > basesMax) throw invalid('since is not a list');
  if (!Array.isArray(lacks) || lacks.length > blobsMax) throw invalid('lacks is not a list');
  return {
    bundle,
    since: since.map((value: unknown) => {
      const { name, digest } = (value ?? {}) as Record<string, unknown>;
      if (typeof name !== 'string' || typeof digest !== 'string' || !isDigest(digest)) throw invalid('since');
      return { name, digest };
    }),
    lacks: new Map(
      lacks.map((value: unknown): [Digest, number] => {
        const { digest, size } = (value ?? {}) as Record<string, unknown>;
        if (typeof digest !== 'string' || !isDigest(digest) || !Number.isSafeInteger(size))
          throw invalid('lacks');
        return [digest, size as number];
      }),
    ),
  };
}

/**
 * What media leave out of a bundle; undefined where they carry it whole. Only what a trusted key signed counts.
 *
 * @param keys undefined: what the media say of themselves, to be shown as such.
 * Errors: SignatureMissing, SignatureUntrusted, DigestMismatch, ContentMissing, InputInvalid, MediaLost.
 */
export async function readDelta(
  content: ContentSource,
  bundle: Digest,
  keys: readonly TrustedKey[] | undefined,
): Promise<Delta | undefined> {
  const raw = await content.manifest(bundleRepository, deltaTag(bundle));
  if (raw === undefined) return undefined;
  if (keys !== undefined) await verifySignatures(content, raw.digest, keys, `the delta of ${bundle}`);
  const manifest = parseManifest(raw.bytes, raw.mediaType);
  const layer = manifest.kind === 'image' ? manifest.layers[0] : undefined;
  if (layer?.mediaType !== deltaDocumentType) throw invalid('its manifest names no document');
  const delta = parseDelta(await readBlob(content, bundleRepository, layer.digest, deltaBytesMax));
  if (delta.bundle === bundle) return delta;
  throw new SluiceError('DigestMismatch', `the delta of ${bundle} was made for ${delta.bundle}`);
}

/** For people: `ocp-release-bundle-4.21.2-x86_64`, or several. */
export function describeBase(delta: Delta): string {
  return delta.since.map((base) => base.name).join(', ') || 'a base without a name';
}

function invalid(what: string): SluiceError {
  return new SluiceError('InputInvalid', `the delta cannot be used: ${what}`);
}
