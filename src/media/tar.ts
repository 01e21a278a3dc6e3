import { SluiceError } from '../errors/error.ts';
import { isTreePath, type Tree, type TreeFile } from '../store/tree.ts';
import { notWrittenWhole } from './cut.ts';
import type { Device } from './device.ts';

// A tar archive that is not packed, as a read-only tree: its headers are read once, its files are then read in
// place. POSIX ustar and pax (IEEE 1003.1, "pax Interchange Format"), and GNU's long names and sizes.

const blockBytes = 512;
/** Entries of one archive: a bundle of 40 GB has some 20 000. */
const entriesMax = 1_000_000;
/** Bytes of a pax header or a GNU long name. */
const extraBytesMax = 64 * 1024;

interface Place {
  readonly offset: number;
  readonly size: number;
}

type Node = { readonly file: Place } | { readonly names: Map<string, Node> };

/** Whether the first block is a tar header. */
export async function isTar(device: Device): Promise<boolean> {
  if (device.size === undefined || device.size < 2 * blockBytes) return false;
  return headerOf(await device.read(0, blockBytes)) !== undefined;
}

/**
 * A read-only tree over an archive. The device is closed with the tree.
 * Errors, also later from the tree: MediaUnreadable, MediaLost.
 */
export async function tarTree(device: Device): Promise<Tree> {
  const root = await readIndex(device);
  const find = (path: string): Node | undefined => {
    let node: Node | undefined = { names: root };
    for (const part of path.split('/').filter((each) => each !== '')) {
      node = node !== undefined && 'names' in node ? node.names.get(part) : undefined;
    }
    return node;
  };
  return {
    label: device.path,
    async open(path) {
      const node = find(path);
      return node !== undefined && 'file' in node ? tarFile(device, node.file) : undefined;
    },
    async list(path) {
      const node = find(path);
      if (node === undefined || !('names' in node)) return [];
      return [...node.names].map(([name, entry]) => ({ name, directory: 'names' in entry }));
    },
    close: () => device.close(),
  };
}

function tarFile(device: Device, place: Place): TreeFile {
  return {
    size: place.size,
    read: (offset, length) =>
      device.read(place.offset + offset, Math.max(0, Math.min(length, place.size - offset))),
    async close() {},
  };
}

async function readIndex(device: Device): Promise<Map<string, Node>> {
  const root = new Map<string, Node>();
  const end = device.size ?? 0;
  let longName: string | undefined;
  let pax: ReadonlyMap<string, string> = new Map();
  let entries = 0;
  for (let offset = 0; offset + blockBytes <= end; ) {
    const block = await device.read(offset, blockBytes);
    offset += blockBytes;
    if (block.every((byte) => byte === 0)) continue; // Concatenated archives have such blocks in their middle.
    const header = headerOf(block);
    if (header === undefined) throw damaged(device, 'a header');
    entries += 1;
    if (entries > entriesMax) throw damaged(device, `more than ${entriesMax} entries`);
    const size = sizeOf(pax.get('size'), header.size, device);
    if (offset + size > end) {
      throw notWrittenWhole(device.path, `it ends inside ${header.name}`);
    }
    const next = offset + Math.ceil(size / blockBytes) * blockBytes;
    if (header.type === 'x' || header.type === 'L') {
      if (size > extraBytesMax) throw damaged(device, 'a name is too long');
      const extra = await device.read(offset, size);
      if (header.type === 'x') pax = paxRecords(extra, device);
      else longName = extra.toString('utf8').replace(/\0.*$/s, '');
    } else {
      const path = (pax.get('path') ?? longName ?? header.name)
        .replace(/^(?:\.?\/)+/, '')
        .replace(/\/+$/, '');
      if (isTreePath(path) && path !== '') place(root, path, header.type, { offset, size });
      longName = undefined;
      pax = new Map();
    }
    offset = next;
  }
  return root;
}

function place(root: Map<string, Node>, path: string, type: string, file: Place): void {
  const parts = path.split('/');
  const last = parts.pop() ?? '';
  let names = root;
  for (const part of parts) {
    const known = names.get(part);
    const node = known !== undefined && 'names' in known ? known : { names: new Map<string, Node>() };
    names.set(part, node);
    names = node.names;
  }
  if (type === '5') {
    const known = names.get(last);
    if (known === undefined || !('names' in known)) names.set(last, { names: new Map() });
  } else if (type === '0' || type === '\0' || type === '7') {
    names.set(last, { file });
  } else {
    names.delete(last); // Links and devices of a foreign archive are not followed; the last entry of a name counts.
  }
}

interface Header {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

function headerOf(block: Buffer): Header | undefined {
  const stored = octal(block.subarray(148, 156));
  let sum = 8 * 0x20;
  for (const [index, byte] of block.entries()) if (index < 148 || index >= 156) sum += byte;
  if (stored !== sum) return undefined;
  const prefix =
    block.toString('latin1', 257, 262) === 'ustar' && block[262] === 0 ? text(block, 345, 155) : '';
  const name = text(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156] ?? 0),
    size: numberOf(block.subarray(124, 136)),
  };
}

function text(block: Buffer, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

function octal(field: Buffer): number | undefined {
  const digits = field.toString('latin1').replace(/\0.*$/s, '').trim();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

/** A number in octal, or in base 256 where its first bit is set (GNU; sizes of 8 GiB and more). */
function numberOf(field: Buffer): number {
  if (((field[0] ?? 0) & 0x80) === 0) return octal(field) ?? 0;
  let value = (field[0] ?? 0) & 0x7f;
  for (const byte of field.subarray(1)) value = value * 256 + byte;
  return value;
}

function sizeOf(fromPax: string | undefined, fromHeader: number, device: Device): number {
  const size = fromPax === undefined ? fromHeader : Number(fromPax);
  if (!Number.isSafeInteger(size) || size < 0) throw damaged(device, 'a size');
  return size;
}

function paxRecords(bytes: Buffer, device: Device): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString('latin1', at, space));
    const equals = bytes.indexOf(0x3d, space);
    const end = at + length;
    if (!(length > 0) || space < 0 || equals < 0 || equals >= end || end > bytes.length) {
      throw damaged(device, 'a pax header');
    }
    records.set(bytes.toString('utf8', space + 1, equals), bytes.toString('utf8', equals + 1, end - 1));
    at = end;
  }
  return records;
}

function damaged(device: Device, what: string): SluiceError {
  return new SluiceError('MediaUnreadable', `${device.path} is a damaged archive: ${what}`);
}
