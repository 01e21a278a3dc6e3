import type { Digest } from '../oci/digest.ts';
import type { TreeContent } from '../store/content.ts';
import { bundleRepository, isBundleName } from './document.ts';

/** A bundle by what stands in a tree; nothing of it is verified. */
export interface ListedBundle {
  readonly name: string;
  readonly digest: Digest;
}

/** Bundles that a tree carries, by the tags of their repository, sorted by name. Errors: MediaLost. */
export async function listBundles(content: TreeContent): Promise<ListedBundle[]> {
  const bundles: ListedBundle[] = [];
  for (const name of await bundleTags(content)) {
    const digest = await content.resolveTag(bundleRepository, name);
    if (digest !== undefined) bundles.push({ name, digest });
  }
  return bundles;
}

/** Names of bundles among the tags, also of those whose tag names nothing. */
export async function bundleTags(content: TreeContent): Promise<string[]> {
  const tags = await content.tags(bundleRepository);
  return tags.filter(isBundleName).sort();
}
