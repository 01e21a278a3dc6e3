import type { Digest } from './digest.ts';
import type { Descriptor, IndexManifest } from './manifest.ts';
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
  /** Digests of the layers as they are uncompressed. */
  readonly diffIds: readonly Digest[];
}

/** The child for a platform; undefined where there is none. */
export declare function pickPlatform(
  index: IndexManifest,
  platform: { os: string; architecture: string },
): Descriptor | undefined;

/** The configuration of an image manifest. Errors: ContentMissing, DigestMismatch, InputInvalid. */
export declare function readConfig(
  source: ContentSource,
  repository: string,
  digest: Digest,
): Promise<ImageConfig>;
