import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { SluiceError } from '../errors/error.ts';

/** The repository that the source lies in; in the single file nothing is read from there. */
export const shippedRoot = join(import.meta.dirname, '..', '..');
const foldersDeepMax = 16;

/** In the single file: the licences of all that is in it. */
export const noticesFile = 'NOTICES.txt';
/** In the single file: what the engine made of a script, beside it. */
export const scriptCacheSuffix = '.cache';

/** Whether this is the single-file program. */
export const isPackaged: boolean = isSea();

/**
 * A file that the program ships.
 *
 * @param path from the root of the repository, `crds/nodeupdates.yaml` for instance.
 * Errors: NotFound.
 */
export function shippedFile(path: string): Buffer {
  try {
    return isPackaged ? Buffer.from(getRawAsset(path) as ArrayBuffer) : readFileSync(join(shippedRoot, path));
  } catch (cause) {
    throw new SluiceError('NotFound', `the program has no file ${path}`, { cause });
  }
}

/** As `shippedFile`, as text. */
export function shippedText(path: string): string {
  return shippedFile(path).toString('utf8');
}

/** The files of a folder and all below it, by their paths from the root, in order. Empty where there is none. */
export function shippedFiles(folder: string): string[] {
  const all = isPackaged ? getAssetKeys().filter((path) => path.startsWith(`${folder}/`)) : below(folder, 0);
  return all.sort();
}

/** Everything in the single file, but what the engine can make anew. */
export function packagedFiles(): string[] {
  return getAssetKeys()
    .filter((path) => !path.endsWith(scriptCacheSuffix))
    .sort();
}

function below(folder: string, depth: number): string[] {
  if (depth > foldersDeepMax) throw new SluiceError('InputTooLarge', `${folder} is nested too deep`);
  let entries: import('node:fs').Dirent[];
  try {
    entries = readdirSync(join(shippedRoot, folder), { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return below(path, depth + 1);
    return entry.isFile() ? [path] : [];
  });
}
