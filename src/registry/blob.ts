import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Digest } from '../oci/digest.ts';
import { sendError } from './answer.ts';
import { readRange } from './range.ts';
import type { ServedBlob } from './tree.ts';

/** Milliseconds without a byte taken after which a client is given up. */
const stallMs = 60_000;

/**
 * Sends a blob, or the part that is asked for. Once the head is out an error can only end the connection, so
 * that the client sees a body that is too short, never one that looks whole.
 */
export async function sendBlob(
  request: IncomingMessage,
  response: ServerResponse,
  digest: Digest,
  blob: ServedBlob,
): Promise<void> {
  const etag = `"${digest}"`;
  const headers = {
    'content-type': 'application/octet-stream',
    'docker-content-digest': digest,
    'accept-ranges': 'bytes',
    etag,
  };
  try {
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, headers).end();
      return;
    }
    if (request.method === 'HEAD') {
      response.writeHead(200, { ...headers, 'content-length': String(blob.size) }).end();
      return;
    }
    const ifRange = request.headers['if-range'];
    const range = readRange(
      request.headers.range,
      typeof ifRange === 'string' ? ifRange : undefined,
      etag,
      blob.size,
    );
    if (range.kind === 'unsatisfiable') {
      sendError(response, 'RANGE_INVALID', `the blob has ${blob.size} bytes`, {
        headers: { 'content-range': `bytes */${blob.size}` },
      });
      return;
    }
    const { offset, end } = range.kind === 'part' ? range : { offset: 0, end: blob.size };
    response.writeHead(range.kind === 'part' ? 206 : 200, {
      ...headers,
      'content-length': String(end - offset),
      ...(range.kind === 'part' ? { 'content-range': `bytes ${offset}-${end - 1}/${blob.size}` } : {}),
    });
    await sendBytes(response, blob.read({ offset, end }));
    response.end();
  } finally {
    await blob.close();
  }
}

/** Writes chunk by chunk, each when the client has taken the one before; the stream itself reads ahead meanwhile. */
async function sendBytes(response: ServerResponse, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let moved = 0;
  let seen = 0;
  let wake = () => {};
  const onClose = () => wake();
  response.on('close', onClose);
  // One timer for the whole answer: a client that takes nothing between two looks is sent away.
  const stalled = setInterval(() => {
    if (moved === seen && response.writableLength > 0) response.destroy();
    seen = moved;
  }, stallMs);
  try {
    for await (const chunk of bytes) {
      if (response.destroyed) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        response.write(chunk, () => resolve());
      });
      moved += chunk.length;
    }
  } finally {
    clearInterval(stalled);
    response.off('close', onClose);
  }
}
