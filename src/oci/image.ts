import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from './digest.ts';
import { parseStrictJson } from './json.ts';
import type { Descriptor, ImageManifest, IndexManifest, Platform } from './manifest.ts';
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

/** The child for a platform; undefined where there is none. A child without a platform (a nested index) fits any. */
export function pickPlatform(
  index: IndexManifest,
  platform: { os: string; architecture: string },
): Descriptor | undefined {
  const fits = (found: Platform | undefined) =>
    found?.os === platform.os && found.architecture === platform.architecture;
  return (
    index.manifests.find((child) => fits(child.platform)) ??
    index.manifests.find((child) => child.platform === undefined && child.artifactType === undefined)
  );
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
): Promise<{ digest: Digest; manifest: ImageManifest }> {
  let next = reference;
  for (let depth = 0; depth <= indexDepthMax; depth += 1) {
    const { raw, manifest } = await readManifest(source, repository, next);
    if (manifest.kind === 'image') return { digest: raw.digest, manifest };
    const child = pickPlatform(manifest, platform);
    if (child === undefined) {
      throw new SluiceError(
        'ContentMissing',
        `${repository}@${raw.digest} has no image for ${platform.os}/${platform.architecture}`,
      );
    }
    next = child.digest;
  }
  throw new SluiceError(
    'InputTooLarge',
    `${repository}@${reference} nests indexes deeper than ${indexDepthMax}`,
  );
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
