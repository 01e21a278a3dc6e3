import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';
import { faultPoint } from './fault.ts';

/** Flushes of directories: the one under way, and the one that follows it, by path. */
const running = new Map<string, Promise<void>>();
const following = new Map<string, Promise<void>>();

/**
 * Flushes the entries of a directory to the disk, so that a rename in it survives a crash. Whoever asks while the same
 * directory is being flushed shares the next flush with all who ask meanwhile: what it answers began after it was asked.
 */
export function fsyncDirectory(path: string): Promise<void> {
  const shared = following.get(path);
  if (shared !== undefined) return shared;
  const flush = (running.get(path) ?? Promise.resolve())
    .catch(() => {}) // Told to those who asked for that one.
    .then(async () => {
      following.delete(path);
      running.set(path, flush);
      try {
        await fsyncFile(path);
      } finally {
        if (running.get(path) === flush) running.delete(path);
      }
    });
  following.set(path, flush);
  return flush;
}

/** Flushes what was written to a file. */
export async function fsyncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a whole file so that a crash leaves either the old or the new content, never a part:
 * temporary file beside it → write → fsync → rename → fsync of the directory. Creates the directory.
 *
 * @param options.mode permission bits of the file, default 0o644.
 */
export async function writeDurable(
  path: string,
  data: string | Uint8Array,
  options: { mode?: number } = {},
): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const handle = await open(temporary, 'wx', options.mode ?? 0o644);
    try {
      await handle.writeFile(data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    faultPoint('durable-before-rename');
    await rename(temporary, path);
    await fsyncDirectory(directory);
    faultPoint('durable-after-rename');
  } catch (error) {
    await rm(temporary, { force: true });
    if (systemCode(error) === 'ENOSPC') {
      throw new SluiceError('DiskFull', `no space left to write ${path}`, { cause: error });
    }
    throw error;
  }
}

/** Writes `value` as JSON with a final newline, durably. */
export async function writeJson(
  path: string,
  value: unknown,
  options: { mode?: number } = {},
): Promise<void> {
  await writeDurable(path, `${JSON.stringify(value, null, 2)}\n`, options);
}

/** Reads a JSON file of our own making; undefined where there is none. Errors: InputInvalid. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new SluiceError('InputInvalid', `${path} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
