import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { writeDurable } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import { formatPartList, listFileOf, partName, partsMax } from '../media/parts.ts';

const units: Readonly<Record<string, number>> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const partBytesMin = 1024 * 1024;

/** Reads a size as `split` writes it: `4G`, `700M`, `4GiB`. Errors: Usage. */
export function parseSplitSize(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)([KMGT]?)(?:i?B)?$/.exec(text) ?? [];
  const bytes = Number(digits) * (units[unit] ?? 1);
  if (digits !== '' && Number.isSafeInteger(bytes) && bytes >= partBytesMin) return bytes;
  throw new SluiceError('Usage', `--split ${text} is not a size of at least 1M`, {
    next: 'Write it as 4G or 700M; FAT takes files of up to 4095M.',
  });
}

/**
 * Turns one file into parts, the last one first, each cut off once it stands: no more room is needed than for one
 * part. The list of the parts is written last; without it they are nothing.
 *
 * @returns the list and the parts. Errors: Usage (too many parts).
 */
export async function splitFile(file: string, path: string, bytesMax: number): Promise<string[]> {
  const { size } = await stat(file);
  const count = Math.max(1, Math.ceil(size / bytesMax));
  if (count > partsMax) {
    throw new SluiceError('Usage', `${path} would become ${count} parts, more than ${partsMax}`, {
      next: 'Give a larger size.',
    });
  }
  const parts: { name: string; sha256: string }[] = [];
  for (let index = count - 1; index >= 0; index -= 1) {
    const part = partName(path, index);
    const start = index * bytesMax;
    if (index === 0) await rename(file, part);
    else await pipeline(createReadStream(file, { start }), createWriteStream(part, { flush: true }));
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(part)) hash.update(chunk as Uint8Array);
    parts.unshift({ name: basename(part), sha256: hash.digest('hex') });
    if (index > 0) await truncate(file, start);
  }
  await writeDurable(listFileOf(path), formatPartList(parts));
  return [listFileOf(path), ...parts.map((_, index) => partName(path, index))];
}

async function truncate(path: string, bytes: number): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.truncate(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
