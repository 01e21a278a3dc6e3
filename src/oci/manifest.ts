import { SluiceError } from '../errors/error.ts';
import { type Digest, isAnyDigest } from './digest.ts';
import { parseStrictJson } from './json.ts';

/** Media types of the OCI image specification (media-types.md) and of Docker's schema 2. */
export const mediaTypes = {
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociConfig: 'application/vnd.oci.image.config.v1+json',
  ociLayerTar: 'application/vnd.oci.image.layer.v1.tar',
  ociLayerGzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  ociLayerZstd: 'application/vnd.oci.image.layer.v1.tar+zstd',
  ociEmpty: 'application/vnd.oci.empty.v1+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  /** Of schema 1, which is read nowhere. */
  dockerSchema1: 'application/vnd.docker.distribution.manifest.v1+json',
  dockerSchema1Signed: 'application/vnd.docker.distribution.manifest.v1+prettyjws',
  dockerConfig: 'application/vnd.docker.container.image.v1+json',
  dockerLayerGzip: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
} as const;

/** Manifest types that are read, in the order of an Accept header. */
export const manifestTypes: readonly string[] = [
  mediaTypes.ociIndex,
  mediaTypes.ociManifest,
  mediaTypes.dockerList,
  mediaTypes.dockerManifest,
];

/** Larger manifests are refused, as registries do (distribution-spec, "Pushing Manifests": at least 4 MiB). */
export const manifestBytesMax = 4 * 1024 * 1024;
const descriptorsMax = 10_000;

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** image-spec, descriptor.md. `size` in bytes. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: Platform;
  readonly artifactType?: string;
  readonly urls?: readonly string[];
}

