import type { Tree, TreeFile } from '../store/tree.ts';
import type { Device } from './device.ts';
import { createDirectoryCache } from './directory-cache.ts';
import { damaged, openVolume, type SquashVolume, storedSize } from './squashfs-volume.ts';

// Squashfs read without mounting, for the same reasons as ISO images.

/** Bytes of the names of one directory. */
const directoryBytesMax = 64 * 1024 * 1024;
/** Blocks of one file: 64 GiB in blocks of 128 KiB. */
const fileBlocksMax = 512 * 1024;
const noFragment = 0xffffffff;
const inodeHeadBytes = 16;

const inodeTypes = { directory: 1, file: 2, largeDirectory: 8, largeFile: 9 } as const;

interface DirectoryPlace {
  readonly block: number;
  readonly offset: number;
  readonly bytes: number;
}

interface FilePlace {
  readonly size: number;
  readonly start: number;
  /** Size and kind of each whole block. */
  readonly words: readonly number[];
  /** The end of the file in a block that several files share. */
  readonly fragment: { index: number; offset: number } | undefined;
}

/**
 * A read-only tree over a squashfs image. The device is closed with the tree.
 * Errors, also later from the tree: MediaUnreadable, MediaLost.
 */
export async function squashfsTree(device: Device): Promise<Tree> {
  const volume = await openVolume(device);
  const cache = createDirectoryCache<string, Map<string, Entry>>();
  const directory = (place: DirectoryPlace): Promise<Map<string, Entry>> =>
    cache.get(`${place.block} ${place.offset}`, place.bytes, () => readDirectory(volume, place));
  const find = async (path: string): Promise<Entry | undefined> => {
    let entry: Entry = { kind: 'directory', inode: volume.root };
    for (const part of path.split('/').filter((each) => each !== '')) {
      if (entry.kind !== 'directory') return undefined;
      const next: Entry | undefined = (await directory(await directoryPlace(volume, entry.inode))).get(part);
      if (next === undefined) return undefined;
      entry = next;
    }
    return entry;
  };
  return {
    label: volume.label,
    async open(path) {
      const entry = await find(path);
      return entry?.kind === 'file' ? squashFile(volume, await filePlace(volume, entry.inode)) : undefined;
    },
    async list(path) {
      const entry = await find(path);
      if (entry?.kind !== 'directory') return [];
      const entries = await directory(await directoryPlace(volume, entry.inode));
      return [...entries].map(([name, each]) => ({ name, directory: each.kind === 'directory' }));
    },
    close: () => device.close(),
  };
}

interface Entry {
  readonly kind: 'directory' | 'file';
  /** Block (from the inode table) in the upper bits, place in it in the lower 16. */
  readonly inode: bigint;
}

async function inodeBytes(
  volume: SquashVolume,
  inode: bigint,
  from: number,
  length: number,
): Promise<Buffer> {
  const block = volume.inodeTable + Number(inode >> 16n);
  return await volume.metadata(block, Number(inode & 0xffffn) + from, length);
}

async function directoryPlace(volume: SquashVolume, inode: bigint): Promise<DirectoryPlace> {
  const type = (await inodeBytes(volume, inode, 0, 2)).readUInt16LE(0);
  if (type === inodeTypes.directory) {
    const body = await inodeBytes(volume, inode, inodeHeadBytes, 16);
    return placeOf(volume, {
      block: body.readUInt32LE(0),
      bytes: body.readUInt16LE(8),
      offset: body.readUInt16LE(10),
    });
  }
  if (type === inodeTypes.largeDirectory) {
    const body = await inodeBytes(volume, inode, inodeHeadBytes, 24);
    return placeOf(volume, {
      block: body.readUInt32LE(8),
      bytes: body.readUInt32LE(4),
      offset: body.readUInt16LE(18),
    });
  }
  throw damaged(volume.label, 'a directory is none');
}

/** The size of a directory counts three bytes for `.` and `..`, which are not stored. */
function placeOf(volume: SquashVolume, place: DirectoryPlace): DirectoryPlace {
  const bytes = Math.max(0, place.bytes - 3);
  if (bytes > directoryBytesMax) throw damaged(volume.label, 'a directory has more than 64 MiB');
  return { ...place, bytes };
}

