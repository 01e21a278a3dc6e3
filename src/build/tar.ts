import { createReadStream } from 'node:fs';
import { SluiceError } from '../errors/error.ts';

// Writes archives in the format of POSIX ustar, with pax records where a name or a size does not fit it
// (IEEE 1003.1, "pax Interchange Format"). Times, owners and order are fixed: the same files always give the
// same bytes.

const blockBytes = 512;
const ustarSizeMax = 0o77777777777;
const endBlocks = Buffer.alloc(2 * blockBytes);

/** An entry to write; paths are relative, of plain components. */
export type TarEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly mode: number;
      /** Bytes that will be written. */
      readonly size: number;
      /** The content, or the path of a file that has it. */
      readonly content: Uint8Array | string;
    };

/** Order of paths by their bytes: the same on every machine. */
export function comparePaths(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** An archive of these entries, in the order in which they come. Errors: InputInvalid where a file changed its size. */
export async function* packTar(
  entries: Iterable<TarEntry> | AsyncIterable<TarEntry>,
): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    yield headers(entry);
    if (entry.kind !== 'file' || entry.size === 0) continue;
    let written = 0;
    for await (const chunk of contentOf(entry.content)) {
      written += chunk.length;
      if (written > entry.size) break;
      yield chunk;
    }
    if (written !== entry.size) {
      throw new SluiceError('InputInvalid', `${entry.path} changed its size while it was packed`);
    }
    const rest = written % blockBytes;
    if (rest > 0) yield Buffer.alloc(blockBytes - rest);
  }
  yield endBlocks;
}

function contentOf(content: Uint8Array | string): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (typeof content !== 'string') return [content];
  return createReadStream(content, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Uint8Array>;
}

function headers(entry: TarEntry): Uint8Array {
  const path = entry.kind === 'directory' ? `${entry.path}/` : entry.path;
  const target = entry.kind === 'link' ? entry.target : '';
  const size = entry.kind === 'file' ? entry.size : 0;
  const mode = entry.kind === 'link' ? 0o777 : entry.mode;
  const split = splitPath(path);
  const records: string[] = [];
  if (split === undefined) records.push(paxRecord('path', path));
  if (Buffer.byteLength(target) > 100) records.push(paxRecord('linkpath', target));
  if (size > ustarSizeMax) records.push(paxRecord('size', String(size)));
  const type = { directory: '5', link: '2', file: '0' }[entry.kind];
  const { name, prefix } = split ?? { name: path.slice(-100), prefix: '' };
  const own = header({ name, prefix, mode, size: size > ustarSizeMax ? 0 : size, type, target });
  if (records.length === 0) return own;
  const extra = Buffer.from(records.join(''), 'utf8');
  const padding = Buffer.alloc((blockBytes - (extra.length % blockBytes)) % blockBytes);
  const pax = header({ name: 'pax', prefix: '', mode: 0o644, size: extra.length, type: 'x', target: '' });
  return Buffer.concat([pax, extra, padding, own]);
}

interface HeaderFields {
  readonly name: string;
  readonly prefix: string;
  readonly mode: number;
  readonly size: number;
  readonly type: string;
  readonly target: string;
}

function header(fields: HeaderFields): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, offset: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), offset, 'latin1');
  block.write(fields.name, 0, 100, 'utf8');
  octal(fields.mode & 0o7777, 100, 8);
  octal(0, 108, 8); // uid
  octal(0, 116, 8); // gid
  octal(fields.size, 124, 12);
  octal(0, 136, 12); // mtime
  block.fill(0x20, 148, 156);
  block.write(fields.type, 156, 'latin1');
  block.write(fields.target, 157, 100, 'utf8');
  block.write('ustar', 257, 'latin1'); // Ends with a zero byte, which is there already.
  block.write('00', 263, 'latin1');
  octal(0, 329, 8); // device numbers
  octal(0, 337, 8);
  block.write(fields.prefix, 345, 155, 'utf8');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** Name and prefix of ustar; undefined where the path does not fit them. */
function splitPath(path: string): { name: string; prefix: string } | undefined {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const prefix = path.slice(0, slash);
    const name = path.slice(slash + 1);
    if (Buffer.byteLength(prefix) > 155) return undefined;
    if (name !== '' && Buffer.byteLength(name) <= 100) return { name, prefix };
  }
  return undefined;
}

/** `<length> <key>=<value>\n`, where the length counts itself. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length !== String(rest).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}
