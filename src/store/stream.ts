import { SluiceError } from '../errors/error.ts';
import type { TreeFile } from './tree.ts';

/** Bytes of one read: large enough that the cost of a call does not show, small enough to keep memory flat. */
export const readBytes = 1024 * 1024;

/**
 * The bytes of a file from `offset` to `end`, the next read always under way while a chunk is used. Closes the
 * file at its end. Errors: MediaLost where the file has become shorter.
 */
export async function* readAhead(
  file: TreeFile,
  range: { offset: number; end: number },
  options: { label: string; signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  const readAt = (offset: number) => {
    const read = file.read(offset, Math.min(readBytes, range.end - offset));
    read.catch(() => {}); // It is awaited below, or the consumer has gone away before.
    return read;
  };
  let offset = range.offset;
  let next = offset < range.end ? readAt(offset) : undefined;
  try {
    while (next !== undefined) {
      options.signal?.throwIfAborted();
      const chunk: Uint8Array = await next;
      if (chunk.length === 0) {
        throw new SluiceError('MediaLost', `${options.label}: a file became shorter while it was read`);
      }
      offset += chunk.length;
      next = offset < range.end ? readAt(offset) : undefined;
      yield chunk;
    }
  } finally {
    await next?.catch(() => {});
    await file.close();
  }
}
