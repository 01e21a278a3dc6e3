import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fsyncDirectory } from '../durable/file.ts';
import { systemCode } from '../errors/error.ts';
import { algorithmOf, type Digest, hexOf } from '../oci/digest.ts';
import type { TreeContent } from './content.ts';
import { layersPath, revisionsPath, tagsPath } from './path.ts';

/** Taking single names away, as a registry does that may be written to. Bytes go with the next collection. */
export interface NameRemoval {
  /** Answers whether the tag was there. */
  untag(repository: string, tag: string): Promise<boolean>;
  /** With every tag that names it. Answers whether it was there. */
  unlinkManifest(repository: string, digest: Digest): Promise<boolean>;
  /** Answers whether it was there. */
  unlinkLayer(repository: string, digest: Digest): Promise<boolean>;
}

export function createNameRemoval(content: TreeContent, root: string, scratch: string): NameRemoval {
  const drop = async (parent: string, name: string) =>
    (await dropEntries(root, scratch, [[parent, name]])) > 0;
  return {
    untag: (repository, tag) => drop(tagsPath(repository), tag),
    async unlinkManifest(repository, digest) {
      // Names before what they name, as everywhere.
      for (const tag of await content.tags(repository)) {
        if ((await content.resolveTag(repository, tag)) === digest) await drop(tagsPath(repository), tag);
      }
      return await drop(revisionsPath(repository, algorithmOf(digest)), hexOf(digest));
    },
    unlinkLayer: (repository, digest) => drop(layersPath(repository, algorithmOf(digest)), hexOf(digest)),
  };
}

/**
 * Moves entries out of their directories, each with one rename, flushes the directories, then deletes.
 * Answers how many were there: absent is what was wanted.
 */
export async function dropEntries(
  root: string,
  scratch: string,
  entries: readonly [string, string][],
): Promise<number> {
  const graves: string[] = [];
  for (const [parent, name] of entries) {
    const grave = join(scratch, `old-${randomBytes(8).toString('hex')}`);
    try {
      await rename(join(root, parent, name), grave);
      graves.push(grave);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
  }
  for (const parent of new Set(entries.map(([directory]) => directory))) {
    // Gone with all that was in it is flushed by whoever took it away; a disk that refuses is told.
    await fsyncDirectory(join(root, parent)).catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error;
    });
  }
  for (const grave of graves) await rm(grave, { recursive: true, force: true });
  return graves.length;
}
