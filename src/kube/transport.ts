import { readFile, stat } from 'node:fs/promises';
import { messageOf, SluiceError } from '../errors/error.ts';
import { type ClientTls, createHttpClient, type HttpClient, type HttpResponse } from '../http/client.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import { apiErrorOf } from './error.ts';
import { createExecCredential, type ExecPlugin } from './exec.ts';

/** Who and where: what every request of a client needs. */
export interface TransportOptions {
  /** `https://host:port`, without a path. */
  readonly server: string;
  readonly tls?: ClientTls;
  readonly token?: string;
  /** Read again when it changes, as mounted tokens do. */
  readonly tokenFile?: string;
  readonly exec?: ExecPlugin;
  /** Who calls, for the server's log: `sluice-controller/0.1.0`. Default `sluice`. */
  readonly userAgent?: string;
  readonly clock?: Clock;
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer begins, and between two pieces of it. Default 30 000. */
  readonly timeoutMs?: number;
}

export interface ApiRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, percent-encoded, without a query. */
  readonly path: string;
  readonly query?: Record<string, string | number | boolean | undefined>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** Milliseconds between two pieces of the body, where it is another; 0 never. */
  readonly stallTimeoutMs?: number;
}

export interface Transport {
  readonly server: string;
  /** Errors: ApiError for a status of 400 and more; SluiceError Unreachable. The body is not read yet. */
  send(request: ApiRequest): Promise<HttpResponse>;
  /** As `send`, and the body as text. Reads are tried again when the connection fails. */
  text(request: ApiRequest): Promise<string>;
  close(): Promise<void>;
}

const answerBytesMax = 64 * 1024 * 1024;
const errorBytesMax = 256 * 1024;
const timeoutMsDefault = 30_000;
/** Pauses before a read is tried again. Writes are never repeated: nobody knows whether they took place. */
const readRetryMs: readonly number[] = [100, 400];

/** HTTP to one API server under one identity. */
export function createTransport(options: TransportOptions): Transport {
  const clock = options.clock ?? systemClock;
  const token = tokenSource(options);
  const exec =
    options.exec === undefined ? undefined : createExecCredential(options.exec, options.server, clock);
  let http: HttpClient = createHttpClient(options.tls);
  let certificate = options.tls?.cert;

  async function identify(): Promise<Record<string, string>> {
    if (exec === undefined) {
      const value = await token();
      return value === undefined ? {} : { authorization: `Bearer ${value}` };
    }
    const credential = await exec.credential();
    if (credential.cert !== undefined && credential.cert !== certificate) {
      // Requests that stand go on with the old client; it is dropped with them.
      http = createHttpClient({ ...options.tls, cert: credential.cert, key: credential.key ?? '' });
      certificate = credential.cert;
    }
    return credential.token === undefined ? {} : { authorization: `Bearer ${credential.token}` };
  }

  async function sendOnce(request: ApiRequest): Promise<HttpResponse> {
    const timeoutMs = request.timeoutMs ?? timeoutMsDefault;
    const answer = await http.request({
      method: request.method,
      url: `${options.server}${request.path}${queryOf(request.query)}`,
      headers: {
        'user-agent': options.userAgent ?? 'sluice',
        accept: request.accept ?? 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        ...(await identify()),
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      headersTimeoutMs: timeoutMs,
      stallTimeoutMs: request.stallTimeoutMs ?? timeoutMs,
    });
    if (answer.status < 400) return answer;
    const text = await answer.text(errorBytesMax).catch(() => '');
    const retryAfter = answer.headers['retry-after'];
    const what = `${request.method} ${request.path}`;
    throw apiErrorOf(answer.status, text, what, typeof retryAfter === 'string' ? retryAfter : undefined);
  }

  async function send(request: ApiRequest): Promise<HttpResponse> {
    try {
      return await sendOnce(request);
    } catch (error) {
      const expired = exec !== undefined && (error as { status?: number }).status === 401;
      if (!expired) throw error;
      exec.forget(); // The plugin's credential was revoked before its own expiry: ask it once more.
      return await sendOnce(request);
    }
  }

  async function textOnce(request: ApiRequest): Promise<string> {
    const answer = await send(request);
    try {
      return await answer.text(answerBytesMax);
    } catch (error) {
      if (request.signal?.aborted || error instanceof SluiceError) throw error;
      throw new SluiceError('Unreachable', `${options.server} cut its answer short: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  return {
    server: options.server,
    send,
    async text(request) {
      const pauses = request.method === 'GET' ? readRetryMs : [];
      for (const pauseMs of pauses) {
        try {
          return await textOnce(request);
        } catch (error) {
          const connectionFailed =
            error instanceof SluiceError && error.name !== 'ApiError' && error.code === 'Unreachable';
          if (!connectionFailed || request.signal?.aborted) throw error;
          await clock.sleep(pauseMs, request.signal);
        }
      }
      return await textOnce(request);
    },
    async close() {
      await http.close();
    },
  };
}

function queryOf(query: ApiRequest['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** The bearer token: fixed, or that of a file, which is read again when it has changed. */
function tokenSource(options: TransportOptions): () => Promise<string | undefined> {
  const file = options.tokenFile;
  if (file === undefined) return () => Promise.resolve(options.token);
  let seen: { mtimeMs: number; token: string } | undefined;
  return async () => {
    try {
      const { mtimeMs } = await stat(file);
      if (seen?.mtimeMs !== mtimeMs) seen = { mtimeMs, token: (await readFile(file, 'utf8')).trim() };
      return seen.token;
    } catch (error) {
      if (seen !== undefined) return seen.token; // Between two links of a mounted volume there is a gap.
      throw new SluiceError('Unauthorized', `the token file ${file} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    }
  };
}
