import { finished, type Readable } from 'node:stream';

/** Bytes that gather for a reader that is busy before the connection is told to wait. */
const gatheredMax = 512 * 1024;

/**
 * A body in pieces, each of all that has come by then: TLS hands out 16 KiB at a time, and whoever takes each by itself
 * spends more on the taking than on the bytes. Whoever stops in the middle ends the connection; a body that stalls fails.
 *
 * @param stallTimeoutMs milliseconds without a byte; 0 never.
 */
export async function* piecesOf(body: Readable, stallTimeoutMs: number): AsyncGenerator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let size = 0;
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
  const take = (chunk: Uint8Array) => {
    // Who waits is told when all has been taken that is there now.
    if (size === 0) setImmediate(tell);
    gathered.push(chunk);
    size += chunk.length;
    if (size >= gatheredMax) body.pause();
  };
  const forget = finished(body, { writable: false }, (error) => {
    end = { error };
    tell();
  });
  try {
    body.on('data', take);
    for (;;) {
      if (size === 0 && end === undefined) {
        waiting = Promise.withResolvers();
        body.resume();
        await waiting.promise;
        waiting = undefined;
      }
      if (size > 0) {
        const [first] = gathered;
        const piece = gathered.length === 1 && first !== undefined ? first : Buffer.concat(gathered, size);
        gathered = [];
        size = 0;
        isReaderBusy = true;
        yield piece;
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
    body.off('data', take);
    if (end === undefined) body.destroy();
  }
}
