import { finished, type Readable } from 'node:stream';

/** Bytes that gather for a reader that is busy before the connection is told to wait. */
const gatheredMax = 512 * 1024;
/** A connection that is told to wait hands out what it has read already: at most this much at a time. */
const oneReadMax = 64 * 1024;

export interface PiecesOptions {
  /** Milliseconds without a byte after which it fails; 0 never. */
  readonly stallTimeoutMs: number;
  /** The reader is done with a piece when it asks for the next, so that its memory may be used again. */
  readonly reuse: boolean;
}

/**
 * A body in pieces, each of all that has come by then: TLS hands out 16 KiB at a time, and whoever takes each by itself
 * spends more on the taking than on the bytes. Whoever stops in the middle ends the connection; a body that stalls fails.
 */
export async function* piecesOf(body: Readable, options: PiecesOptions): AsyncGenerator<Uint8Array> {
  const { stallTimeoutMs } = options;
  const gathered = gatherer(options.reuse);
  let end: { readonly error: unknown } | undefined;
  let waiting: PromiseWithResolvers<void> | undefined;
  let isReaderBusy = false;
  const timer =
    stallTimeoutMs === 0
      ? undefined
      : setTimeout(() => {
          // The reader's own slowness is no stall.
          if (isReaderBusy) timer?.refresh();
          else body.destroy(new Error(`no byte of the answer came for ${stallTimeoutMs} ms`));
        }, stallTimeoutMs);
  const tell = () => waiting?.resolve();
  const add = (chunk: Uint8Array) => {
    // Who waits is told when all has been taken that is there now.
    if (gathered.bytes() === 0) setImmediate(tell);
    gathered.add(chunk);
    if (gathered.bytes() >= gatheredMax) body.pause();
  };
  const forget = finished(body, { writable: false }, (error) => {
    end = { error };
    tell();
  });
  try {
    body.on('data', add);
    for (;;) {
      if (gathered.bytes() === 0 && end === undefined) {
        waiting = Promise.withResolvers();
        body.resume();
        await waiting.promise;
        waiting = undefined;
      }
      if (gathered.bytes() > 0) {
        isReaderBusy = true;
        yield gathered.take();
        isReaderBusy = false;
        timer?.refresh();
      } else if (end !== undefined) {
        if (end.error != null) throw end.error;
        return;
      }
    }
  } finally {
    clearTimeout(timer);
    forget();
    body.off('data', add);
    if (end === undefined) body.destroy();
  }
}

interface Gatherer {
  add(chunk: Uint8Array): void;
  bytes(): number;
  /** All that was added since; there must be something. */
  take(): Uint8Array;
}

/** With `reuse` two buffers take turns, one at the reader's: memory that is new for each piece keeps V8 collecting. */
function gatherer(reuse: boolean): Gatherer {
  let chunks: Uint8Array[] = [];
  let size = 0;
  const buffers: [Buffer?, Buffer?] = [];
  let turn: 0 | 1 = 0;
  return {
    bytes: () => size,
    add(chunk) {
      const [first] = chunks;
      // One that comes alone needs no copy.
      if (reuse && first !== undefined && size + chunk.length <= gatheredMax + oneReadMax) {
        buffers[turn] ??= Buffer.allocUnsafeSlow(gatheredMax + oneReadMax);
        const buffer = buffers[turn] as Buffer;
        if (first.buffer !== buffer.buffer) buffer.set(first);
        buffer.set(chunk, size);
        chunks = [buffer.subarray(0, size + chunk.length)];
      } else chunks.push(chunk);
      size += chunk.length;
    },
    take() {
      const [first] = chunks;
      const piece = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size);
      chunks = [];
      size = 0;
      turn = turn === 0 ? 1 : 0;
      return piece;
    },
  };
}
