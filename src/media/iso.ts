import { SluiceError } from '../errors/error.ts';
import type { Tree, TreeFile } from '../store/tree.ts';
import { notWrittenWhole } from './cut.ts';
import type { Device } from './device.ts';
import { createDirectoryCache } from './directory-cache.ts';
import {
  damaged,
  type Extent,
  type IsoRecord,
  readRecord,
  readSuspSkip,
  recordLength,
  type SuspSkip,
  sectorBytes,
} from './iso-record.ts';

// ISO 9660 (ECMA-119) with Rock Ridge, read without mounting: a kernel need not know the file system, nothing of
// a foreign disk reaches kernel parsers, and a node needs no privilege.

const descriptorStart = 16;
const descriptorsMax = 64;
/** Bytes of one directory: some 400 000 entries. */
const directoryBytesMax = 64 * 1024 * 1024;

/** Whether the bytes at sector 16 start a volume descriptor. */
export async function isIso(device: Device): Promise<boolean> {
  const needed = (descriptorStart + 1) * sectorBytes;
  if (device.size !== undefined && device.size < needed) return false;
  return (await device.read(descriptorStart * sectorBytes + 1, 5)).toString('latin1') === 'CD001';
}

interface Volume {
  readonly label: string;
  readonly bytes: number;
  readonly root: Extent;
}

/** What lies under one name: a directory, or a file of one extent or several. */
type Node =
  | { readonly kind: 'directory'; readonly extent: Extent }
  | { readonly kind: 'file'; readonly extents: readonly Extent[]; readonly compressed: boolean };

/**
 * A read-only tree over an ISO image or a block device that holds one. The device is closed with the tree.
 *
 * Errors, also later from the tree: MediaUnreadable (no Rock Ridge, cut, damaged), MediaLost.
 */
