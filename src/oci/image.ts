import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from './digest.ts';
import { parseStrictJson } from './json.ts';
import {
  type Descriptor,
  type ImageManifest,
  type IndexManifest,
  isIndexType,
  type Platform,
} from './manifest.ts';
import { readBlob, readManifest } from './read.ts';
import type { ContentSource } from './source.ts';

/** What an image's configuration says (image-spec, config.md), as far as it is used. */
export interface ImageConfig {
  readonly labels: Readonly<Record<string, string>>;
  readonly architecture: string;
  readonly os: string;
  /** 'NAME=value' each. */
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly workingDir: string;
  readonly user: string;
  /** Digests of the layers as they are uncompressed, the lowest first. */
  readonly diffIds: readonly Digest[];
}

const configBytesMax = 4 * 1024 * 1024;
const indexDepthMax = 10;
/** Indexes of one image that are read to find a platform. */
const indexesMax = 1000;

interface FoundImage {
  readonly digest: Digest;
  readonly manifest: ImageManifest;
}

/** Children in which an image for a platform may be; one without a platform (a nested index) may have any. */
function candidatesFor(
  index: IndexManifest,
  platform: { os: string; architecture: string },
): readonly Descriptor[] {
  const fits = ({ platform: found }: Descriptor) =>
    found?.os === platform.os && found.architecture === platform.architecture;
  const mayHave = (child: Descriptor) => child.platform === undefined && child.artifactType === undefined;
  return [...index.manifests.filter(fits), ...index.manifests.filter(mayHave)];
}

/** The architecture of this machine as images name it (Go's GOARCH). */
export function ownArchitecture(): string {
  const names: Record<string, string> = { x64: 'amd64', ia32: '386' };
  return names[process.arch] ?? process.arch;
}

/**
 * The image that a digest names, through indexes down to the platform's own manifest.
 * @param platform default: linux on this machine's architecture. Errors: ContentMissing, InputTooLarge.
 */
export async function resolveImage(
  source: ContentSource,
  repository: string,
  reference: string,
  platform: { os: string; architecture: string } = { os: 'linux', architecture: ownArchitecture() },
): Promise<FoundImage> {
  const { raw, manifest } = await readManifest(source, repository, reference);
  if (manifest.kind === 'image') return { digest: raw.digest, manifest };
  let indexes = 0;
  const within = async (index: IndexManifest, depth: number): Promise<FoundImage | undefined> => {
    indexes += 1;
    if (depth > indexDepthMax || indexes > indexesMax) {
      throw new SluiceError(
        'InputTooLarge',
        `${repository}@${raw.digest} nests indexes deeper than ${indexDepthMax}, or more than ${indexesMax} of them`,
      );
    }
    for (const child of candidatesFor(index, platform)) {
      const next = await readManifest(source, repository, child.digest);
      if (next.manifest.kind === 'image') return { digest: next.raw.digest, manifest: next.manifest };
      const found = await within(next.manifest, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const found = await within(manifest, 1);
  if (found !== undefined) return found;
  throw new SluiceError(
    'ContentMissing',
    `${repository}@${raw.digest} has no image for ${platform.os}/${platform.architecture}`,
  );
}

/** The platforms that an index and the indexes in it name; none of an image. Errors: ContentMissing. */
export async function platformsOf(
  source: ContentSource,
  repository: string,
  digest: Digest,
): Promise<Platform[]> {
  const found: Platform[] = [];
  let indexes = 0;
  const walk = async (reference: string, depth: number): Promise<void> => {
    indexes += 1;
    if (depth > indexDepthMax || indexes > indexesMax) return; // Whoever takes all of it refuses it.
    const { manifest } = await readManifest(source, repository, reference);
    if (manifest.kind !== 'index') return;
    for (const child of manifest.manifests) {
      if (child.platform !== undefined) found.push(child.platform);
      else if (isIndexType(child.mediaType)) await walk(child.digest, depth + 1);
    }
  };
  await walk(digest, 0);
  return found;
}

/**
 * The configuration of an image, of this machine's platform where the digest names an index.
 * Errors: ContentMissing, DigestMismatch, InputInvalid, InputTooLarge.
 */
export async function readConfig(
  source: ContentSource,
  repository: string,
  digest: Digest,
): Promise<ImageConfig> {
  const { manifest } = await resolveImage(source, repository, digest);
  return parseConfig(await readBlob(source, repository, manifest.config.digest, configBytesMax));
}

/** Reads a configuration document. Fields of other types than the specification's count as absent. Errors: InputInvalid. */
export function parseConfig(bytes: Uint8Array): ImageConfig {
  const document = parseStrictJson(bytes, 'an image configuration');
  const top = recordOf(document);
  if (top === undefined) throw new SluiceError('InputInvalid', 'an image configuration must be an object');
  const config = recordOf(top.config) ?? {};
  return {
    labels: Object.fromEntries(
      Object.entries(recordOf(config.Labels) ?? {}).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string',
      ),
    ),
    architecture: textOf(top.architecture),
    os: textOf(top.os),
    env: textsOf(config.Env),
    entrypoint: textsOf(config.Entrypoint),
    cmd: textsOf(config.Cmd),
    workingDir: textOf(config.WorkingDir),
    user: textOf(config.User),
    diffIds: textsOf(recordOf(top.rootfs)?.diff_ids).filter(isDigest),
  };
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
