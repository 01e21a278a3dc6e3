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

/** Writes chunk by chunk as the client takes them, the next being read meanwhile by the stream itself. */
async function sendBytes(response: ServerResponse, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of bytes) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await drained(response);
  }
}

/** Resolves when the client has taken what was written, or has gone; one that takes nothing is sent away. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), stallMs);
    const done = () => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
    if (response.destroyed) done();
  });
}
