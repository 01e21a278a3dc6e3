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
  const iterator = stream[Symbol.asyncIterator]();
  let finished = false;
  try {
    for (;;) {
      const step = await nextWithin(iterator, options);
      if (step.done === true) {
        finished = true;
        return;
      }
      yield step.value;
    }
  } finally {
    // A source that hangs may never answer this either, so nobody waits for it.
    if (!finished) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

async function nextWithin(
  iterator: AsyncIterator<Uint8Array>,
  options: { readonly stallMs: number; readonly what: string; readonly signal: AbortSignal },
): Promise<IteratorResult<Uint8Array>> {
  options.signal.throwIfAborted();
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new SluiceError('Stalled', `${options.what} sent nothing for ${options.stallMs / 1000} seconds`));
  }, options.stallMs);
  const aborted = () => reject(options.signal.reason);
  options.signal.addEventListener('abort', aborted, { once: true });
  try {
    return await Promise.race([iterator.next(), limit]);
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', aborted);
  }
}
