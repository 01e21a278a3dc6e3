import type { Digest } from './digest.ts';
import type { ImageConfig } from './image.ts';
import type { ContentSource } from './source.ts';

export interface UnpackOptions {
  /** Default: linux, and the architecture of this machine. Used where the digest is that of an index. */
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly bytesMax?: number;
  readonly entriesMax?: number;
  readonly signal?: AbortSignal;
}

/**
 * Puts the layers of an image into the empty directory `rootfs`, each byte verified. On an error the directory is emptied.
 * Errors: ContentMissing, DigestMismatch, InputInvalid, InputTooLarge, DiskFull.
 */
export declare function unpackImage(
  source: ContentSource,
  repository: string,
  digest: Digest,
  rootfs: string,
  options?: UnpackOptions,
): Promise<ImageConfig>;
