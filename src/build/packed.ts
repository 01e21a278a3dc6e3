import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';

// Archives of images often travel packed (`docker save | gzip`): they are unpacked beside the output first, since an
// image is read at any place of its archive.

interface Packing {
  readonly name: string;
  /** Hexadecimal digits that every such file begins with. */
  readonly start: string;
  /** Undefined: only another program can unpack it. */
  readonly unpack?: () => Transform;
}

const packings: readonly Packing[] = [
  { name: 'gzip', start: '1f8b', unpack: createGunzip },
  { name: 'zstd', start: '28b52ffd', unpack: createZstdDecompress },
  { name: 'bzip2', start: '425a68' },
  { name: 'xz', start: 'fd377a585a00' },
];

/**
 * Unpacks an archive that is packed as a whole. Answers the path of what can be read at any place: the archive itself
 * where it is not packed.
 *
 * @param directory makes one to unpack to. Errors: InputInvalid (damaged, or packed in another way), DiskFull.
 */
export async function plainArchive(path: string, directory: () => Promise<string>): Promise<string> {
  const start = await startOf(path);
  const packing = packings.find((each) => start.startsWith(each.start));
  if (packing === undefined) return path;
  if (packing.unpack === undefined) {
    throw new SluiceError('InputInvalid', `${path} is packed with ${packing.name}`, {
      next: `Unpack it (${packing.name} -dk ${path}), and give what comes out.`,
    });
  }
  const target = join(await directory(), 'archive.tar');
  try {
    await pipeline(createReadStream(path), packing.unpack(), createWriteStream(target));
  } catch (error) {
    if (systemCode(error) === 'ENOSPC')
      throw new SluiceError('DiskFull', `no space left to unpack ${path} to ${target}`, { cause: error });
    throw new SluiceError(
      'InputInvalid',
      `${path} cannot be unpacked (${packing.name}): ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  return target;
}

/** The first bytes of a file, as hexadecimal digits; '' of what is none, which its reader tells of. */
async function startOf(path: string): Promise<string> {
  try {
    const handle = await open(path, 'r');
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(8), 0, 8, 0);
      return buffer.subarray(0, bytesRead).toString('hex');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENXIO'].includes(systemCode(error) ?? '')) return '';
    throw error;
  }
}
