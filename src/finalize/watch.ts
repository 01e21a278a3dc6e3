import { statSync, watch } from 'node:fs';

interface Watched {
  readonly directory: string;
  /** Only this entry of it; all where absent. */
  readonly name?: string;
}

/** Calls back when watched places change; a directory that appears or is replaced is found at the next `follow`. */
export function createWatcher(changed: () => void): {
  follow(places: readonly Watched[]): void;
  close(): void;
} {
  const watchers = new Map<string, { readonly inode: number; close(): void }>();
  const drop = (key: string) => {
    watchers.get(key)?.close();
    watchers.delete(key);
  };
  return {
    follow(places) {
      const wanted = new Map(places.map((place) => [`${place.directory} ${place.name ?? ''}`, place]));
      for (const key of [...watchers.keys()]) if (!wanted.has(key)) drop(key);
      for (const [key, { directory, name }] of wanted) {
        try {
          const inode = statSync(directory).ino;
          if (watchers.get(key)?.inode === inode) continue;
          drop(key);
          const watcher = watch(directory, (_, entry) => {
            if (name === undefined || entry === null || entry === name) changed();
          });
          watcher.on('error', () => drop(key));
          watchers.set(key, { inode, close: () => watcher.close() });
        } catch {
          drop(key); // It is not there (any more).
        }
      }
    },
    close() {
      for (const key of [...watchers.keys()]) drop(key);
    },
  };
}
