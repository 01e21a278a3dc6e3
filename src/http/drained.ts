import type { ServerResponse } from 'node:http';

/**
 * Resolves when what was written has gone out, the client has gone away, or the signal aborts: for a writer that was
 * told to wait. However often it is called for one response, no listener is left behind.
 */
export function drained(response: ServerResponse, signal?: AbortSignal): Promise<void> {
  // Of what has happened already no event will tell.
  if (!response.writableNeedDrain || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
