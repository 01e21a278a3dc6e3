import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';
import { directoryTree, type Tree, type TreeFile } from '../store/tree.ts';
import type { Device } from './device.ts';

// An image file in parts, for file systems that take no large files and for data diodes: `NAME.000`, `NAME.001`, …
// and `NAME.parts`, which lists them as sha256sum does, so that `sha256sum -c NAME.parts` checks them anywhere. The
// list is a hint as everything on media: the bundle inside is what is signed.

/** Ending of the list of parts. */
const listEnding = '.parts';
export const partsMax = 1000;
const hashBytes = 1024 * 1024;
const listBytesMax = 256 * 1024;
const lineForm = /^([0-9a-f]{64}) [ *]([^/]+\.(\d{3}))$/;

export function listFileOf(path: string): string {
  return `${path}${listEnding}`;
}

export function partName(path: string, index: number): string {
  return `${path}.${String(index).padStart(3, '0')}`;
}

/** The text of a list of parts. */
export function formatPartList(parts: readonly { name: string; sha256: string }[]): string {
  return parts.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('');
}

/**
 * The list of parts that a path means: the list itself, one of the parts, the name of the whole, or the directory
 * that holds nothing else to read. Undefined where it means none. Errors: MediaUnreadable (several in one directory).
 */
export async function findPartList(path: string): Promise<string | undefined> {
  if (path.endsWith(listEnding)) return (await isFile(path)) ? path : undefined;
  const whole = path.replace(/\.\d{3}$/, '');
  if (whole !== path && (await isFile(listFileOf(whole)))) return listFileOf(whole);
  const names = await readdir(path).catch((error: unknown): string[] | undefined =>
    systemCode(error) === 'ENOENT' ? undefined : [],
  );
  if (names === undefined) return (await isFile(listFileOf(path))) ? listFileOf(path) : undefined;
  if (names.includes('docker')) return undefined;
  const lists = names.filter((name) => name.endsWith(listEnding));
  if (lists.length > 1) {
    throw new SluiceError('MediaUnreadable', `${path} holds the parts of several: ${lists.join(', ')}`, {
      next: 'Name one of these lists.',
    });
  }
  return lists[0] === undefined ? undefined : join(path, lists[0]);
}

/**
 * The parts as one device. Every part but the last has the same size; one that is missing or cut is named.
 * Errors: MediaUnreadable, MediaLost.
 */
export async function openParts(list: string): Promise<Device> {
  const tree = directoryTree(dirname(list));
  const names = parsePartList(await readList(tree, list), list);
  const parts: TreeFile[] = [];
  const close = async () => void (await Promise.all(parts.map((each) => each.close())));
  try {
    for (const [index, name] of names.entries()) parts.push(await openPart(tree, name, index, names.length));
    requireWhole(parts, names);
  } catch (error) {
    await close();
    throw error;
  }
  const partBytes = parts[0]?.size ?? 0;
  return {
    path: list,
    size: parts.reduce((sum, part) => sum + part.size, 0),
    async read(offset, length) {
      const pieces: Buffer[] = [];
      for (let at = offset; at < offset + length; ) {
        const index = Math.min(parts.length - 1, Math.floor(at / partBytes));
        const within = at - index * partBytes;
        const isLast = index === parts.length - 1;
        const take = isLast ? offset + length - at : Math.min(offset + length - at, partBytes - within);
        pieces.push(await readExactly(parts[index] as TreeFile, names[index] ?? '', within, take));
        at += take;
      }
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    },
    close,
  };
}

function requireWhole(parts: readonly TreeFile[], names: readonly string[]): void {
  // The first may be the one that is cut.
  const most = Math.max(...parts.map((each) => each.size));
  for (const [index, { size }] of parts.entries()) {
    if (index === parts.length - 1 ? size <= most : size === most) continue;
    throw new SluiceError(
      'MediaUnreadable',
      `part ${index + 1} of ${parts.length}, ${names[index]}, was not copied whole: it has ${size} of ${most} bytes`,
    );
  }
}

/**
 * Whether the last part is another than was written: its size is not known, so that one that was cut is only noticed
 * where the image cannot be read. Answers what is wrong; undefined: it is what was written.
 */
export async function lastPartProblem(list: string): Promise<string | undefined> {
  const tree = directoryTree(dirname(list));
  const lines = (await readList(tree, list)).trimEnd().split('\n');
  const [, sha256, name] = lineForm.exec(lines.at(-1)?.trimEnd() ?? '') ?? [];
  const file = name === undefined ? undefined : await tree.open(name);
  if (file === undefined) return undefined;
  try {
    const hash = createHash('sha256');
    for (let at = 0; at < file.size; at += hashBytes)
      hash.update(await file.read(at, Math.min(hashBytes, file.size - at)));
    if (hash.digest('hex') === sha256) return undefined;
    return `part ${lines.length} of ${lines.length}, ${name}, is not what was written: it was not copied whole, or is damaged (${file.size} bytes)`;
  } finally {
    await file.close();
  }
}

async function readExactly(part: TreeFile, name: string, offset: number, length: number): Promise<Buffer> {
  const read = await part.read(offset, length);
  const bytes = Buffer.from(read.buffer, read.byteOffset, read.length);
  if (bytes.length === length) return bytes;
  throw new SluiceError(
    'MediaLost',
    `${name} ends at byte ${offset + bytes.length}, in the middle of its content`,
  );
}

/** Names of the parts in their order. Errors: MediaUnreadable. */
export function parsePartList(text: string, where: string): string[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const names = lines.map((line, index) => {
    const [, , name, number] = lineForm.exec(line.trimEnd()) ?? [];
    if (name !== undefined && Number(number) === index) return name;
    throw new SluiceError(
      'MediaUnreadable',
      `${where} is no list of parts: line ${index + 1} cannot be read`,
    );
  });
  if (names.length > 0 && names.length <= partsMax) return names;
  throw new SluiceError('MediaUnreadable', `${where} lists ${names.length} parts`);
}

async function readList(tree: Tree, path: string): Promise<string> {
  const file = await tree.open(basename(path));
  if (file === undefined)
    throw new SluiceError(
      'MediaUnreadable',
      `${path} is no list of parts: it is not a file of its directory`,
    );
  try {
    if (file.size > listBytesMax)
      throw new SluiceError('MediaUnreadable', `${path} is no list of parts: it has ${file.size} bytes`);
    return Buffer.from(await file.read(0, file.size)).toString('utf8');
  } finally {
    await file.close();
  }
}

async function openPart(tree: Tree, name: string, index: number, count: number): Promise<TreeFile> {
  const file = await tree.open(name);
  if (file !== undefined) return file;
  throw new SluiceError('MediaUnreadable', `part ${index + 1} of ${count} is missing: ${name}`, {
    next: 'Bring all parts into one directory.',
  });
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (facts) => facts.isFile(),
    () => false,
  );
}
