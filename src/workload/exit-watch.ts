import { watch } from 'node:fs';

/**
 * Calls back when something changes in a directory. Best effort: the kubelet looks on its own too, so that a host whose
 * watches are used up (EMFILE, ENOSPC) only hears of it later. Returns what ends it.
 */
export function watchExits(directory: string, listener: () => void): () => void {
  try {
    const watcher = watch(directory, { persistent: false }, listener);
    watcher.on('error', () => {});
    return () => watcher.close();
  } catch {
    return () => {};
  }
}
