/** Directories that are remembered; a bundle of 40 GB has some 3000, read in order. */
const directoriesMax = 2048;
/** Bytes of all of them, as they stand on the medium. Unverified media decide how large a directory is. */
const bytesMax = 64 * 1024 * 1024;

/** Directories that were read last, so that a path is not read from the root for each file. */
export interface DirectoryCache<Key, Entries> {
  /** @param bytes of the directory on the medium. */
  get(key: Key, bytes: number, read: () => Promise<Entries>): Promise<Entries>;
}

export function createDirectoryCache<Key, Entries>(
  limits: { readonly directoriesMax: number; readonly bytesMax: number } = { directoriesMax, bytesMax },
): DirectoryCache<Key, Entries> {
  const kept = new Map<Key, { entries: Promise<Entries>; bytes: number }>();
  let sum = 0;
  const forget = (key: Key, entries: Promise<Entries>) => {
    const found = kept.get(key);
    if (found?.entries !== entries) return;
    kept.delete(key);
    sum -= found.bytes;
  };
  return {
    get(key, bytes, read) {
      const known = kept.get(key);
      if (known !== undefined) return known.entries;
      const entries = read();
      kept.set(key, { entries, bytes });
      sum += bytes;
      for (const [oldest, { entries: old }] of kept) {
        if (kept.size <= limits.directoriesMax && sum <= limits.bytesMax) break;
        forget(oldest, old);
      }
      // A failed read must not be remembered: the medium may come back.
      entries.catch(() => forget(key, entries));
      return entries;
    },
  };
}
