import { SluiceError } from '../errors/error.ts';
import type { Tree, TreeFile } from '../store/tree.ts';

/**
 * A tree that nobody reads on from when it is closed: no file of it stays open, so that a disk can be unmounted and
 * pulled out, and whoever is in the midst of a blob is told that the media are gone.
 *
 * Errors of its reads after `close`: MediaLost.
 */
export function revocableTree(tree: Tree): Tree {
  const files = new Set<TreeFile>();
  let isClosed = false;
  const gone = () => new SluiceError('MediaLost', `${tree.label} is not attached any more`);

  async function whileOpen<T>(act: () => Promise<T>): Promise<T> {
    if (isClosed) throw gone();
    try {
      return await act();
    } catch (error) {
      // What a file that is closed meanwhile answers is no fault of its content.
      throw isClosed ? gone() : error;
    }
  }

  async function open(path: string): Promise<TreeFile | undefined> {
    const file = await tree.open(path);
    if (file === undefined) return undefined;
    if (isClosed) {
      await file.close();
      throw gone();
    }
    files.add(file);
    return {
      size: file.size,
      ...(file.modifiedMs === undefined ? {} : { modifiedMs: file.modifiedMs }),
      read: (offset, length, into) => whileOpen(() => file.read(offset, length, into)),
      async close() {
        if (files.delete(file)) await file.close();
      },
    };
  }

  return {
    label: tree.label,
    open: (path) => whileOpen(() => open(path)),
    list: (path) => whileOpen(() => tree.list(path)),
    async close() {
      isClosed = true;
      for (const file of files) await file.close().catch(() => {});
      files.clear();
      await tree.close();
    },
  };
}
