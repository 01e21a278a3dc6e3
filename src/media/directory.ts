import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { layoutRoot } from '../store/path.ts';
import { directoryTree, type Tree, type TreeFile } from '../store/tree.ts';

/**
 * A tree over a directory that may be pulled out: where a file is missing or ends early, it is asked whether the
 * medium is still the one that was opened, so that a lost disk is not taken for a damaged bundle.
 *
 * Errors of the tree: MediaLost.
 */
export async function mediaDirectoryTree(path: string): Promise<Tree> {
  const tree = directoryTree(path);
  const identity = await identityOf(path);
  const requirePresent = async (): Promise<void> => {
    if ((await identityOf(path)) !== identity) {
      throw new SluiceError('MediaLost', `${path} is no longer there, or is another medium now`);
    }
  };
  const absent = async <T>(value: T): Promise<T> => {
    await requirePresent();
    return value;
  };
  return {
    label: tree.label,
    async open(name) {
      const file = await tree.open(name);
      return file === undefined
        ? await absent(undefined)
        : presentFile(file, requirePresent, `${path}/${name}`);
    },
    async list(name) {
      const entries = await tree.list(name);
      return entries.length === 0 ? await absent(entries) : entries;
    },
    close: () => tree.close(),
  };
}

function presentFile(file: TreeFile, requirePresent: () => Promise<void>, label: string): TreeFile {
  return {
    ...file,
    async read(offset, length, into) {
      const bytes = await file.read(offset, length, into);
      if (bytes.length >= Math.min(length, file.size - offset)) return bytes;
      await requirePresent();
      throw new SluiceError('MediaLost', `${label} became shorter while it was read`);
    },
  };
}

/** The device and inode of the directory and of its content: both change when a medium is changed. */
async function identityOf(path: string): Promise<string> {
  const parts = await Promise.all(
    [path, join(path, layoutRoot)].map(async (each) => {
      const found = await stat(each).catch(() => undefined);
      return found === undefined ? 'absent' : `${found.dev}:${found.ino}`;
    }),
  );
  return parts.join(' ');
}
