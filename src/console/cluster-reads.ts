import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { SluiceError } from '../errors/error.ts';
import { drained } from '../http/drained.ts';
import type { Transport } from '../kube/transport.ts';
import { slimJson } from './slim.ts';

/** A segment of a path of the API: names of groups, kinds and objects. */
const segment = '[A-Za-z0-9][A-Za-z0-9._:-]{0,252}';
const collection = new RegExp(
  `^/(?:api/v1|apis/${segment}/${segment})(?:/namespaces/${segment})?/(${segment})(?:/${segment}(?:/(log|status))?)?$`,
);
/** What a browser has no business with, whatever the rights of the person are. */
const withheld = new Set(['secrets']);
const queryMax = 2_000;
/** Types of answers that are passed on; nothing that a browser would show as a page. */
const passedTypes = /^(?:application\/json|text\/plain)\b/;

/**
 * The path of the cluster API behind a path below `api/cluster`. Errors: Forbidden for everything that is not a
 * collection, an object or the log of a Pod: the console only reads, and never through a proxy subresource.
 */
export function readablePath(path: string): string {
  const match = collection.exec(path);
  if (match === null || path.includes('..')) {
    throw new SluiceError('Forbidden', `the console does not read ${path.slice(0, 200)}`);
  }
  if (withheld.has(match[1] ?? '')) {
    throw new SluiceError('Forbidden', `the console does not read ${match[1]}`);
  }
  return path;
}

/** The query of a read as plain words. `watch` is taken out: streams are there for that. Errors: InputTooLarge. */
export function readQuery(query: string): Record<string, string> {
  if (query.length > queryMax) throw new SluiceError('InputTooLarge', 'the query is too long');
  const words = Object.fromEntries(new URLSearchParams(query));
  delete words.watch;
  delete words.follow;
  return words;
}

/** Whether an answer need not be compressed: it does not leave the machine, or is not wanted so. */
export function isNear(incoming: IncomingMessage): boolean {
  return !/\bgzip\b/.test(String(incoming.headers['accept-encoding'] ?? '')) || isOnThisMachine(incoming);
}

/** Whether who asks is where the console runs. */
export function isOnThisMachine({ headers, socket }: IncomingMessage): boolean {
  // A proxy is near, and whoever asks through it is not.
  if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  return /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
}

const gzipped = promisify(gzip);
/** Smaller answers are sent as they are. */
const compressFromBytes = 32 * 1024;
/** Of one page of a list; the page asks for so many objects that they stay far below. */
const answerBytesMax = 64 * 1024 * 1024;

/**
 * Passes one read to the cluster API and its answer back.
 *
 * @param isNear whoever asks is on this machine: compressing would only cost time.
 */
export async function passRead(
  transport: Transport,
  path: string,
  query: string,
  response: ServerResponse,
  isNear: boolean,
): Promise<void> {
  const abort = new AbortController();
  response.on('close', () => abort.abort());
  try {
    const answer = await transport.send({
      method: 'GET',
      path: readablePath(path),
      query: readQuery(query),
      accept: path.endsWith('/log') ? '*/*' : 'application/json',
      signal: abort.signal,
    });
    const type = String(answer.headers['content-type'] ?? '');
    const headers = {
      'content-type': passedTypes.test(type) ? type : 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
    };
    if (type.startsWith('application/json')) {
      const text = slimJson(await answer.text(answerBytesMax));
      if (isNear || text.length < compressFromBytes) return void response.writeHead(200, headers).end(text);
      const body = await gzipped(text, { level: constants.Z_BEST_SPEED });
      return void response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(body);
    }
    response.writeHead(200, headers);
    for await (const chunk of answer.body) {
      if (!response.write(chunk)) await drained(response, abort.signal);
    }
    response.end();
  } catch (error) {
    if (abort.signal.aborted) return;
    if (response.headersSent) return void response.destroy();
    throw error;
  }
}
