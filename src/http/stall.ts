import { SluiceError } from '../errors/error.ts';

/**
 * Passes a stream on, and fails where no byte comes for `stallMs`: the limit is on silence, not on the whole
 * transfer. Errors: Stalled, and whatever the stream or `signal` ends with.
 *
 * @param what for the message: 'blob sha256:… of registry https://…'.
 */
export async function* withStallLimit(
  stream: AsyncIterable<Uint8Array>,
  options: { readonly stallMs: number; readonly what: string; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const { stallMs, what, signal } = options;
  const iterator = stream[Symbol.asyncIterator]();
  let finished = false;
  // One timer and one listener for the whole stream: pieces are many and small where they come from a network.
  let fail: (error: unknown) => void = () => {};
  const timer = setTimeout(() => {
    fail(new SluiceError('Stalled', `${what} sent nothing for ${stallMs / 1000} seconds`));
  }, stallMs);
  const aborted = () => fail(signal.reason);
  signal.addEventListener('abort', aborted, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      timer.refresh(); // Also where it fired while the reader was busy: that is no silence.
      const step = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        fail = reject;
        iterator.next().then(resolve, reject);
      });
      if (step.done === true) {
        finished = true;
        return;
      }
      yield step.value;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', aborted);
    // A source that hangs may never answer this either, so nobody waits for it.
    if (!finished) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
