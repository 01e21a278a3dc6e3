import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../errors/error.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { isOwnerAlive, ownOwner } from './owner.ts';

/** A blob as far as it has come, open for more. */
export interface Partial {
  readonly path: string;
  readonly handle: FileHandle;
  /** Bytes that stand in it: where to go on. What they are worth shows when the blob is hashed. */
  readonly offset: number;
}

const partialForm = /^([0-9a-f]{64}|[0-9a-f]{128})\.([0-9a-f-]+)\.([0-9a-f]{12})\.part$/;

/**
 * Opens a partial file for a blob: one that was left by a process that ended, or by us, where there is one,
 * else a new one. Names are unique, and one is taken over by renaming it, so that no two write to the same file.
 * Where it is longer than the blob, it starts anew.
 */
export async function openPartial(
  directory: string,
  digest: Digest,
  size: number,
  isBusy: (path: string) => boolean,
): Promise<Partial> {
  const path = join(directory, `${hexOf(digest)}.${ownOwner}.${randomBytes(6).toString('hex')}.part`);
  await takeOver(directory, digest, path, isBusy);
  const handle = await open(path, 'a+');
  try {
    const found = await handle.stat();
    if (found.size <= size) return { path, handle, offset: found.size };
    await handle.truncate(0);
    return { path, handle, offset: 0 };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Renames the longest partial file that nobody works on to `path`, and removes the others. */
async function takeOver(
  directory: string,
  digest: Digest,
  path: string,
  isBusy: (path: string) => boolean,
): Promise<void> {
  const left: { path: string; size: number }[] = [];
  for (const name of await readdir(directory)) {
    const [, hex, owner] = partialForm.exec(name) ?? [];
    const found = join(directory, name);
    if (hex !== hexOf(digest) || owner === undefined || isBusy(found)) continue;
    if (owner !== ownOwner && (await isOwnerAlive(owner))) continue;
    const facts = await stat(found).catch(() => undefined);
    if (facts !== undefined) left.push({ path: found, size: facts.size });
  }
  left.sort((a, b) => b.size - a.size);
  let taken = false;
  for (const candidate of left) {
    if (taken) {
      await rm(candidate.path, { force: true });
      continue;
    }
    try {
      await rename(candidate.path, path);
      taken = true;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error; // Another process was faster.
    }
  }
}

/** Bytes that stand in partial files of these blobs, the longest of each. */
export async function partialBytes(directory: string, digests: Iterable<Digest>): Promise<number> {
  const wanted = new Set([...digests].map(hexOf));
  const sizes = new Map<string, number>();
  for (const name of await readdir(directory)) {
    const hex = partialForm.exec(name)?.[1];
    if (hex === undefined || !wanted.has(hex)) continue;
    const size = (await stat(join(directory, name)).catch(() => undefined))?.size ?? 0;
    sizes.set(hex, Math.max(size, sizes.get(hex) ?? 0));
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

/** Removes the partial files of these blobs that nobody works on. */
export async function dropPartials(
  directory: string,
  digests: Iterable<Digest>,
  isBusy: (path: string) => boolean,
): Promise<void> {
  const unwanted = new Set([...digests].map(hexOf));
  for (const name of await readdir(directory)) {
    const [, hex, owner] = partialForm.exec(name) ?? [];
    const path = join(directory, name);
    if (hex === undefined || owner === undefined || !unwanted.has(hex) || isBusy(path)) continue;
    if (owner !== ownOwner && (await isOwnerAlive(owner))) continue;
    await rm(path, { force: true });
  }
}

/** Whether a file name is that of a partial file, and whose. */
export function ownerOfPartial(name: string): string | undefined {
  return partialForm.exec(name)?.[2];
}
