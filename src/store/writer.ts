import { rename, rm } from 'node:fs/promises';
import { faultPoint } from '../durable/fault.ts';
import { fsyncDirectory } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import type { Partial } from './partial.ts';
import { diskError, makeDirectory } from './place.ts';
import { readBytes } from './stream.ts';

/** One blob on its way to the disk. One call at a time. */
export interface BlobWriter {
  readonly digest: Digest;
  readonly size: number;
  /** Bytes that stood on disk already when it was opened: where the source is to be read from. */
  readonly offset: number;
  /**
   * Takes the next bytes, which are the caller's again when it resolves.
   * Errors: DiskFull, DigestMismatch (more bytes than the size); the partial file is then gone.
   */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Flushes, reads the file back and compares its hash, then makes the blob visible, durably. Errors: DigestMismatch,
   * DiskFull; the partial file is then gone. Where `offset` was not 0 the kept bytes may be the bad ones: begin once
   * more.
   */
  commit(): Promise<void>;
  /** Stops and keeps what has come, for a later `begin` to go on with. */
  suspend(): Promise<void>;
  /** Stops and drops what has come. */
  abort(): Promise<void>;
}

/** What the writer needs of its store. */
export interface WriterHome {
  /** Where the blob's file `data` is to stand. */
  readonly directory: string;
  /** The hexadecimal digits of a file's hash, read from the disk. */
  hash(path: string): Promise<string>;
  /** Told once, when the writer has ended: with the blob's file in place, or without. */
  ended(committed: boolean): Promise<void>;
  /** Runs what makes the blob visible, apart from removals. */
  publish(act: () => Promise<void>): Promise<void>;
  readonly pace?: WritePace | undefined;
}

/** Keeps others on the same disk from waiting: absent, bytes are written as they come and flushed at their end. */
export interface WritePace {
  /** Bytes that are written and flushed at a time. */
  readonly pieceBytes: number;
  /** Decides when something that waits for the disk may begin. */
  flush<T>(act: () => Promise<T>): Promise<T>;
}

/**
 * What comes is only written; the flushed file itself is hashed before it gets its name, so that one reading answers
 * for what came and for what was made of it (docs/decisions/0020). Small chunks are gathered to pieces, so that
 * the disk sees few and large writes whatever the network gives.
 */
export function createBlobWriter(
  digest: Digest,
  size: number,
  partial: Partial,
  home: WriterHome,
): BlobWriter {
  const { handle } = partial;
  const { pace } = home;
  const pieceBytes = pace?.pieceBytes ?? readBytes;
  let received = partial.offset;
  let gathered: Buffer | undefined;
  let gatheredBytes = 0;
  let open = true;

  async function writeGathered(): Promise<void> {
    if (gathered === undefined || gatheredBytes === 0) return;
    const bytes = gathered.subarray(0, gatheredBytes);
    gatheredBytes = 0;
    await writeAll(bytes);
  }

  async function writeAll(bytes: Uint8Array): Promise<void> {
    let done = 0;
    while (done < bytes.length) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done);
      done += bytesWritten;
    }
  }

  /** Takes bytes until a piece is full; one that comes whole needs no copy. */
  async function take(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + pieceBytes - gatheredBytes);
      at += piece.length;
      if (piece.length === pieceBytes) await put(() => writeAll(piece));
      else {
        gathered ??= Buffer.allocUnsafe(Math.min(pieceBytes, size));
        gathered.set(piece, gatheredBytes);
        gatheredBytes += piece.length;
        if (gatheredBytes === pieceBytes) await put(writeGathered);
      }
    }
  }

  /** Paced, it waits until the disk has it: much that is written at once keeps all others on the disk waiting. */
  async function put(write: () => Promise<void>): Promise<void> {
    await write();
    await pace?.flush(() => handle.datasync());
  }

  async function end(options: { keep: boolean; committed: boolean }): Promise<void> {
    if (!open) return;
    open = false;
    await handle.close().catch(() => {});
    if (!options.keep) await rm(partial.path, { force: true });
    await home.ended(options.committed);
  }

  async function failing<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      await end({ keep: false, committed: false });
      throw diskError(error, `${home.directory}/data`);
    }
  }

  return {
    digest,
    size,
    offset: partial.offset,

    write: (chunk) =>
      failing(async () => {
        if (!open) throw new Error('the writer has ended');
        if (received + chunk.length > size) {
          throw new SluiceError('DigestMismatch', `the blob ${digest} has more than its ${size} bytes`);
        }
        received += chunk.length;
        await take(chunk);
      }),

    commit: () =>
      failing(async () => {
        if (!open) throw new Error('the writer has ended');
        if (received !== size) {
          throw new SluiceError(
            'DigestMismatch',
            `the blob ${digest} ended after ${received} of ${size} bytes`,
          );
        }
        await writeGathered();
        faultPoint('store-blob-written');
        await (pace === undefined ? handle.sync() : pace.flush(() => handle.sync()));
        faultPoint('store-blob-synced');
        if ((await home.hash(partial.path)) !== hexOf(digest)) {
          throw new SluiceError('DigestMismatch', `what came as the blob ${digest} has another digest`);
        }
        await home.publish(async () => {
          const flushParents = await makeDirectory(home.directory);
          faultPoint('store-blob-directory');
          await rename(partial.path, `${home.directory}/data`);
          faultPoint('store-blob-renamed');
          await fsyncDirectory(home.directory);
          await flushParents();
        });
        faultPoint('store-blob-durable');
        await end({ keep: true, committed: true });
      }),

    async suspend() {
      await writeGathered().catch(() => {});
      await end({ keep: true, committed: false });
    },

    abort: () => end({ keep: false, committed: false }),
  };
}
