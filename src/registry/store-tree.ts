import { type Digest, digestAlgorithms, isAnyDigest } from '../oci/digest.ts';
import type { RawManifest } from '../oci/source.ts';
import type { TreeContent } from '../store/content.ts';
import { treeContent } from '../store/content.ts';
import { layersPath, revisionsPath } from '../store/path.ts';
import { readAhead } from '../store/stream.ts';
import { directoryTree } from '../store/tree.ts';
import type { ServedBlob, ServedTree } from './tree.ts';

/** Milliseconds for which a manifest that was found is answered again without asking the disk whether it still is. */
const foundMs = 1_000;
const foundMax = 10_000;

/** The node's own store: every blob in it was hashed before it got its name there. */
export function storeTree(
  root: string,
  options: {
    readonly now?: () => number;
    /** Somebody may take names away at any time: nothing is answered from memory. */
    readonly changes?: boolean;
  } = {},
): ServedTree {
  const now = options.now ?? Date.now;
  const tree = directoryTree(root);
  const content: TreeContent = treeContent(tree);
  const found = new Map<string, { raw: RawManifest; until: number }>();
  let listed: { readonly names: Promise<string[]>; readonly until: number } | undefined;

  async function openBlob(repository: string | undefined, digest: Digest): Promise<ServedBlob | undefined> {
    const file = await content.openBlob(repository, digest);
    if (file === undefined) return undefined;
    return {
      size: file.size,
      read: (range) => readAhead(file, range, { label: root, reuse: true }),
      close: () => file.close(),
    };
  }

  return {
    label: `the store ${root}`,
    kind: 'store',
    async hasRepository(repository) {
      for (const algorithm of digestAlgorithms) {
        for (const path of [revisionsPath(repository, algorithm), layersPath(repository, algorithm)]) {
          if ((await tree.list(path)).length > 0) return true;
        }
      }
      return false;
    },
    async repositories() {
      if (listed === undefined || listed.until <= now() || options.changes === true) {
        listed = { names: content.repositories(), until: now() + foundMs };
      }
      return await listed.names;
    },
    async manifest(repository, reference) {
      const key = `${repository}@${reference}`;
      const known = found.get(key);
      if (known !== undefined && known.until > now()) return known.raw;
      const raw = await content.manifest(repository, reference);
      if (raw === undefined || options.changes === true || !isAnyDigest(reference)) return raw; // A tag may move at any time.
      if (found.size >= foundMax) found.clear();
      found.set(key, { raw, until: now() + foundMs });
      return raw;
    },
    blob: (repository, digest) => openBlob(repository, digest),
    unlinkedBlob: (digest) => openBlob(undefined, digest),
    tags: (repository) => content.tags(repository),
    referrers: (repository, digest) => content.referrers(repository, digest),
    close: async () => {},
  };
}
