import type { Digest } from './digest.ts';
import type { Descriptor } from './manifest.ts';

/** A manifest as it was stored: its digest is that of exactly these bytes, which are never written anew. */
export interface RawManifest {
  readonly digest: Digest;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface BlobReader {
  /** Bytes of the whole blob, also where the stream starts at an offset. */
  readonly size: number;
  /**
   * The bytes from the offset on. NOT verified: the consumer hashes. Each chunk belongs to the consumer, unless it allowed `reuse`.
   * Errors while it is read: MediaLost, Stalled, Unreachable.
   */
  readonly stream: AsyncIterable<Uint8Array>;
  /** Gives it back where the stream is not read. */
  close?(): Promise<void>;
}

export interface BlobOptions {
  /** First byte wanted; default 0. */
  readonly offset?: number;
  /** The consumer is done with a chunk when it asks for the next, so that its memory may be used again. */
  readonly reuse?: boolean;
  readonly signal?: AbortSignal;
}

/** Anything that images can be read from: a store, media, a layout, a registry, several of them. */
export interface ContentSource {
  /** For messages: 'registry https://…', 'the medium /run/…'. */
  readonly label: string;
  /**
   * @param reference a tag or a digest; bytes asked for by digest are verified against it.
   * Undefined only where it is certainly not there. Errors: DigestMismatch, and those of the transport.
   */
  manifest(repository: string, reference: string): Promise<RawManifest | undefined>;
  /** Undefined only where it is certainly not there. */
  blob(repository: string, digest: Digest, options?: BlobOptions): Promise<BlobReader | undefined>;
  /** Sorted as ASCII; empty where the repository does not exist. */
  tags(repository: string): Promise<string[]>;
  /** Manifests whose `subject` is `digest` (distribution-spec, "Listing Referrers"), fallback tag included. */
  referrers(repository: string, digest: Digest): Promise<Descriptor[]>;
}
