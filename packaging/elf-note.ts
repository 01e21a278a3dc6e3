/** Offsets and sizes of ELF-64 (System V ABI, Object Files). */
const header = { phoff: 32, phentsize: 54, phnum: 56, bytes: 64 };
const programHeaderBytes = 56;
const types = { load: 1, note: 4, phdr: 6 };
const readable = 4;
/** The largest page of a machine that we ship for: 64 KiB on aarch64. */
const pageBytes = 0x1_0000;

interface ProgramHeader {
  readonly type: number;
  readonly flags: number;
  readonly offset: bigint;
  readonly address: bigint;
  readonly fileBytes: bigint;
  readonly memoryBytes: bigint;
  readonly align: bigint;
}

/**
 * Adds a note to a program, in a segment that is mapped when it runs: where Node's single-file programs look for
 * what they hold. Nothing of the program moves: the table of segments, which has no room to grow in its place, is
 * written anew behind the end, and the note after it.
 *
 * @param program an ELF-64 little-endian executable, as Node's is for x64 and arm64.
 * @param name of the note, `NODE_SEA_BLOB` for instance.
 * Throws where `program` is none, or holds a note of that name already.
 */
export function addNote(program: Buffer, name: string, content: Uint8Array): Buffer {
  if (program.readUInt32BE(0) !== 0x7f454c46 || program[4] !== 2 || program[5] !== 1) {
    throw new Error('this is no ELF-64 little-endian program');
  }
  const segments = readSegments(program);
  if (
    segments.some(({ type, offset }) => type === types.note && noteName(program, Number(offset)) === name)
  ) {
    throw new Error(`the program has a note ${name} already`);
  }
  const loads = segments.filter(({ type }) => type === types.load);
  const first = loads[0];
  if (first === undefined) throw new Error('the program has no segments');
  const note = noteOf(name, content);
  const tableBytes = (segments.length + 2) * programHeaderBytes;
  // The loader of older kernels finds the table at its offset from the first segment: the address keeps that distance.
  const distance = first.address - first.offset;
  const memoryEnd = loads.reduce((end, each) => max(end, each.address + each.memoryBytes), 0n);
  const at = Number(alignUp(max(BigInt(program.length), memoryEnd - distance)));
  const address = distance + BigInt(at);
  const bytes = BigInt(tableBytes + note.length);
  const table: ProgramHeader[] = [
    ...segments.map((each) =>
      each.type === types.phdr
        ? {
            ...each,
            offset: BigInt(at),
            address,
            fileBytes: BigInt(tableBytes),
            memoryBytes: BigInt(tableBytes),
          }
        : each,
    ),
    {
      ...{ type: types.load, flags: readable, offset: BigInt(at), address },
      ...{ fileBytes: bytes, memoryBytes: bytes, align: BigInt(pageBytes) },
    },
    {
      ...{
        type: types.note,
        flags: readable,
        offset: BigInt(at + tableBytes),
        address: address + BigInt(tableBytes),
      },
      ...{ fileBytes: BigInt(note.length), memoryBytes: BigInt(note.length), align: 4n },
    },
  ];
  const result = Buffer.alloc(at + tableBytes + note.length);
  program.copy(result);
  for (const [index, each] of table.entries()) writeSegment(result, at + index * programHeaderBytes, each);
  note.copy(result, at + tableBytes);
  result.writeBigUInt64LE(BigInt(at), header.phoff);
  result.writeUInt16LE(table.length, header.phnum);
  return result;
}

/** The content of a note in a program, undefined where it has none of that name. */
export function readNote(program: Buffer, name: string): Buffer | undefined {
  for (const { type, offset } of readSegments(program)) {
    const at = Number(offset);
    if (type !== types.note || noteName(program, at) !== name) continue;
    const start = at + 12 + padded(program.readUInt32LE(at));
    return program.subarray(start, start + program.readUInt32LE(at + 4));
  }
  return undefined;
}

function noteName(program: Buffer, at: number): string {
  return program.toString('latin1', at + 12, at + 12 + program.readUInt32LE(at) - 1);
}

/** One note: sizes of name and content, a type, both padded to four bytes. */
function noteOf(name: string, content: Uint8Array): Buffer {
  const nameBytes = Buffer.from(`${name}\0`, 'latin1');
  const start = 12 + padded(nameBytes.length);
  const note = Buffer.alloc(start + padded(content.length));
  note.writeUInt32LE(nameBytes.length, 0);
  note.writeUInt32LE(content.length, 4);
  nameBytes.copy(note, 12);
  note.set(content, start);
  return note;
}

function readSegments(program: Buffer): ProgramHeader[] {
  const offset = Number(program.readBigUInt64LE(header.phoff));
  const count = program.readUInt16LE(header.phnum);
  if (program.readUInt16LE(header.phentsize) !== programHeaderBytes)
    throw new Error('an ELF of another size');
  return Array.from({ length: count }, (_, index) => {
    const at = offset + index * programHeaderBytes;
    return {
      type: program.readUInt32LE(at),
      flags: program.readUInt32LE(at + 4),
      offset: program.readBigUInt64LE(at + 8),
      address: program.readBigUInt64LE(at + 16),
      fileBytes: program.readBigUInt64LE(at + 32),
      memoryBytes: program.readBigUInt64LE(at + 40),
      align: program.readBigUInt64LE(at + 48),
    };
  });
}

function writeSegment(program: Buffer, at: number, segment: ProgramHeader): void {
  program.writeUInt32LE(segment.type, at);
  program.writeUInt32LE(segment.flags, at + 4);
  program.writeBigUInt64LE(segment.offset, at + 8);
  program.writeBigUInt64LE(segment.address, at + 16);
  program.writeBigUInt64LE(segment.address, at + 24); // The physical address means nothing to Linux.
  program.writeBigUInt64LE(segment.fileBytes, at + 32);
  program.writeBigUInt64LE(segment.memoryBytes, at + 40);
  program.writeBigUInt64LE(segment.align, at + 48);
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

function alignUp(value: bigint): bigint {
  const page = BigInt(pageBytes);
  return ((value + page - 1n) / page) * page;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
