import { createWriteStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SluiceError, systemCode } from '../errors/error.ts';
import { volumeLabel } from '../media/hint.ts';
import { run } from '../process/run.ts';
import { comparePaths, packTar, type TarEntry } from './tar.ts';

/** Files that hold a whole tree. */
export type ImageFormat = 'iso' | 'squashfs' | 'tar';

/** Writing an image of 100 GB to a slow disk takes hours. */
const timeoutMs = 24 * 60 * 60 * 1000;

/** Writes what is below a directory into an image file. Errors: NotFound (a program is missing), DiskFull, CommandFailed. */
export async function writeImage(format: ImageFormat, directory: string, image: string): Promise<void> {
  switch (format) {
    case 'iso':
      return await writeIso(directory, image);
    case 'squashfs':
      return await writeSquashfs(directory, image);
    case 'tar':
      return await writeTar(directory, image);
  }
}

/** Rock Ridge keeps the long names, level 3 files beyond 4 GiB, -D the depth of the tree. */
async function writeIso(directory: string, image: string): Promise<void> {
  const layout = ['-iso-level', '3', '-R', '-D', '-V', volumeLabel];
  await runTool('xorriso', ['-as', 'mkisofs', '-quiet', ...layout, '-o', image, directory], image, 'xorriso');
}

/** Layers are packed already: data is stored as it is, which is as fast as a copy to write and to read. */
async function writeSquashfs(directory: string, image: string): Promise<void> {
  await rm(image, { force: true });
  const fixed = ['-all-root', '-all-time', '0', '-mkfs-time', '0', '-no-xattrs'];
  const plain = ['-b', '1M', '-comp', 'gzip', '-noD', '-noF', '-no-duplicates'];
  await runTool(
    'mksquashfs',
    [directory, image, '-noappend', '-no-progress', '-quiet', ...fixed, ...plain],
    image,
    'squashfs-tools',
  );
}

async function runTool(
  program: string,
  args: readonly string[],
  image: string,
  debianPackage: string,
): Promise<void> {
  // mksquashfs refuses its own options for times where this is set.
  const { SOURCE_DATE_EPOCH: _, ...env } = process.env;
  const result = await run(program, args, { timeoutMs, env }).catch((cause: unknown) => {
    throw new SluiceError('NotFound', `${program} is not installed, which writes ${image}`, {
      cause,
      next: `Install it (apt-get install ${debianPackage}), or write a directory or a .tar.`,
    });
  });
  if (result.code === 0) return;
  const said = result.stderr.trim().split('\n').slice(-3).join(' | ');
  const full = /No space left|ENOSPC/i.test(said);
  throw new SluiceError(full ? 'DiskFull' : 'CommandFailed', `${program} could not write ${image}: ${said}`);
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
