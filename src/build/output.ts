import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fsyncDirectory } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { hintFile, volumeLabel } from '../media/hint.ts';
import { run } from '../process/run.ts';
import { comparePaths, packTar, type TarEntry } from './tar.ts';

export type OutputFormat = 'directory' | 'iso' | 'tar';

/** Writing an image of 100 GB to a slow disk takes hours. */
const isoTimeoutMs = 24 * 60 * 60 * 1000;

/** Where a bundle is put together, and how it becomes what was asked for. */
export interface BundleOutput {
  readonly format: OutputFormat;
  /** The directory to write content to. */
  readonly directory: string;
  /** A place beside it, with room for unpacked archives. */
  readonly scratch: string;
  /** Turns the directory into the output. */
  finish(): Promise<void>;
  /** Removes what is only needed while building. */
  close(): Promise<void>;
}

/**
 * Prepares the output: `FILE.iso` and `FILE.tar` are put together beside the file, which appears under its name
 * when it is whole; anything else is a directory, new, empty, or media to add another bundle to.
 *
 * Errors: Conflict (there is something else already), NotFound (no directory for it), DiskFull.
 */
export async function prepareOutput(path: string): Promise<BundleOutput> {
  const format: OutputFormat = path.endsWith('.iso') ? 'iso' : path.endsWith('.tar') ? 'tar' : 'directory';
  const temporary = `${path.replace(/\/+$/, '')}.${randomBytes(4).toString('hex')}.partial`;
  const scratch = `${temporary}.scratch`;
  const close = async () => {
    await rm(scratch, { recursive: true, force: true });
    if (format !== 'directory') await rm(temporary, { recursive: true, force: true });
  };
  if (format === 'directory') {
    const isNew = await prepareDirectory(path);
    const closeDirectory = async () => {
      await close();
      if (isNew) await rmdir(path).catch(() => {}); // Nothing was written to it: leave nothing behind.
    };
    return { format, directory: path, scratch, close: closeDirectory, finish: () => fsyncDirectory(path) };
  }
  if ((await kindOf(path)) !== 'absent') throw new SluiceError('Conflict', `${path} exists already`);
  if ((await kindOf(dirname(path))) !== 'directory')
    throw new SluiceError('NotFound', `${dirname(path)} is not a directory`);
  await mkdir(temporary);
  const finish = async () => {
    const image = `${temporary}.${format}`;
    try {
      if (format === 'iso') await writeIso(temporary, image);
      else await writeTar(temporary, image);
      await flush(image);
      await rename(image, path);
      await fsyncDirectory(dirname(path));
    } finally {
      await rm(image, { force: true });
    }
  };
  return { format, directory: temporary, scratch, close, finish };
}

/** Answers whether the directory was made. */
async function prepareDirectory(path: string): Promise<boolean> {
  const kind = await kindOf(path);
  if (kind === 'other') throw new SluiceError('Conflict', `${path} exists already and is not a directory`);
  if (kind === 'absent') {
    await mkdir(path, { recursive: true });
    return true;
  }
  const names = await readdir(path);
  // An interrupted build leaves `docker` without the hint; it is gone on with.
  const isOurs =
    names.includes(hintFile) || names.includes('docker') || names.every((name) => name === 'lost+found');
  if (isOurs) return false;
  throw new SluiceError('Conflict', `the directory ${path} holds other files already`, {
    next: 'Give a new or empty directory, or one with bundles to add this one to.',
  });
}

async function kindOf(path: string): Promise<'absent' | 'directory' | 'other'> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'other';
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'absent';
    throw error;
  }
}

/** Rock Ridge keeps the long names, level 3 files beyond 4 GiB, -D the depth of the tree. */
async function writeIso(directory: string, image: string): Promise<void> {
  const args = [
    '-as',
    'mkisofs',
    '-quiet',
    '-iso-level',
    '3',
    '-R',
    '-D',
    '-V',
    volumeLabel,
    '-o',
    image,
    directory,
  ];
  const result = await run('xorriso', args, { timeoutMs: isoTimeoutMs }).catch((cause: unknown) => {
    throw new SluiceError('NotFound', 'xorriso is not installed, which writes ISO images', {
      cause,
      next: 'Install it (apt-get install xorriso), or write a directory or a .tar.',
    });
  });
  if (result.code === 0) return;
  const said = result.stderr.trim().split('\n').slice(-3).join(' | ');
  const full = /No space left|ENOSPC/i.test(said);
  throw new SluiceError(full ? 'DiskFull' : 'CommandFailed', `xorriso could not write ${image}: ${said}`);
}

async function writeTar(directory: string, image: string): Promise<void> {
  try {
    await pipeline(packTar(treeEntries(directory, '')), createWriteStream(image));
  } catch (error) {
    if (systemCode(error) !== 'ENOSPC') throw error;
    throw new SluiceError('DiskFull', `no space left to write ${image}`, { cause: error });
  }
}

async function* treeEntries(directory: string, path: string): AsyncGenerator<TarEntry> {
  const entries = await readdir(join(directory, path), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => comparePaths(a.name, b.name))) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      yield { kind: 'directory', path: inner, mode: 0o755 };
      yield* treeEntries(directory, inner);
    } else {
      const content = join(directory, inner);
      yield { kind: 'file', path: inner, mode: 0o644, size: (await stat(content)).size, content };
    }
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
