import type { Digest } from '../oci/digest.ts';
import type { RawManifest } from '../oci/source.ts';
import type { TreeContent } from './content.ts';

/** One blob on its way to the disk. */
export interface BlobWriter {
  readonly digest: Digest;
  readonly size: number;
  /** Bytes that stand on disk already, hashed: where the source is to be read from. */
  readonly offset: number;
  /**
   * Takes the next bytes; they must not be changed until the next call resolves. Resolves when more may come.
   * Errors: DiskFull, DigestMismatch (more bytes than the size); the partial file is then gone.
   */
  write(chunk: Uint8Array): Promise<void>;
  /** Compares size and hash, then makes the blob visible, durably. Errors: DigestMismatch, DiskFull; the partial file is then gone. */
  commit(): Promise<void>;
  /** Stops and keeps what has come, for a later `begin` to go on with. */
  suspend(): Promise<void>;
  /** Stops and drops what has come. */
  abort(): Promise<void>;
}

/** Something that is to be kept, or removed: what `closure` of a bundle yields has this shape. */
export interface StoreItem {
  readonly repository: string;
  readonly kind: 'manifest' | 'blob';
  readonly digest: Digest;
  readonly tags: readonly string[];
}

/** What `applyCollection` would remove, in the order in which it does: parents before what they name. */
export interface CollectionPlan {
  readonly tags: readonly { repository: string; tag: string }[];
  readonly manifests: readonly { repository: string; digest: Digest }[];
  readonly layers: readonly { repository: string; digest: Digest }[];
  readonly blobs: readonly { digest: Digest; size: number }[];
  /** Bytes that it frees. */
  readonly bytes: number;
}

export interface StoreSpace {
  readonly bytesFree: number;
  readonly bytesTotal: number;
  readonly inodesFree: number;
}

export interface Binding {
  readonly name: string;
  readonly bundleDigest: Digest;
}

export interface Store extends TreeContent {
  readonly root: string;
  /**
   * 'verified': whole, and its bytes were hashed by this store. 'unverified': it has the size, but came here
   * otherwise. 'absent': not there, or of another size.
   */
  blobState(digest: Digest, size: number): Promise<'verified' | 'unverified' | 'absent'>;
  /** Hashes a blob that is there; a good one becomes 'verified', a bad one is removed. Answers whether it is good. */
  verifyBlob(digest: Digest, size: number): Promise<boolean>;
  /**
   * A writer for a blob, or undefined where it is there and verified. One at a time per digest: others wait for
   * it, and get undefined when it was committed. An unverified blob is hashed first.
   * Errors: DigestInvalid (size 0 under another digest than that of nothing).
   */
  begin(digest: Digest, size: number, options?: { signal?: AbortSignal }): Promise<BlobWriter | undefined>;
  /** Makes blobs readable in a repository, durably. Errors: ContentMissing. */
  linkLayers(repository: string, digests: readonly Digest[]): Promise<void>;
  linkLayer(repository: string, digest: Digest): Promise<void>;
  /**
   * Stores a manifest and makes it readable by digest. All that it names must be there before it: linked blobs of
   * the size it says, child manifests (`sparse`: an index may lack children, as when platforms were left out).
   * Errors: ContentMissing, DigestMismatch, InputInvalid.
   */
  putManifest(repository: string, raw: RawManifest, options?: { sparse?: boolean }): Promise<void>;
  /** Lets a tag name a manifest that is there. Errors: ContentMissing. */
  tag(repository: string, tag: string, digest: Digest): Promise<void>;
  space(): Promise<StoreSpace>;
  /** Removes temporary files that no living process of ours owns and that are older than `ageMs`. Answers their number. */
  purgeStale(ageMs: number): Promise<number>;
  /**
   * What may be removed: everything outside `keep` and what its manifests name, where it belongs to `remove` or is
   * older than `graceMs`. Nothing is changed.
   */
  planCollection(options: {
    keep: Iterable<StoreItem>;
    remove?: Iterable<StoreItem>;
    graceMs: number;
    now: number;
  }): Promise<CollectionPlan>;
  applyCollection(plan: CollectionPlan): Promise<void>;
  /** Binds a bundle's name to its digest for ever. Errors: Conflict where it is bound to another. */
  bind(name: string, bundleDigest: Digest): Promise<void>;
  bindings(): Promise<Binding[]>;
}

/** Opens the store below `root` (the directory that holds `docker/registry/v2`), and makes it where it is not there. */
export declare function openStore(root: string): Promise<Store>;
