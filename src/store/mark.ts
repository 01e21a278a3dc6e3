import { appendFile, readFile, stat } from 'node:fs/promises';
import { writeDurable } from '../durable/file.ts';
import { systemCode } from '../errors/error.ts';
import { type Digest, hexOf } from '../oci/digest.ts';

/**
 * Remembers which blobs this store has hashed itself, with size and time of their files: a file that has changed
 * since, or came here otherwise, is not among them. A lost mark costs one more hashing, so
 * that marks are appended without a flush; a mark without its blob is impossible, since it is written after it.
 */
export interface VerifiedMarks {
  has(digest: Digest, file: { size: number; mtimeMs: number }): boolean;
  add(digest: Digest, file: { size: number; mtimeMs: number }): Promise<void>;
  remove(digest: Digest): void;
}

const lineForm = /^([0-9a-f]{64}|[0-9a-f]{128}) (\d+) (\d+)$/;
const staleLinesMax = 10_000;

/** Opens the marks in a file of lines `<hex> <bytes> <time in ms>`. */
export async function openMarks(path: string): Promise<VerifiedMarks> {
  const marks = new Map<string, string>();
  const text = await readFile(path, 'latin1').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split('\n');
  for (const line of lines) {
    const [, hex, size, time] = lineForm.exec(line) ?? []; // A line that a crash cut short is not one.
    if (hex !== undefined) marks.set(hex, `${size} ${time}`);
  }
  if (lines.length > 2 * marks.size + staleLinesMax) {
    await writeDurable(path, [...marks].map(([hex, facts]) => `${hex} ${facts}\n`).join(''));
  }
  return {
    has: (digest, file) => marks.get(hexOf(digest)) === factsOf(file),
    async add(digest, file) {
      if (marks.get(hexOf(digest)) === factsOf(file)) return;
      marks.set(hexOf(digest), factsOf(file));
      // The line break in front ends a line that a crash has cut short.
      await appendFile(path, `\n${hexOf(digest)} ${factsOf(file)}\n`);
    },
    remove(digest) {
      marks.delete(hexOf(digest));
    },
  };
}

/** Size and time of a file, as marks need them; undefined where there is none. */
export async function fileFacts(path: string): Promise<{ size: number; mtimeMs: number } | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

function factsOf(file: { size: number; mtimeMs: number }): string {
  return `${file.size} ${Math.floor(file.mtimeMs)}`;
}
