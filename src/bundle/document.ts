import { SluiceError } from '../errors/error.ts';
import { type Digest, hexOf, isDigest } from '../oci/digest.ts';
import { ownArchitecture } from '../oci/image.ts';
import { parseStrictJson } from '../oci/json.ts';
import { isPlatformName } from '../oci/platform.ts';
import { isTag, parseReference } from '../oci/reference.ts';

/** Repository of the bundle images; their tags are the names of the bundles. */
export const bundleRepository = 'openshift/release-bundles';
/** Repository of the release payloads. */
export const payloadRepository = 'openshift/release-images';
/** Repository of the images that payloads name. */
export const componentRepository = 'openshift/release';

/** Architectures as bundle names have them. */
export const architectures = ['x86_64', 'aarch64', 'ppc64le', 's390x', 'multi'] as const;
export type Architecture = (typeof architectures)[number];

const formatVersion = 1;
/** Bytes of a bundle.json; one of 300 images has about 120 000. */
export const documentBytesMax = 4 * 1024 * 1024;
const imagesMax = 4096;
const versionsMax = 4096;
const attachedMax = 64;
const platformsMax = 64;
/** Longer names do not fit the InternalReleaseImage API, and a name is never cut. */
const nameLengthMax = 64;
const namePrefix = 'ocp-release-bundle-';
const namePattern = /^ocp-release-bundle-[0-9]+\.[0-9]+\.[0-9]+-[A-Za-z0-9._-]+$/;

export const bundleRoles = ['payload', 'component', 'operator', 'catalog', 'check', 'additional'] as const;
export type BundleRole = (typeof bundleRoles)[number];

/** A manifest that belongs to an image (a signature, an attestation) and travels in the same repository. */
export interface Attachment {
  readonly digest: Digest;
  readonly tag?: string;
}

export interface BundleImage {
  /** Tag name in image-references for a component; the repository for others; `payload` for the payload. */
  readonly name: string;
  /** Repository as the payload names it, without tag and digest: what mirror sets map. */
  readonly source: string;
  /** Repository in which it stands on media, in stores and in registries. */
  readonly repository: string;
  /** Tag under which it stands there. */
  readonly tag: string;
  readonly role: BundleRole;
  readonly digest: Digest;
  /** Bytes of the manifest that `digest` names. */
  readonly size: number;
  /** Bytes of everything that the image needs, each blob counted once. */
  readonly closureBytes: number;
  readonly attached: readonly Attachment[];
}

export interface BundleOs {
  /** Tag name of the OS image in image-references. */
  readonly tag: string;
  readonly digest: Digest;
  readonly version?: string;
  readonly kernel?: string;
}

/** What a bundle is: the content of its signed `bundle.json`. */
export interface BundleDocument {
  readonly formatVersion: 1;
  readonly name: string;
  readonly version: string;
  readonly arch: Architecture;
  /** Versions from which an update to this one is allowed, sorted. */
  readonly previous: readonly string[];
  /** Platforms that indexes were cut to (`linux/amd64`), sorted; absent: whole. */
  readonly platforms?: readonly string[];
  /** Digest of the release payload. */
  readonly payload: Digest;
  readonly os?: BundleOs;
  readonly images: readonly BundleImage[];
  /** Release version → payload digest. */
  readonly versions: Readonly<Record<string, Digest>>;
}

/** Names of architectures as images have them (Go's GOARCH). */
const imageArchitectures: Readonly<Record<Exclude<Architecture, 'multi'>, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  ppc64le: 'ppc64le',
  s390x: 's390x',
};

/** The architecture of the payload image that stands for the release, as images name it: any of them has the same files. */
export function payloadArchitecture(document: Pick<BundleDocument, 'arch' | 'platforms'>): string {
  if (document.arch !== 'multi') return imageArchitectures[document.arch];
  const offered = (document.platforms ?? []).map((each) => each.split('/')[1] ?? '');
  const own = ownArchitecture();
  return offered.length === 0 || offered.includes(own) ? own : (offered[0] ?? own);
}

/** The name of an architecture in bundle names. Errors: InputInvalid. */
export function bundleArchitecture(image: string): Architecture {
  const arch = architectures.find(
    (each) => each === image || (each !== 'multi' && imageArchitectures[each] === image),
  );
  if (arch !== undefined) return arch;
  throw new SluiceError('InputInvalid', `the payload is for ${image}, which no bundle name has`);
}

