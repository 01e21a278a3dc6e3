import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { readReleaseFiles } from './files.ts';
import { type PayloadManifest, type PayloadProblem, readManifests } from './manifest.ts';
import { parseReleaseMetadata } from './metadata.ts';
import { buildVersions, buildVersionsAnnotation, parseImageReferences, splitPullSpec } from './references.ts';

export type { PayloadManifest, PayloadProblem } from './manifest.ts';

/** An image that a payload names. */
export interface PayloadImage {
  readonly tag: string;
  /** The pull spec as the payload has it: `<repository>@<digest>`. */
  readonly reference: string;
  readonly repository: string;
  readonly digest: Digest;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Payload {
  /** Digest of the payload image, as it was asked for. */
  readonly digest: Digest;
  readonly version: string;
  /** Versions from which an update to this one is allowed. */
  readonly previous: readonly string[];
  readonly channels: readonly string[];
  readonly url: string | undefined;
  /** As the image's configuration names it (`amd64`), or `multi`. */
  readonly architecture: string;
  /** By tag name. */
  readonly images: ReadonlyMap<string, PayloadImage>;
  /** In the order in which they are applied. */
  readonly manifests: readonly PayloadManifest[];
  /** What of the manifests could not be read. */
  readonly problems: readonly PayloadProblem[];
  /** Files of /release-manifests by name. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Version of Kubernetes, where the payload says it. */
  readonly kubernetesVersion: string | undefined;
}

/**
 * Reads a release payload. Every byte that counts was hashed against `digest`.
 *
 * @param options.architecture which image of an index is read, as OCI names it; default: this machine's.
 * Errors: ContentMissing, DigestMismatch, InputInvalid (not a payload), InputTooLarge, MediaLost.
 */
export async function readPayload(
  content: ContentSource,
  repository: string,
  digest: Digest,
  options: { architecture?: string } = {},
): Promise<Payload> {
  const { files, architecture } = await readReleaseFiles(content, repository, digest, options.architecture);
  const metadata = parseReleaseMetadata(required(files, 'release-metadata', digest));
  const references = parseImageReferences(required(files, 'image-references', digest), 'image-references');
  if (references.name !== metadata.version) {
    throw new SluiceError(
      'InputInvalid',
      `the payload ${digest} contradicts itself: image-references is of ${references.name}, release-metadata of ${metadata.version}`,
    );
  }
  const images = new Map<string, PayloadImage>();
  for (const { name, spec, annotations } of references.tags) {
    const where = `image-references, tag ${name}`;
    images.set(name, { tag: name, reference: spec, ...splitPullSpec(spec, where), annotations });
  }
  return {
    digest,
    version: metadata.version,
    previous: metadata.previous,
    channels: metadata.channels,
    url: metadata.url,
    architecture: metadata.architecture === 'multi' ? 'multi' : architecture,
    images,
    ...readManifests(files),
    files,
    kubernetesVersion: kubernetesVersionOf(images),
  };
}

function required(files: ReadonlyMap<string, Uint8Array>, name: string, digest: Digest): Uint8Array {
  const bytes = files.get(name);
  if (bytes !== undefined) return bytes;
  throw new SluiceError(
    'InputInvalid',
    `${digest} is not a release payload: it has no /release-manifests/${name}`,
  );
}

function kubernetesVersionOf(images: ReadonlyMap<string, PayloadImage>): string | undefined {
  for (const image of images.values()) {
    const version = buildVersions(image.annotations[buildVersionsAnnotation]).get('kubernetes');
    if (version !== undefined) return version;
  }
  return undefined;
}
