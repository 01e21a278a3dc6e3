import type { Digest } from '../oci/digest.ts';
import type { Descriptor } from '../oci/manifest.ts';
import type { RawManifest } from '../oci/source.ts';

/** One thing that the registry answers from. Its content is verified, or is by the time its last byte leaves. */
export interface ServedTree {
  readonly label: string;
  /** 'peer' trees are left out for requests that come from a peer, so that no question goes in circles. */
  readonly kind: 'store' | 'media' | 'peer';
  hasRepository(repository: string): Promise<boolean>;
  repositories(): Promise<readonly string[]>;
  /** @param reference a tag or a digest. */
  manifest(repository: string, reference: string): Promise<RawManifest | undefined>;
  blob(repository: string, digest: Digest): Promise<ServedBlob | undefined>;
  /** A blob, whether a repository links it or not: what has come of a release that is still being copied. */
  unlinkedBlob?(digest: Digest): Promise<ServedBlob | undefined>;
  tags(repository: string): Promise<string[]>;
  referrers(repository: string, digest: Digest): Promise<Descriptor[]>;
  /** Gives back what it holds when the last answer that uses it has ended. */
  close(): Promise<void>;
}

/** A blob on its way out. Read once, or closed. */
export interface ServedBlob {
  readonly size: number;
  /** The bytes from `offset` to before `end`; a chunk is valid until the next is asked for. Errors: MediaLost, DigestMismatch, Unreachable, Stalled. */
  read(range: { offset: number; end: number }): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}