/** Errors: InputInvalid where the name would be too long, or is no name of a release bundle. */
export function bundleName(version: string, arch: Architecture): string {
  const name = `${namePrefix}${version}-${arch}`;
  if (name.length > nameLengthMax) {
    throw new SluiceError(
      'InputInvalid',
      `the bundle name ${name} has more than ${nameLengthMax} characters`,
      {
        next: 'Choose a shorter version: names are never cut.',
      },
    );
  }
  if (!namePattern.test(name)) {
    throw new SluiceError('InputInvalid', `${version} cannot be part of a bundle name`, {
      next: 'Use a version such as 4.21.3 or 4.22.0-rc.1, without build metadata.',
    });
  }
  return name;
}

/** Version and architecture in a bundle's name. Errors: InputInvalid. */
export function parseBundleName(name: string): { version: string; arch: Architecture } {
  const arch = architectures.find((each) => name.endsWith(`-${each}`));
  if (!isBundleName(name) || arch === undefined) {
    throw new SluiceError('InputInvalid', `"${name.slice(0, 100)}" is not the name of a release bundle`, {
      next: `Names are ${namePrefix}<version>-<arch> with an architecture of ${architectures.join(', ')}.`,
    });
  }
  return { version: name.slice(namePrefix.length, -arch.length - 1), arch };
}

/** Whether `name` has the shape of a release bundle's name. */
export function isBundleName(name: string): boolean {
  return (
    name.length <= nameLengthMax &&
    namePattern.test(name) &&
    architectures.some((arch) => name.endsWith(`-${arch}`))
  );
}

/**
 * Where an image stands in every registry, from what it is (the payload under its digest, components
 * under version and tag name, others under their own path).
 *
 * @param image.tag only for the other roles: the tag that it had at its source.
 */
export function placeOf(
  image: { role: BundleRole; name: string; source: string; digest: Digest; tag?: string | undefined },
  version: string,
): { repository: string; tag: string } {
  switch (image.role) {
    case 'payload':
      return { repository: payloadRepository, tag: hexOf(image.digest) };
    case 'component':
      return { repository: componentRepository, tag: `${version}-${image.name}` };
    default:
      return { repository: parseReference(image.source).repository, tag: image.tag ?? hexOf(image.digest) };
  }
}

/** The bytes of `bundle.json`: the same document always gives the same bytes. */
export function formatBundleDocument(document: BundleDocument): Uint8Array {
  const images = document.images.map((image) => ({
    name: image.name,
    source: image.source,
    role: image.role,
    digest: image.digest,
    size: image.size,
    closureBytes: image.closureBytes,
    ...(image.role === 'payload' || image.role === 'component' ? {} : { tag: image.tag }),
    ...(image.attached.length === 0 ? {} : { attached: image.attached }),
  }));
  const { name, version, arch, previous, platforms, payload, os, versions } = document;
  const ordered = { formatVersion, name, version, arch, previous, platforms, payload, os, images, versions };
  return Buffer.from(`${JSON.stringify(ordered, null, 2)}\n`, 'utf8');
}

/** Reads a `bundle.json`. Errors: InputInvalid (the place is named), InputTooLarge. */
export function parseBundleDocument(bytes: Uint8Array): BundleDocument {
  if (bytes.length > documentBytesMax) {
    throw new SluiceError(
      'InputTooLarge',
      `bundle.json has ${bytes.length} bytes, more than ${documentBytesMax}`,
    );
  }
  const document = object(parseStrictJson(bytes, 'bundle.json'), 'the document');
  if (document.formatVersion !== formatVersion) {
    throw new SluiceError(
      'InputInvalid',
      `bundle.json has the format version ${JSON.stringify(document.formatVersion)}; this program reads ${formatVersion}`,
      { next: 'Use the Sluice that travels on the disk, or a newer one.' },
    );
  }
  const name = text(document.name, 'name');
  const version = text(document.version, 'version');
  const { arch, version: named } = parseBundleName(name);
  if (document.arch !== arch || version !== named) throw invalid('name', 'is not made of version and arch');
  const payload = digest(document.payload, 'payload');
  const images = list(document.images, 'images', imagesMax).map((value, index) =>
    parseImage(value, `images[${index}]`, version),
  );
  checkImages(images, payload);
  const versions = Object.entries(object(document.versions, 'versions')).map(
    ([key, value]): [string, Digest] => [key, digest(value, `versions.${key}`)],
  );
  if (new Map(versions).get(version) !== payload)
    throw invalid('versions', `does not map ${version} to the payload`);
  const os = document.os === undefined ? undefined : parseOs(document.os);
  if (os !== undefined && !images.some((image) => image.name === os.tag && image.digest === os.digest)) {
    throw invalid('os', 'is not among the images');
  }
  return {
    formatVersion,
    name,
    version,
    arch,
    previous: list(document.previous, 'previous', versionsMax).map((value, i) =>
      text(value, `previous[${i}]`),
    ),
    ...(document.platforms === undefined ? {} : { platforms: parsePlatforms(document.platforms) }),
    payload,
    ...(os === undefined ? {} : { os }),
    images,
    versions: Object.fromEntries(versions),
  };
}

