import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import { drained } from '../http/drained.ts';
import { ApiError } from '../kube/error.ts';
import type { Transport } from '../kube/transport.ts';
import { lines, watchLineBytesMax } from '../kube/watch.ts';
import { readablePath } from './cluster-reads.ts';
import { slimJson } from './slim.ts';

/**
 * All watches of one tab over one connection: a browser opens at most six to an origin (HTTP/1.1), and a page watches
 * more kinds than that. The tab opens the stream, then tells by single requests which watches it should carry.
 *
 * Lines of the stream are JSON: `{"stream":id}` first; `{"watch":n,"open":true}` when the cluster API has taken a watch
 * up; `{"watch":n,"event":{type,object}}` as it sent it; `{"watch":n,"ended":true}` or `{"watch":n,"error":{status,reason,message}}` where one is over; `{"alive":true}`
 * from time to time, by which the tab knows that silence is no dead connection.
 */
export interface Streams {
  /** Answers a request with a stream that stays open. */
  open(owner: string, transport: Transport, response: ServerResponse): void;
  /** Errors: NotFound (a tab opens a new one), InputInvalid, Forbidden. */
  change(owner: string, stream: string, body: unknown): void;
  close(): void;
}

interface Stream {
  readonly owner: string;
  readonly transport: Transport;
  readonly response: ServerResponse;
  readonly closed: AbortController;
  readonly watches: Map<number, AbortController>;
}

const streamsMax = 500;
const watchesMax = 64;
const aliveMs = 10_000;
/** Seconds after which the API server ends a watch, and as many more at most: not all of them at once. */
const watchSeconds = 300;

export function createStreams(): Streams {
  const streams = new Map<string, Stream>();
  return {
    open(owner, transport, response) {
      if (streams.size >= streamsMax) {
        throw new SluiceError('Unreachable', `${streamsMax} tabs are open already`);
      }
      const id = randomBytes(16).toString('base64url');
      const stream: Stream = {
        owner,
        transport,
        response,
        closed: new AbortController(),
        watches: new Map(),
      };
      streams.set(id, stream);
      response.writeHead(200, {
        'content-type': 'application/x-ndjson',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no', // nginx would hold lines back.
      });
      const send = (line: object) => response.write(`${JSON.stringify(line)}\n`);
      send({ stream: id });
      const timer = setInterval(() => send({ alive: true }), aliveMs);
      response.on('close', () => {
        clearInterval(timer);
        streams.delete(id);
        stream.closed.abort();
      });
    },
    change(owner, id, body) {
      const stream = streams.get(id);
      if (stream === undefined || stream.owner !== owner) {
        throw new SluiceError('NotFound', 'there is no such stream', { next: 'Open a new one.' });
      }
      const { add, remove } = readChange(body);
      for (const watch of remove) {
        stream.watches.get(watch)?.abort();
        stream.watches.delete(watch);
      }
      if (stream.watches.size + add.length > watchesMax) {
        throw new SluiceError('InputTooLarge', `a stream carries at most ${watchesMax} watches`);
      }
      for (const each of add) {
        if (stream.watches.has(each.watch)) throw invalid('a number of a watch that is in use');
        const abort = new AbortController();
        stream.watches.set(each.watch, abort);
        void carry(stream, each, AbortSignal.any([abort.signal, stream.closed.signal]));
      }
    },
    close() {
      for (const { response } of streams.values()) response.end();
    },
  };
}

interface WantedWatch {
  readonly watch: number;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

async function carry(stream: Stream, wanted: WantedWatch, signal: AbortSignal): Promise<void> {
  const { response, transport } = stream;
  const { watch } = wanted;
  const timeoutSeconds = watchSeconds + Math.floor(Math.random() * watchSeconds);
  try {
    const answer = await transport.send({
      method: 'GET',
      path: wanted.path,
      query: { ...wanted.query, watch: true, allowWatchBookmarks: true, timeoutSeconds },
      stallTimeoutMs: (timeoutSeconds + 30) * 1000,
      signal,
    });
    response.write(`{"watch":${watch},"open":true}\n`);
    for await (const line of lines(answer.body, watchLineBytesMax)) {
      if (signal.aborted) return;
      // The event is JSON already, as the API server wrote it but for what no page shows.
      if (!response.write(`{"watch":${watch},"event":${slimJson(line.trim())}}\n`))
        await drained(response, signal);
    }
    if (!signal.aborted) response.write(`{"watch":${watch},"ended":true}\n`);
  } catch (error) {
    if (!signal.aborted) response.write(`${JSON.stringify({ watch, error: told(error) })}\n`);
  } finally {
    if (!signal.aborted) stream.watches.delete(watch);
  }
}

function told(error: unknown): { status: number; reason: string; message: string } {
  if (error instanceof ApiError)
    return { status: error.status, reason: error.reason, message: error.message };
  const message = isSluiceError(error) ? error.message : `the watch was cut: ${messageOf(error)}`;
  return { status: 503, reason: 'ServiceUnavailable', message };
}

function readChange(body: unknown): { add: WantedWatch[]; remove: number[] } {
  const { add = [], remove = [] } = (body ?? {}) as { add?: unknown; remove?: unknown };
  if (!Array.isArray(add) || !Array.isArray(remove)) throw invalid('add and remove as lists');
  return { add: add.map(readWanted), remove: remove.map(readNumber) };
}

function readNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw invalid('numbers of watches');
  return value;
}

function readWanted(value: unknown): WantedWatch {
  const { watch, path, query = {} } = (value ?? {}) as Record<string, unknown>;
  if (typeof path !== 'string') throw invalid('the path of a watch');
  const words = Object.entries(query as Record<string, unknown>).filter(([name]) => allowedWords.has(name));
  return {
    watch: readNumber(watch),
    path: readablePath(path),
    query: Object.fromEntries(words.map(([name, word]) => [name, String(word)])),
  };
}

const allowedWords = new Set(['resourceVersion', 'fieldSelector', 'labelSelector']);

function invalid(what: string): SluiceError {
  return new SluiceError('InputInvalid', `the change of a stream needs ${what}`);
}