export async function isoTree(device: Device): Promise<Tree> {
  const label = device.path;
  const volume = await readVolume(device);
  if (device.size !== undefined && device.size < volume.bytes) {
    throw notWrittenWhole(label, `it has ${device.size} of ${volume.bytes} bytes`);
  }
  const read = (offset: number, length: number): Promise<Buffer> => {
    if (offset + length > volume.bytes) return Promise.reject(damaged(label, 'it points beyond its own end'));
    return device.read(offset, length);
  };
  const skip = await readRoot(volume, read, label);
  const cache = createDirectoryCache<number, Map<string, Node>>();
  const directory = (extent: Extent): Promise<Map<string, Node>> =>
    cache.get(extent.block, extent.size, () => readDirectory(extent, { label, skip, read }));
  const find = async (path: string): Promise<Node | undefined> => {
    let node: Node = { kind: 'directory', extent: volume.root };
    for (const part of path.split('/').filter((each) => each !== '')) {
      if (node.kind !== 'directory') return undefined;
      const next: Node | undefined = (await directory(node.extent)).get(part);
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  };
  return {
    label,
    async open(path) {
      const node = await find(path);
      return node?.kind === 'file'
        ? isoFile(node.extents, node.compressed, `${label}: ${path}`, read)
        : undefined;
    },
    async list(path) {
      const node = await find(path);
      if (node?.kind !== 'directory') return [];
      const entries = [...(await directory(node.extent))];
      return entries.map(([name, entry]) => ({ name, directory: entry.kind === 'directory' }));
    },
    close: () => device.close(),
  };
}

async function readVolume(device: Device): Promise<Volume> {
  for (let index = 0; index < descriptorsMax; index += 1) {
    const sector = await device.read((descriptorStart + index) * sectorBytes, sectorBytes);
    if (sector.toString('latin1', 1, 6) !== 'CD001') throw damaged(device.path, 'a volume descriptor');
    if (sector[0] === 255) break;
    if (sector[0] !== 1) continue;
    const blockBytes = sector.readUInt16LE(128);
    if (blockBytes !== sectorBytes) throw damaged(device.path, `blocks of ${blockBytes} bytes`);
    const blocks = sector.readUInt32LE(80);
    if (blocks !== sector.readUInt32BE(84)) throw damaged(device.path, 'the size of the volume');
    return {
      label: sector.toString('latin1', 40, 72).trimEnd(),
      bytes: blocks * sectorBytes,
      root: { block: sector.readUInt32LE(158), size: sector.readUInt32LE(166) },
    };
  }
  throw damaged(device.path, 'it has no primary volume descriptor');
}

async function readRoot(
  volume: Volume,
  read: (offset: number, length: number) => Promise<Buffer>,
  label: string,
): Promise<SuspSkip> {
  const self = await read(volume.root.block * sectorBytes, sectorBytes);
  const skip = readSuspSkip(self);
  if (skip !== undefined) return skip;
  // Without Rock Ridge names are cut and upper-case; digests could not be found by name.
  throw new SluiceError('MediaUnreadable', `${label} is an ISO without Rock Ridge: its names are cut`, {
    next: 'Make it with: xorriso -as mkisofs -iso-level 3 -R -D -V SLUICE -o FILE.iso DIR',
  });
}

async function readDirectory(
  extent: Extent,
  context: { label: string; skip: SuspSkip; read: (offset: number, length: number) => Promise<Buffer> },
): Promise<Map<string, Node>> {
  if (extent.size > directoryBytesMax) throw damaged(context.label, 'a directory has more than 64 MiB');
  if (extent.size % sectorBytes !== 0) throw damaged(context.label, 'a directory ends inside a sector');
  const bytes = await context.read(extent.block * sectorBytes, extent.size);
  const nodes = new Map<string, Node>();
  let parts: Extent[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = recordLength(bytes, at);
    if (length === 0) {
      at += sectorBytes - (at % sectorBytes); // Records never cross a sector (ECMA-119 section 6.8.1.1).
      continue;
    }
    const record = await readRecord(bytes, at, context);
    at += length;
    if (record.plainName === '\0' || record.plainName === '\x01' || record.hidden) continue;
    if (record.name === undefined || record.kind === 'other') continue;
    if (record.kind === 'file') parts.push(record.extent);
    if (record.continues) continue;
    if (!isPlainName(record.name)) throw damaged(context.label, 'a file name holds a slash or is a dot');
    nodes.set(record.name, await nodeOf(record, parts, context));
    parts = [];
  }
  return nodes;
}

async function nodeOf(
  record: IsoRecord,
  extents: readonly Extent[],
  context: { read: (offset: number, length: number) => Promise<Buffer> },
): Promise<Node> {
  if (record.kind === 'file') return { kind: 'file', extents, compressed: record.compressed };
  if (record.relocatedTo === undefined) return { kind: 'directory', extent: record.extent };
  // The place that a moved directory was moved from knows only where it is now; its own first record knows its size.
  const self = await context.read(record.relocatedTo * sectorBytes, sectorBytes);
  return { kind: 'directory', extent: { block: record.relocatedTo, size: self.readUInt32LE(10) } };
}

function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0');
}

function isoFile(
  extents: readonly Extent[],
  compressed: boolean,
  label: string,
  read: (offset: number, length: number) => Promise<Buffer>,
): TreeFile {
  if (compressed)
    throw new SluiceError('MediaUnreadable', `${label} is compressed (zisofs), which is not read`);
  const size = extents.reduce((sum, extent) => sum + extent.size, 0);
  return {
    size,
    async read(offset, length) {
      const wanted = Math.max(0, Math.min(length, size - offset));
      const pieces: Buffer[] = [];
      let start = 0;
      for (const extent of extents) {
        const from = Math.max(offset, start);
        const to = Math.min(offset + wanted, start + extent.size);
        if (from < to) pieces.push(await read(extent.block * sectorBytes + (from - start), to - from));
        start += extent.size;
      }
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    },
    async close() {},
  };
}