function parsePlatforms(value: unknown): string[] {
  const platforms = list(value, 'platforms', platformsMax).map((each, i) => text(each, `platforms[${i}]`));
  if (platforms.length > 0 && platforms.every(isPlatformName)) return platforms;
  throw invalid('platforms', 'are not written as linux/amd64');
}

function parseImage(value: unknown, where: string, version: string): BundleImage {
  const image = object(value, where);
  const role = bundleRoles.find((each) => each === image.role);
  if (role === undefined) throw invalid(`${where}.role`, `is not one of ${bundleRoles.join(', ')}`);
  const source = text(image.source, `${where}.source`);
  const reference = parseReference(source);
  if (reference.tag !== undefined || reference.digest !== undefined) {
    throw invalid(`${where}.source`, 'has a tag or a digest');
  }
  const named = {
    role,
    name: text(image.name, `${where}.name`),
    source,
    digest: digest(image.digest, where),
  };
  const tag = image.tag === undefined ? undefined : text(image.tag, `${where}.tag`);
  const place = placeOf({ ...named, tag }, version);
  if (!isTag(place.tag)) throw invalid(where, `would have the tag ${place.tag.slice(0, 150)}`);
  return {
    ...named,
    ...place,
    size: bytesOf(image.size, `${where}.size`),
    closureBytes: bytesOf(image.closureBytes, `${where}.closureBytes`),
    attached: list(image.attached ?? [], `${where}.attached`, attachedMax).map((entry, index) =>
      parseAttachment(entry, `${where}.attached[${index}]`),
    ),
  };
}

function parseAttachment(value: unknown, where: string): Attachment {
  const entry = object(value, where);
  if (entry.tag === undefined) return { digest: digest(entry.digest, where) };
  const tag = text(entry.tag, `${where}.tag`);
  if (!isTag(tag)) throw invalid(`${where}.tag`, 'is not a tag');
  return { digest: digest(entry.digest, where), tag };
}

function parseOs(value: unknown): BundleOs {
  const os = object(value, 'os');
  return {
    tag: text(os.tag, 'os.tag'),
    digest: digest(os.digest, 'os.digest'),
    ...(os.version === undefined ? {} : { version: text(os.version, 'os.version') }),
    ...(os.kernel === undefined ? {} : { kernel: text(os.kernel, 'os.kernel') }),
  };
}

/** One payload; and no two images that would stand at one place with different content. */
function checkImages(images: readonly BundleImage[], payload: Digest): void {
  const payloads = images.filter((image) => image.role === 'payload');
  if (payloads.length !== 1 || payloads[0]?.digest !== payload) {
    throw invalid('images', 'do not hold the payload exactly once');
  }
  const places = new Map<string, Digest>();
  for (const image of images) {
    const place = `${image.repository}:${image.tag}`;
    if (places.has(place)) throw invalid('images', `two stand at ${place}`);
    places.set(place, image.digest);
  }
}

function object(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(where, 'is not an object');
  return value as Record<string, unknown>;
}

function list(value: unknown, where: string, max: number): unknown[] {
  if (!Array.isArray(value)) throw invalid(where, 'is not a list');
  if (value.length > max) throw invalid(where, `has more than ${max} entries`);
  return value;
}

function text(value: unknown, where: string): string {
  if (typeof value !== 'string' || value === '' || value.length > 1024) {
    throw invalid(where, 'is not a text of 1 to 1024 characters');
  }
  return value;
}

function digest(value: unknown, where: string): Digest {
  if (typeof value !== 'string' || !isDigest(value)) throw invalid(where, 'has no sha256 digest');
  return value;
}

function bytesOf(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw invalid(where, 'is no size');
  return value;
}

function invalid(where: string, what: string): SluiceError {
  return new SluiceError('InputInvalid', `bundle.json cannot be used: ${where} ${what}`);
}