interface ManifestBase {
  readonly mediaType: string;
  readonly subject?: Descriptor;
  readonly artifactType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageManifest extends ManifestBase {
  readonly kind: 'image';
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface IndexManifest extends ManifestBase {
  readonly kind: 'index';
  readonly manifests: readonly Descriptor[];
}

export type Manifest = ImageManifest | IndexManifest;

/**
 * Reads a manifest or an index: OCI or Docker schema 2.
 *
 * @param mediaType what the transport or the descriptor said; the document's own field counts first.
 * Errors: InputTooLarge, InputInvalid (also for schema 1, and for a document that is both image and index,
 * which two readers could take for different things: CVE-2021-41190).
 */
export function parseManifest(bytes: Uint8Array, mediaType?: string): Manifest {
  if (bytes.length > manifestBytesMax) {
    throw new SluiceError(
      'InputTooLarge',
      `a manifest of ${bytes.length} bytes is larger than ${manifestBytesMax}`,
    );
  }
  const document = record(parseStrictJson(bytes, 'a manifest'), 'a manifest');
  if (document.schemaVersion === 1 || 'fsLayers' in document) {
    throw schema1('the manifest');
  }
  if (document.schemaVersion !== 2) throw invalid('schemaVersion must be 2');
  const isIndex = 'manifests' in document;
  const isImage = 'layers' in document || 'config' in document;
  if (isIndex === isImage)
    throw invalid(isIndex ? 'it is both an image and an index' : 'it is neither an image nor an index');
  const type = typeOf(document, mediaType, isIndex);
  const base = {
    mediaType: type,
    ...(document.subject === undefined || document.subject === null
      ? {}
      : { subject: descriptor(document.subject, 'subject') }),
    ...(document.artifactType === undefined
      ? {}
      : { artifactType: text(document.artifactType, 'artifactType') }),
    ...(document.annotations === undefined || document.annotations === null
      ? {}
      : { annotations: texts(document.annotations, 'annotations') }),
  };
  if (isIndex) return { kind: 'index', ...base, manifests: descriptors(document.manifests, 'manifests') };
  return {
    kind: 'image',
    ...base,
    config: descriptor(document.config, 'config'),
    layers: descriptors(document.layers ?? [], 'layers'),
  };
}

/** `parseManifest` of what a place gave; an error says what was asked for, and where. */
export function parseManifestOf(where: string, bytes: Uint8Array, mediaType?: string): Manifest {
  try {
    return parseManifest(bytes, mediaType);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new SluiceError(error.code, `${where}: ${error.message}`, { cause: error, next: error.next });
  }
}

/** The refusal of a manifest of schema 1. */
export function schema1(what: string): SluiceError {
  return new SluiceError('InputInvalid', `${what} is of schema 1, which carries no verifiable layers`, {
    next: 'Push the image again with a current tool: it becomes schema 2 or OCI.',
  });
}

/** Whether a descriptor of this type names a manifest of schema 1. */
export function isSchema1Type(mediaType: string): boolean {
  return mediaType === mediaTypes.dockerSchema1 || mediaType === mediaTypes.dockerSchema1Signed;
}

/** Every descriptor that a manifest names, its subject left out: what it needs to be whole. */
export function childrenOf(manifest: Manifest): readonly Descriptor[] {
  return manifest.kind === 'index' ? manifest.manifests : [manifest.config, ...manifest.layers];
}

/** Whether a descriptor of this type names a manifest, not a blob. */
export function isManifestType(mediaType: string): boolean {
  return manifestTypes.includes(mediaType);
}

/** Whether a descriptor of this type names an index, which names manifests itself. */
export function isIndexType(mediaType: string): boolean {
  return mediaType === mediaTypes.ociIndex || mediaType === mediaTypes.dockerList;
}

/**
 * How a referrers list shows a manifest (distribution-spec, "Listing Referrers"): artifactType falls back to
 * the config's media type; annotations are the manifest's own.
 */
export function referrerDescriptor(digest: Digest, size: number, manifest: Manifest): Descriptor {
  const artifactType =
    manifest.artifactType ?? (manifest.kind === 'image' ? manifest.config.mediaType : undefined);
  return {
    mediaType: manifest.mediaType,
    digest,
    size,
    ...(artifactType === undefined ? {} : { artifactType }),
    ...(manifest.annotations === undefined ? {} : { annotations: manifest.annotations }),
  };
}

function typeOf(document: Record<string, unknown>, told: string | undefined, isIndex: boolean): string {
  const own = document.mediaType === undefined ? undefined : text(document.mediaType, 'mediaType');
  const type = own ?? told?.split(';')[0]?.trim();
  const allowed: readonly string[] = isIndex
    ? [mediaTypes.ociIndex, mediaTypes.dockerList]
    : [mediaTypes.ociManifest, mediaTypes.dockerManifest];
  if (type !== undefined && allowed.includes(type)) return type;
  // Only the document's own word is held against it; a transport may say text/plain.
  if (own !== undefined) throw invalid(`its mediaType ${own.slice(0, 80)} does not fit what it holds`);
  return isIndex ? mediaTypes.ociIndex : mediaTypes.ociManifest;
}

function descriptors(value: unknown, where: string): Descriptor[] {
  if (!Array.isArray(value)) throw invalid(`${where} must be a list`);
  if (value.length > descriptorsMax) throw invalid(`${where} has more than ${descriptorsMax} entries`);
  return value.map((entry, index) => descriptor(entry, `${where}[${index}]`));
}

/** @param where the path in the document, for the message. Errors: InputInvalid. */
export function descriptor(value: unknown, where: string): Descriptor {
  const entry = record(value, where);
  const digest = text(entry.digest, `${where}.digest`);
  if (!isAnyDigest(digest)) throw invalid(`${where}.digest is not a digest`);
  const size = entry.size;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw invalid(`${where}.size is not a number of bytes`);
  }
  return {
    mediaType: text(entry.mediaType, `${where}.mediaType`),
    digest,
    size,
    ...(entry.annotations === undefined || entry.annotations === null
      ? {}
      : { annotations: texts(entry.annotations, `${where}.annotations`) }),
    ...(entry.platform === undefined || entry.platform === null
      ? {}
      : { platform: platform(entry.platform, `${where}.platform`) }),
    ...(entry.artifactType === undefined
      ? {}
      : { artifactType: text(entry.artifactType, `${where}.artifactType`) }),
    ...(Array.isArray(entry.urls) ? { urls: entry.urls.map((url) => text(url, `${where}.urls`)) } : {}),
  };
}

function platform(value: unknown, where: string): Platform {
  const entry = record(value, where);
  return {
    os: text(entry.os ?? '', `${where}.os`),
    architecture: text(entry.architecture ?? '', `${where}.architecture`),
    ...(entry.variant === undefined ? {} : { variant: text(entry.variant, `${where}.variant`) }),
  };
}

function record(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${where} must be an object`);
  return value as Record<string, unknown>;
}

function text(value: unknown, where: string): string {
  if (typeof value !== 'string') throw invalid(`${where} must be a text`);
  return value;
}

function texts(value: unknown, where: string): Record<string, string> {
  const entry = record(value, where);
  return Object.fromEntries(Object.entries(entry).map(([key, item]) => [key, text(item, `${where}.${key}`)]));
}

function invalid(what: string): SluiceError {
  return new SluiceError('InputInvalid', `the manifest cannot be used: ${what}`);
}
