import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Milliseconds between looks at files: events alone miss swapped links and directories that come later. */
const pollMsDefault = 2_000;
/** Milliseconds after an event before looking, so that a pair of files that is renamed into place is seen whole. */
const settleMs = 50;
/** Files of a directory that are looked at. */
const filesMax = 1_000;

/**
 * Calls `onChange` when one of the files (or directories) has become another one, appeared or vanished: by
 * events of their directories and by looking at intervals. Kubernetes swaps a link above its files, so that a
 * file counts as changed by what it leads to.
 */
export function watchFiles(
  paths: readonly string[],
  onChange: () => void,
  options: { signal: AbortSignal; pollMs?: number },
): void {
  let known: string | undefined;
  let looking: Promise<void> = Promise.resolve();
  const look = async () => {
    const seen = (await Promise.all(paths.map(fingerprint))).join('\n');
    if (options.signal.aborted || seen === known) return;
    const first = known === undefined;
    known = seen;
    if (!first) onChange();
  };
  const lookSoon = () => {
    looking = looking.then(look);
  };
  let settling: NodeJS.Timeout | undefined;
  const watchers: FSWatcher[] = [];
  for (const directory of new Set(paths.flatMap((path) => [dirname(path), path]))) {
    try {
      const watcher = watch(directory, { persistent: false }, () => {
        clearTimeout(settling);
        settling = setTimeout(lookSoon, settleMs);
      });
      watcher.on('error', () => watcher.close());
      watchers.push(watcher);
    } catch {
      // It is not there yet: looking finds it.
    }
  }
  const interval = setInterval(lookSoon, options.pollMs ?? pollMsDefault);
  options.signal.addEventListener('abort', () => {
    clearInterval(interval);
    clearTimeout(settling);
    for (const watcher of watchers) watcher.close();
  });
  lookSoon();
}

/** Of a directory also what its files are, since one that is overwritten in place leaves its directory as it was. */
async function fingerprint(path: string): Promise<string> {
  const facts = await stat(path, { bigint: true }).catch(() => undefined);
  if (facts === undefined) return '-';
  const own = `${facts.dev}:${facts.ino}:${facts.size}:${facts.mtimeNs}:${facts.ctimeNs}`;
  if (!facts.isDirectory()) return own;
  const names = await readdir(path).catch(() => []);
  const files = names
    .toSorted()
    .slice(0, filesMax)
    .map(async (name) => {
      const inner = await stat(join(path, name), { bigint: true }).catch(() => undefined);
      if (inner === undefined) return `${name} -`;
      return `${name} ${inner.dev}:${inner.ino}:${inner.size}:${inner.mtimeNs}:${inner.ctimeNs}`;
    });
  return [own, ...(await Promise.all(files))].join('\n');
}
