import type { KubeObject, Status } from '../api/core.ts';
import { apiVersionOf, type KindRef } from '../api/kinds.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { apiErrorOfStatus } from './error.ts';
import type { Transport } from './transport.ts';

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Where to go on from: that of a list, an object or a bookmark. Absent: from some recent state. */
  readonly resourceVersion?: string;
  /** Seconds after which the server ends the watch. Default 300. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Everything up to this version has been sent. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

const timeoutSecondsDefault = 300;
/** A server that is silent for longer than the whole watch may last is gone: nobody told the socket. */
const silenceMarginMs = 30_000;
/**
 * So is one that sends no bookmark for this long: API servers send one a minute. Where a host is switched off or a
 * firewall forgets a connection nothing else tells, and going on from the last version costs one request.
 */
const silenceMsMax = 150_000;
/** An object of the API is at most 3 MiB large (etcd's request limit with room). */
export const watchLineBytesMax = 8 * 1024 * 1024;

/** Reads one watch to its end (API concepts, "Efficient detection of changes"). */
export async function* readWatch<T extends KubeObject>(
  transport: Transport,
  kind: KindRef<T>,
  path: string,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const timeoutSeconds = options.timeoutSeconds ?? timeoutSecondsDefault;
  const answer = await transport.send({
    method: 'GET',
    path,
    query: {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds,
      resourceVersion: options.resourceVersion,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
    },
    stallTimeoutMs: Math.min(silenceMsMax, timeoutSeconds * 1000 + silenceMarginMs),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const what = `watch of ${kind.plural}`;
  const names = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  try {
    for await (const line of lines(answer.body, watchLineBytesMax)) {
      const event = parseEvent<T>(line, what);
      if (event.type === 'BOOKMARK') yield event;
      else yield { type: event.type, object: { ...names, ...event.object } };
    }
  } catch (error) {
    if (options.signal?.aborted || error instanceof SluiceError) throw error;
    throw new SluiceError('Unreachable', `the ${what} was cut: ${messageOf(error)}`, { cause: error });
  }
}

function parseEvent<T extends KubeObject>(line: string, what: string): WatchEvent<T> {
  let event: { type: string; object: unknown };
  try {
    event = JSON.parse(line);
  } catch (error) {
    throw new SluiceError('Unreachable', `the ${what} sent a line that is no JSON: ${messageOf(error)}`);
  }
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event.type, object: event.object as T };
    case 'BOOKMARK':
      return { type: 'BOOKMARK', resourceVersion: (event.object as T).metadata.resourceVersion ?? '' };
    case 'ERROR':
      throw apiErrorOfStatus(event.object as Status, what);
    default:
      throw new SluiceError('Unreachable', `the ${what} sent an event of the unknown type ${event.type}`);
  }
}

/**
 * Whole lines of a stream. What follows the last line feed is dropped: a line that was cut is no event, and the
 * next watch brings it again.
 */
export async function* lines(body: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pending.push(chunk.subarray(start, end));
      const line = Buffer.concat(pending).toString('utf8');
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start === chunk.length) continue;
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > bytesMax) {
      throw new SluiceError('InputTooLarge', `a line of the stream is longer than ${bytesMax} bytes`);
    }
  }
}
