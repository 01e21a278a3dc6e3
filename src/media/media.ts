import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { Tree } from '../store/tree.ts';

export type MediaFormat = 'directory' | 'iso' | 'tar';

/** What media say of themselves in `sluice-media.json`: never trusted, only a place to look first. */
export interface MediaHint {
  readonly bundles: readonly { readonly name: string; readonly digest: Digest }[];
}

/** A disk, image file or directory that is open. */
export interface Media {
  readonly path: string;
  readonly format: MediaFormat;
  readonly tree: Tree;
  readonly content: ContentSource;
  readonly hint: MediaHint;
  close(): Promise<void>;
}

/** Errors: NotFound, MediaUnreadable, MediaLost. */
export declare function openMedia(path: string): Promise<Media>;
