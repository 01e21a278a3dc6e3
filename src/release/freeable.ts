import { openBundle } from '../bundle/bundle.ts';
import { closure } from '../bundle/closure.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { TrustedKey } from '../trust/keys.ts';

/**
 * Bytes that are freed on a node when it removes a release: those of its blobs and manifests that no other
 * release there shares. Read from the signed content, before anything is removed.
 *
 * Errors: those of `openBundle` and of the closure.
 */
export async function freeableBytes(
  content: ContentSource,
  keys: readonly TrustedKey[],
  release: Digest,
  others: readonly Digest[],
): Promise<number> {
  const shared = new Set<Digest>();
  for (const other of others) {
    for (const digest of (await sizesOf(content, keys, other)).keys()) shared.add(digest);
  }
  let bytes = 0;
  for (const [digest, size] of await sizesOf(content, keys, release)) if (!shared.has(digest)) bytes += size;
  return bytes;
}

async function sizesOf(
  content: ContentSource,
  keys: readonly TrustedKey[],
  digest: Digest,
): Promise<Map<Digest, number>> {
  const bundle = await openBundle(content, { digest }, keys);
  const sizes = new Map<Digest, number>();
  for await (const item of closure(content, bundle)) sizes.set(item.digest, item.size);
  return sizes;
}
