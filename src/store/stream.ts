import { SluiceError } from '../errors/error.ts';
import type { TreeFile } from './tree.ts';

/** Bytes of one read: large enough that the cost of a call does not show, small enough to keep memory flat. */
export const readBytes = 1024 * 1024;

/**
 * The bytes of a file from `offset` to `end`, the next read always under way while a chunk is used. Closes the
 * file at its end. With `reuse` a chunk is the consumer's only until it asks for the next: two buffers do for all.
 * Errors: MediaLost where the file has become shorter.
 */
export async function* readAhead(
  file: TreeFile,
  range: { offset: number; end: number },
  options: { label: string; signal?: AbortSignal | undefined; reuse?: boolean | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  const buffers: (Uint8Array | undefined)[] = [undefined, undefined];
  let turn = 0;
  const readAt = (offset: number) => {
    const length = Math.min(readBytes, range.end - offset);
    turn = 1 - turn;
    if (options.reuse === true)
      buffers[turn] ??= Buffer.allocUnsafeSlow(Math.min(readBytes, range.end - range.offset));
    const read = file.read(offset, length, buffers[turn]);
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
