import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { Tree, TreeFile } from './tree.ts';

/** What stands in a tree in the filesystem layout of CNCF distribution (`docker/registry/v2/…`). */
export interface TreeContent extends ContentSource {
  /** Names of all repositories, sorted. */
  repositories(): Promise<string[]>;
  /** Bytes of a blob, whatever repository it is linked in; undefined where it is not there. */
  hasBlob(digest: Digest): Promise<number | undefined>;
  /** An open blob that `repository` links, for reading at any place; the caller closes it. */
  openBlob(repository: string, digest: Digest): Promise<TreeFile | undefined>;
  /** Whether the repository links this blob or manifest, and its bytes are there. */
  hasLink(repository: string, kind: 'blob' | 'manifest', digest: Digest): Promise<boolean>;
  /** The digest that a tag names. */
  resolveTag(repository: string, tag: string): Promise<Digest | undefined>;
}

export declare function treeContent(tree: Tree): TreeContent;
