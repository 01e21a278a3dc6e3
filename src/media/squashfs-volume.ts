import { promisify } from 'node:util';
import { inflate, zstdDecompress } from 'node:zlib';
import { SluiceError } from '../errors/error.ts';
import { notWrittenWhole } from './cut.ts';
import type { Device } from './device.ts';

// Squashfs 4.0 (Linux: fs/squashfs/squashfs_fs.h): the superblock, and the blocks of 8 KiB that hold inodes, names and
// tables. All numbers are little-endian.

const superblockBytes = 96;
const magic = 0x73717368;
const metadataBytes = 8192;
const metadataStored = 0x8000;
const blockStored = 1 << 24;
const blockBytesMax = 1024 * 1024;
/** Decoded blocks of metadata that are remembered: those of some 50 000 files. */
const metadataCacheMax = 512;
const fragmentsPerBlock = metadataBytes / 16;

const compressions: Readonly<Record<number, string>> = {
  1: 'gzip',
  2: 'lzma',
  3: 'lzo',
  4: 'xz',
  5: 'lz4',
  6: 'zstd',
};
const inflateAsync = promisify(inflate);
const zstdAsync = promisify(zstdDecompress);

export interface SquashVolume {
  readonly label: string;
  /** Bytes of one block of a file. */
  readonly blockBytes: number;
  /** Place of the root's inode, as inodes are named. */
  readonly root: bigint;
  readonly inodeTable: number;
  readonly directoryTable: number;
  /** Bytes of metadata from a block (absolute) and a place in it on, over as many blocks as they fill. */
  metadata(block: number, offset: number, length: number): Promise<Buffer>;
  /** A block of a file: its bytes as they were before they were packed. `word` is its size and how it is stored. */
  block(at: number, word: number, bytesMax: number): Promise<Buffer>;
  /** Bytes as they stand in the image. */
  raw(at: number, length: number): Promise<Buffer>;
  /** Where a fragment block stands. */
  fragment(index: number): Promise<{ at: number; word: number }>;
}

/** Whether the device starts with a squashfs superblock. */
export async function isSquashfs(device: Device): Promise<boolean> {
  if (device.size !== undefined && device.size < superblockBytes) return false;
  return (await device.read(0, 4)).readUInt32LE(0) === magic;
}

/** Whether a block is stored as it is, and its bytes in the image. */
export function storedSize(word: number): { stored: boolean; bytes: number } {
  return { stored: (word & blockStored) !== 0, bytes: word & (blockStored - 1) };
}

/** Errors: MediaUnreadable (another version, cut off, damaged). */
export async function openVolume(device: Device): Promise<SquashVolume> {
  const label = device.path;
  const head = await device.read(0, superblockBytes);
  const version = `${head.readUInt16LE(28)}.${head.readUInt16LE(30)}`;
  if (version !== '4.0')
    throw new SluiceError('MediaUnreadable', `${label} is squashfs ${version}; 4.0 is read`);
  const blockBytes = head.readUInt32LE(12);
  const bytesUsed = Number(head.readBigUInt64LE(40));
  if (blockBytes < 4096 || blockBytes > blockBytesMax) throw damaged(label, `blocks of ${blockBytes} bytes`);
  if (device.size !== undefined && device.size < bytesUsed) {
    throw notWrittenWhole(label, `it has ${device.size} of ${bytesUsed} bytes`);
  }
  const compression = head.readUInt16LE(20);
  const fragmentCount = head.readUInt32LE(16);
  const fragmentTable = Number(head.readBigUInt64LE(80));
  const cache = new Map<number, Promise<{ bytes: Buffer; next: number }>>();

  async function raw(at: number, length: number): Promise<Buffer> {
    if (!Number.isSafeInteger(at) || at < 0 || at + length > bytesUsed)
      throw damaged(label, 'it points beyond its own end');
    return await device.read(at, length);
  }

  async function unpack(bytes: Buffer, bytesMax: number): Promise<Buffer> {
    const method = compressions[compression] ?? `method ${compression}`;
    if (method !== 'gzip' && method !== 'zstd') {
      throw new SluiceError('MediaUnreadable', `${label} is packed with ${method}, which is not read`, {
        next: 'Mount it and give the directory, or write it with mksquashfs -comp zstd or -comp gzip.',
      });
    }
    try {
      const options = { maxOutputLength: bytesMax };
      return method === 'gzip' ? await inflateAsync(bytes, options) : await zstdAsync(bytes, options);
    } catch (error) {
      throw damaged(label, `a block cannot be unpacked (${(error as Error).message})`);
    }
  }

  async function readMetadata(at: number): Promise<{ bytes: Buffer; next: number }> {
    const word = (await raw(at, 2)).readUInt16LE(0);
    const size = word & ~metadataStored;
    if (size === 0 || size > metadataBytes) throw damaged(label, 'a block of metadata');
    const stored = await raw(at + 2, size);
    const bytes = (word & metadataStored) !== 0 ? stored : await unpack(stored, metadataBytes);
    return { bytes, next: at + 2 + size };
  }

  function metadataBlock(at: number): Promise<{ bytes: Buffer; next: number }> {
    const known = cache.get(at);
    if (known !== undefined) return known;
    const block = readMetadata(at);
    if (cache.size >= metadataCacheMax) cache.delete(cache.keys().next().value ?? -1);
    cache.set(at, block);
    // A failed read must not be remembered: the medium may come back.
    block.catch(() => cache.delete(at));
    return block;
  }

  async function metadata(block: number, offset: number, length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let at = block;
    let skip = offset;
    for (let left = length; left > 0; ) {
      const { bytes, next } = await metadataBlock(at);
      const piece = bytes.subarray(skip, skip + left);
      if (bytes.length === 0) throw damaged(label, 'metadata end too early');
      pieces.push(piece);
      left -= piece.length;
      skip = Math.max(0, skip - bytes.length); // An inode may begin in one block and go on in the next.
      at = next;
    }
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  }

  return {
    label,
    blockBytes,
    root: head.readBigUInt64LE(32),
    inodeTable: Number(head.readBigUInt64LE(64)),
    directoryTable: Number(head.readBigUInt64LE(72)),
    metadata,
    raw,
    async block(at, word, bytesMax) {
      const { stored, bytes } = storedSize(word);
      if (bytes > blockBytes) throw damaged(label, 'a block is larger than a block');
      const found = await raw(at, bytes);
      return stored ? found : await unpack(found, Math.max(1, bytesMax));
    },
    async fragment(index) {
      if (index >= fragmentCount) throw damaged(label, 'a fragment that does not exist');
      const pointer = await raw(fragmentTable + Math.floor(index / fragmentsPerBlock) * 8, 8);
      const entry = await metadata(Number(pointer.readBigUInt64LE(0)), (index % fragmentsPerBlock) * 16, 16);
      return { at: Number(entry.readBigUInt64LE(0)), word: entry.readUInt32LE(8) };
    },
  };
}

export function damaged(label: string, what: string): SluiceError {
  return new SluiceError('MediaUnreadable', `${label} is a damaged squashfs image: ${what}`);
}
