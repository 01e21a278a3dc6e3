import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fsyncDirectory } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { hintFile } from '../media/hint.ts';
import { listFileOf } from '../media/parts.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { type ImageFormat, writeImage } from './image-file.ts';
import { splitFile } from './split.ts';

export type OutputFormat = 'directory' | ImageFormat;

/** File of the archive that a directory gets where it is to be split. */
const splitName = 'sluice.tar';
/** Digits of a digest in the name of what is put together. */
const digestLength = 12;

/** Where a bundle is put together, and how it becomes what was asked for. */
export interface BundleOutput {
  readonly format: OutputFormat;
  /** A place beside it, with room for unpacked archives. */
  readonly scratch: string;
  /**
   * The directory to write the content to. One that an interrupted build of the very same content left is gone on with.
   *
   * @param content the digest of the bundle, or of the delta.
   */
  begin(content: Digest): Promise<string>;
  /** Turns the directory into the output. Answers the files that were written, the first one to open. */
  finish(): Promise<readonly string[]>;
  /** Removes what is only needed while building. What an unfinished build has fetched stays, for the next one. */
  close(): Promise<void>;
}

/**
 * Prepares the output: `FILE.iso`, `FILE.squashfs` and `FILE.tar` are put together beside the file, which appears
 * under its name when it is whole; anything else is a directory, new, empty, or media to add another bundle to. A name
 * that ends as a file of another format does is refused, unless such a directory is there.
 *
 * @param splitBytes most bytes of one file: the output becomes parts (`FILE.iso.000`, …).
 * Errors: Usage (a format that is not written), Conflict (there is something else already), NotFound (no directory for it), DiskFull.
 */
export async function prepareOutput(path: string, splitBytes?: number): Promise<BundleOutput> {
  const format = formatOf(path);
  if (format === 'directory') await refuseOtherFormat(path);
  if (format !== 'directory') return await prepareFile(path, format, splitBytes);
  if (splitBytes === undefined) return await prepareMedia(path);
  if (!(await isEmptyOrAbsent(path))) {
    throw new SluiceError('Conflict', `the directory ${path} holds other files already`, {
      next: 'Give a new or empty directory for the parts.',
    });
  }
  await mkdir(path, { recursive: true });
  return await prepareFile(join(path, splitName), 'tar', splitBytes);
}

function formatOf(path: string): OutputFormat {
  for (const format of ['iso', 'squashfs', 'tar'] as const) if (path.endsWith(`.${format}`)) return format;
  return 'directory';
}

/** Endings of files: whoever writes one does not mean a directory. */
const otherFormat =
  /\.(?:zip|gz|tgz|bz2|xz|zst|tbz2?|txz|tzst|7z|rar|lz4|cpio|img|raw|bin|qcow2?|vmdk|vhdx?|vdi|dd|dmg|sfs|sqsh|sqfs|squash|udf|cdr|rpm|deb|oci|json|ya?ml)$/i;
const wrongCase = /\.(?:iso|squashfs|tar)$/i;

async function refuseOtherFormat(path: string): Promise<void> {
  const ending = (otherFormat.exec(path) ?? wrongCase.exec(path))?.[0];
  if (ending === undefined || (await kindOf(path)) === 'directory') return;
  throw new SluiceError('Usage', `--out ${path}: no ${ending} file can be written`, {
    next: 'Give a file that ends in .iso, .squashfs or .tar, or a directory; one that is there already may have any name.',
  });
}

async function prepareMedia(path: string): Promise<BundleOutput> {
  const isNew = await prepareDirectory(path);
  const scratch = `${path.replace(/\/+$/, '')}.scratch`;
  return {
    format: 'directory',
    scratch,
    begin: async () => path,
    async finish() {
      await fsyncDirectory(path);
      return [path];
    },
    async close() {
      await rm(scratch, { recursive: true, force: true });
      if (isNew) await rmdir(path).catch(() => {}); // Nothing was written to it: leave nothing behind.
    },
  };
}

async function prepareFile(
  path: string,
  format: ImageFormat,
  splitBytes: number | undefined,
): Promise<BundleOutput> {
  for (const each of [path, listFileOf(path)]) {
    if ((await kindOf(each)) !== 'absent') throw new SluiceError('Conflict', `${each} exists already`);
  }
  const parent = dirname(path);
  if ((await kindOf(parent)) !== 'directory')
    throw new SluiceError('NotFound', `${parent} is not a directory`);
  const scratch = `${path}.scratch`;
  let directory: string | undefined;
  return {
    format,
    scratch,
    async begin(content) {
      directory = `${path}.${hexOf(content).slice(0, digestLength)}.partial`;
      await mkdir(directory, { recursive: true });
      return directory;
    },
    async finish() {
      if (directory === undefined) throw new Error('nothing was begun');
      const image = `${directory}.${format}`;
      let written: readonly string[];
      try {
        await writeImage(format, directory, image);
        await flush(image);
        written = splitBytes === undefined ? [path] : await splitFile(image, path, splitBytes);
        if (splitBytes === undefined) await rename(image, path);
        await fsyncDirectory(parent);
      } finally {
        await rm(image, { force: true });
      }
      await rm(directory, { recursive: true, force: true });
      return written;
    },
    async close() {
      await rm(scratch, { recursive: true, force: true });
      if (directory !== undefined) await rmdir(directory).catch(() => {});
    },
  };
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
  if (names.includes(hintFile) || names.includes('docker') || names.every((name) => name === 'lost+found'))
    return false;
  throw new SluiceError('Conflict', `the directory ${path} holds other files already`, {
    next: 'Give a new or empty directory, or one with bundles to add this one to.',
  });
}

async function isEmptyOrAbsent(path: string): Promise<boolean> {
  const kind = await kindOf(path);
  if (kind === 'absent') return true;
  if (kind !== 'directory') return false;
  // What an interrupted build of the same bundle left is gone on with.
  const names = await readdir(path);
  return names.every(
    (name) => name === 'lost+found' || /^sluice\.tar\.(?:[0-9a-f]{12}\.partial|scratch)$/.test(name),
  );
}

async function kindOf(path: string): Promise<'absent' | 'directory' | 'other'> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'other';
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'absent';
    throw error;
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
