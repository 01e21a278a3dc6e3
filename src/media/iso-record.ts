import { SluiceError } from '../errors/error.ts';

// Directory records of ISO 9660 (ECMA-119 section 9.1) and their system use entries: SUSP (IEEE P1281) and
// Rock Ridge (IEEE P1282), which carry the real names.

/** Logical sectors, and blocks on every disk that is made today. */
export const sectorBytes = 2048;
/** Continuation areas of one record; real ones have one. */
const continuationsMax = 16;
/** Bytes of one name; Rock Ridge's own limit. */
const nameBytesMax = 255;

const flagDirectory = 0x02;
const flagAssociated = 0x04;
const flagMultiExtent = 0x80;
const nameContinues = 0x01;
const nameIsSpecial = 0x02 | 0x04;
const modeTypeMask = 0o170000;
const modeRegular = 0o100000;
const modeDirectory = 0o040000;

/** A run of bytes on the volume. */
export interface Extent {
  /** First block. */
  readonly block: number;
  /** Bytes. */
  readonly size: number;
}

export interface IsoRecord {
  /** Name as the directory itself has it: `\0` is the directory, `\x01` its parent. */
  readonly plainName: string;
  /** Name of Rock Ridge; undefined where the record has none. */
  readonly name: string | undefined;
  readonly kind: 'directory' | 'file' | 'other';
  readonly extent: Extent;
  /** More extents of the same file follow in the next record. */
  readonly continues: boolean;
  /** First block of a directory that was moved away because of its depth, and hangs here. */
  readonly relocatedTo: number | undefined;
  /** A moved directory where it lies now: it is shown at its old place instead. */
  readonly hidden: boolean;
  /** zisofs: the kernel would unpack it while reading. */
  readonly compressed: boolean;
}

export type ReadBytes = (offset: number, length: number) => Promise<Buffer>;

/** Where the SUSP entries start in a record's system use area; undefined where the volume has none. */
export type SuspSkip = number | undefined;

export function damaged(label: string, what: string): SluiceError {
  return new SluiceError('MediaUnreadable', `${label} is damaged: ${what}`);
}

/** The length byte of a directory record, 0 where the rest of the sector is empty. */
export function recordLength(directory: Buffer, at: number): number {
  return directory[at] ?? 0;
}

/** Reads the record at `at` of a directory's bytes. Errors: MediaUnreadable, MediaLost. */
export async function readRecord(
  directory: Buffer,
  at: number,
  context: { label: string; skip: SuspSkip; read: ReadBytes },
): Promise<IsoRecord> {
  const length = recordLength(directory, at);
  if (length < 34 || at + length > directory.length)
    throw damaged(context.label, 'a directory record is cut');
  const record = directory.subarray(at, at + length);
  const nameLength = record[32] ?? 0;
  if (33 + nameLength > length) throw damaged(context.label, 'a file name is longer than its record');
  const flags = record[25] ?? 0;
  const ridge =
    context.skip === undefined
      ? noRidge
      : await readRidge(record.subarray(33 + nameLength + ((nameLength + 1) % 2) + context.skip), context);
  const directoryRecord = (flags & flagDirectory) !== 0 || ridge.relocatedTo !== undefined;
  const plainFile = !directoryRecord && (flags & flagAssociated) === 0 && ridge.type === modeRegular;
  return {
    plainName: record.subarray(33, 33 + nameLength).toString('latin1'),
    name: ridge.name,
    kind: directoryRecord ? 'directory' : plainFile ? 'file' : 'other',
    extent: { block: readBoth(record, 2) + (record[1] ?? 0), size: readBoth(record, 10) },
    continues: (flags & flagMultiExtent) !== 0,
    relocatedTo: ridge.relocatedTo,
    hidden: ridge.hidden,
    compressed: ridge.compressed,
  };

  function readBoth(bytes: Buffer, offset: number): number {
    const value = bytes.readUInt32LE(offset);
    // Numbers stand there twice, in both byte orders (ECMA-119 section 7.3.3): a free check.
    if (value !== bytes.readUInt32BE(offset + 4)) throw damaged(context.label, 'a directory record');
    return value;
  }
}

/** The SUSP indicator of the root's own record (P1281 section 5.3): how much each record skips. */
export function readSuspSkip(rootSelf: Buffer): SuspSkip {
  const nameLength = rootSelf[32] ?? 0;
  const area = rootSelf.subarray(33 + nameLength + ((nameLength + 1) % 2), rootSelf[0] ?? 0);
  if (area.length < 7 || area.toString('latin1', 0, 2) !== 'SP') return undefined;
  return area[4] === 0xbe && area[5] === 0xef ? area[6] : undefined;
}

interface Ridge {
  readonly name: string | undefined;
  readonly type: number;
  readonly relocatedTo: number | undefined;
  readonly hidden: boolean;
  readonly compressed: boolean;
}

const noRidge: Ridge = {
  name: undefined,
  type: modeRegular,
  relocatedTo: undefined,
  hidden: false,
  compressed: false,
};

async function readRidge(area: Buffer, context: { label: string; read: ReadBytes }): Promise<Ridge> {
  const nameParts: Buffer[] = [];
  let type = modeRegular;
  let relocatedTo: number | undefined;
  let hidden = false;
  let compressed = false;
  let special = false;
  let rest: Buffer | undefined = area;
  for (let continuations = 0; rest !== undefined; continuations += 1) {
    if (continuations > continuationsMax) throw damaged(context.label, 'a record continues for ever');
    let next: { offset: number; length: number } | undefined;
    for (const entry of suspEntries(rest)) {
      if (entry.signature === 'NM' && entry.data.length >= 1) {
        special ||= ((entry.data[0] ?? 0) & nameIsSpecial) !== 0;
        nameParts.push(entry.data.subarray(1));
        if (((entry.data[0] ?? 0) & nameContinues) === 0) continue;
      } else if (entry.signature === 'PX' && entry.data.length >= 8) {
        type = entry.data.readUInt32LE(0) & modeTypeMask;
      } else if (entry.signature === 'CL' && entry.data.length >= 8) {
        relocatedTo = entry.data.readUInt32LE(0);
      } else if (entry.signature === 'RE') {
        hidden = true;
      } else if (entry.signature === 'ZF') {
        compressed = true;
      } else if (entry.signature === 'CE' && entry.data.length >= 24) {
        next = continuation(entry.data, context.label);
      }
    }
    rest = next === undefined ? undefined : await context.read(next.offset, next.length);
  }
  const bytes = Buffer.concat(nameParts);
  if (bytes.length > nameBytesMax) throw damaged(context.label, 'a file name has more than 255 bytes');
  const name = nameParts.length === 0 || special ? undefined : bytes.toString('utf8');
  return { name, type: type === modeDirectory ? modeRegular : type, relocatedTo, hidden, compressed };
}

function continuation(data: Buffer, label: string): { offset: number; length: number } {
  const offset = data.readUInt32LE(0) * sectorBytes + data.readUInt32LE(8);
  const length = data.readUInt32LE(16);
  if (length > sectorBytes) throw damaged(label, 'a continuation area is larger than a sector');
  return { offset, length };
}

function* suspEntries(area: Buffer): Generator<{ signature: string; data: Buffer }> {
  let at = 0;
  while (at + 4 <= area.length) {
    const length = area[at + 2] ?? 0;
    if (length < 4 || at + length > area.length) return;
    const signature = area.toString('latin1', at, at + 2);
    if (signature === 'ST') return;
    yield { signature, data: area.subarray(at + 4, at + length) };
    at += length;
  }
}
