import type { Digest } from '../oci/digest.ts';

/** Something that is to be kept, or removed: what `closure` of a bundle yields has this shape. */
export interface StoreItem {
  readonly repository: string;
  readonly kind: 'manifest' | 'blob';
  readonly digest: Digest;
  readonly tags: readonly string[];
}