async function readDirectory(volume: SquashVolume, place: DirectoryPlace): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  if (place.bytes === 0) return entries;
  const bytes = await volume.metadata(volume.directoryTable + place.block, place.offset, place.bytes);
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw damaged(volume.label, 'a directory ends too early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const head = take(12);
    const count = head.readUInt32LE(0) + 1;
    const block = BigInt(head.readUInt32LE(4));
    for (let index = 0; index < count; index += 1) {
      const entry = take(8);
      const name = take(entry.readUInt16LE(6) + 1).toString('utf8');
      if (name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
        throw damaged(volume.label, 'a file name holds a slash or is a dot');
      }
      const type = entry.readUInt16LE(4);
      // Names of files and directories use the small types, whatever kind the inode is. Links are not followed.
      if (type !== inodeTypes.directory && type !== inodeTypes.file) continue;
      const kind = type === inodeTypes.directory ? 'directory' : 'file';
      entries.set(name, { kind, inode: (block << 16n) | BigInt(entry.readUInt16LE(0)) });
    }
  }
  return entries;
}

async function filePlace(volume: SquashVolume, inode: bigint): Promise<FilePlace> {
  const type = (await inodeBytes(volume, inode, 0, 2)).readUInt16LE(0);
  if (type !== inodeTypes.file && type !== inodeTypes.largeFile)
    throw damaged(volume.label, 'a file is none');
  const isLarge = type === inodeTypes.largeFile;
  const bodyBytes = isLarge ? 40 : 16;
  const body = await inodeBytes(volume, inode, inodeHeadBytes, bodyBytes);
  const start = isLarge ? Number(body.readBigUInt64LE(0)) : body.readUInt32LE(0);
  const size = isLarge ? Number(body.readBigUInt64LE(8)) : body.readUInt32LE(12);
  const index = body.readUInt32LE(isLarge ? 28 : 4);
  const offset = body.readUInt32LE(isLarge ? 32 : 8);
  const whole = size / volume.blockBytes;
  const count = index === noFragment ? Math.ceil(whole) : Math.floor(whole);
  if (!Number.isSafeInteger(size) || count > fileBlocksMax)
    throw damaged(volume.label, `a file of ${size} bytes`);
  const list =
    count === 0 ? Buffer.alloc(0) : await inodeBytes(volume, inode, inodeHeadBytes + bodyBytes, count * 4);
  const words = Array.from({ length: count }, (_, each) => list.readUInt32LE(each * 4));
  return { size, start, words, fragment: index === noFragment ? undefined : { index, offset } };
}

function squashFile(volume: SquashVolume, place: FilePlace): TreeFile {
  const { size, words } = place;
  const { blockBytes } = volume;
  const starts: number[] = [];
  let next = place.start;
  for (const word of words) {
    starts.push(next);
    next += storedSize(word).bytes;
  }
  let last: { index: number; bytes: Promise<Buffer> } | undefined;

  const lengthOf = (index: number) => Math.min(blockBytes, size - index * blockBytes);
  const isPlain = (index: number) => {
    const { stored, bytes } = storedSize(words[index] ?? 0);
    return stored && bytes === lengthOf(index);
  };

  async function unpacked(index: number): Promise<Buffer> {
    const word = words[index];
    const length = lengthOf(index);
    if (word === undefined) return await fragmentOf(length);
    if (word === 0) return Buffer.alloc(length); // A hole.
    const bytes = await volume.block(starts[index] ?? 0, word, blockBytes);
    if (bytes.length !== length) throw damaged(volume.label, 'a block has another length than its file says');
    return bytes;
  }

  async function fragmentOf(length: number): Promise<Buffer> {
    if (place.fragment === undefined) throw damaged(volume.label, 'a file ends too early');
    const { at, word } = await volume.fragment(place.fragment.index);
    const bytes = await volume.block(at, word, blockBytes);
    const piece = bytes.subarray(place.fragment.offset, place.fragment.offset + length);
    if (piece.length !== length) throw damaged(volume.label, 'a fragment ends too early');
    return piece;
  }

  /** Readers go through a file in steps that need not be blocks: the last block is kept. */
  function blockAt(index: number): Promise<Buffer> {
    if (last?.index === index) return last.bytes;
    const bytes = unpacked(index);
    last = { index, bytes };
    bytes.catch(() => (last = undefined));
    return bytes;
  }

  return {
    size,
    async read(offset, length) {
      const end = Math.min(offset + length, size);
      const pieces: Buffer[] = [];
      for (let at = offset; at < end; ) {
        const index = Math.floor(at / blockBytes);
        const within = at - index * blockBytes;
        let until = index;
        while (isPlain(until) && until * blockBytes < end) until += 1;
        if (until > index) {
          // Blocks that are stored as they are stand side by side: one read for all of them.
          const take = Math.min(end, until * blockBytes) - at;
          pieces.push(await volume.raw((starts[index] ?? 0) + within, take));
          at += take;
        } else {
          const piece = (await blockAt(index)).subarray(within, within + end - at);
          pieces.push(piece);
          at += piece.length;
        }
      }
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    },
    async close() {
      last = undefined;
    },
  };
}
