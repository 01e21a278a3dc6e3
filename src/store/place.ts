import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { faultPoint } from '../durable/fault.ts';
import { fsyncDirectory } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';

/**
 * Makes a directory and its parents. What it answers makes them survive a crash: call it when their content is
 * flushed, since a journal that holds the content then holds them too and has nothing more to do.
 */
export async function makeDirectory(path: string): Promise<() => Promise<void>> {
  const first = await mkdir(path, { recursive: true }).catch((error: unknown) => {
    throw diskError(error, path);
  });
  return async () => {
    if (first === undefined) return;
    // Each new entry lives in the directory above it.
    for (let made = path; made.length >= first.length; made = dirname(made)) {
      await fsyncDirectory(dirname(made));
    }
  };
}

/**
 * Makes `<parent>/<name>/link` files with one rename each, so that a link is there whole or not at all, and one
 * flush of each parent at the end. What stands there already is left, a damaged link is written anew.
 *
 * @param scratch a directory on the same file system for what is not finished.
 */
export async function placeLinks(
  scratch: string,
  links: readonly { parent: string; name: string; text: string }[],
): Promise<void> {
  const parents = new Set(links.map((link) => link.parent));
  const flushes: (() => Promise<void>)[] = [];
  for (const parent of parents) flushes.push(await makeDirectory(parent));
  for (const batch of batches(links, linksAtOnce)) {
    await Promise.all(batch.map((link) => placeLink(scratch, link)));
  }
  for (const parent of parents) await fsyncDirectory(parent);
  for (const flush of flushes) await flush();
}

/** The thread pool of Node has four threads: more flushes at once only queue there. */
const linksAtOnce = 4;

async function placeLink(
  scratch: string,
  link: { parent: string; name: string; text: string },
): Promise<void> {
  const place = join(link.parent, link.name);
  const standing = await readFile(join(place, 'link'), 'latin1').catch(() => undefined);
  if (standing === link.text) return;
  const temporary = join(scratch, `link-${randomBytes(8).toString('hex')}`);
  try {
    await mkdir(temporary);
    await writeFlushed(join(temporary, 'link'), link.text);
    await fsyncDirectory(temporary);
    faultPoint('store-link-written');
    await rename(temporary, place);
  } catch (error) {
    const taken = ['ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '');
    // Another made the same link meanwhile, or a damaged one stands there: then its file alone is replaced.
    if (taken) {
      await rename(join(temporary, 'link'), join(place, 'link'));
      await fsyncDirectory(place);
    }
    await rm(temporary, { recursive: true, force: true });
    if (!taken) throw diskError(error, place);
  }
}

/** Replaces the text of a file, durably, without leaving anything beside it at a crash. */
export async function placeFile(scratch: string, path: string, text: string): Promise<void> {
  const temporary = join(scratch, `file-${randomBytes(8).toString('hex')}`);
  try {
    await writeFlushed(temporary, text);
    const flushParents = await makeDirectory(dirname(path));
    faultPoint('store-file-written');
    await rename(temporary, path);
    await fsyncDirectory(dirname(path));
    await flushParents();
  } catch (error) {
    await rm(temporary, { force: true });
    throw diskError(error, path);
  }
}

/** Writes a new file and flushes it. */
export async function writeFlushed(path: string, data: string | Uint8Array): Promise<void> {
  const handle = await open(path, 'wx');
  try {
    await handle.writeFile(data);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A full disk in words; anything else as it is. */
export function diskError(error: unknown, path: string): unknown {
  if (!['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) return error;
  return new SluiceError('DiskFull', `out of disk space: ${path} cannot be written`, { cause: error });
}

function* batches<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
