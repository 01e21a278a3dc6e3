import { readFile, stat } from 'node:fs/promises';
import { messageOf, SluiceError } from '../errors/error.ts';
import { type ClientTls, createHttpClient, type HttpClient, type HttpResponse } from '../http/client.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import { ApiError, apiErrorOf } from './error.ts';
import { type Credential, createExecCredential, type ExecPlugin } from './exec.ts';

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
  /** Asked right before a write leaves this process; it throws where the write may not be made any more. */
  readonly fence?: () => void;
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

  /** Who we are now: with a new credential where the server has refused this one. */
  async function identify(refused?: Credential): Promise<Credential> {
    if (exec === undefined) {
      const value = await token(refused?.token);
      return value === undefined ? {} : { token: value };
    }
    if (refused !== undefined) exec.forget(refused);
    const credential = await exec.credential();
    if (credential.cert !== undefined && credential.cert !== certificate) {
      // Requests that stand go on with the old client; it is dropped with them.
      http = createHttpClient({ ...options.tls, cert: credential.cert, key: credential.key ?? '' });
      certificate = credential.cert;
    }
    return credential;
  }

  async function sendAs(credential: Credential, request: ApiRequest): Promise<HttpResponse> {
    const timeoutMs = request.timeoutMs ?? timeoutMsDefault;
    if (request.method !== 'GET') request.fence?.();
    const answer = await http.request({
      method: request.method,
      url: `${options.server}${request.path}${queryOf(request.query)}`,
      headers: {
        'user-agent': options.userAgent ?? 'sluice',
        accept: request.accept ?? 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        ...(credential.token === undefined ? {} : { authorization: `Bearer ${credential.token}` }),
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
    const credential = await identify();
    try {
      return await sendAs(credential, request);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      // It was revoked or rotated before its time, or a clock was set: is there another one now?
      const other = await identify(credential).catch(() => credential);
      if (other.token === credential.token && other.cert === credential.cert) throw error;
      return await sendAs(other, request);
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

/** The bearer token: fixed, or that of a file, which is read again when it has changed or `refused` is what it gave. */
function tokenSource({
  token,
  tokenFile: file,
}: TransportOptions): (refused?: string) => Promise<string | undefined> {
  if (file === undefined) return () => Promise.resolve(token);
  let seen: { mtimeMs: number; ino: number; token: string } | undefined;
  return async (refused) => {
    try {
      const { mtimeMs, ino } = await stat(file);
      // The times of a file do not always tell: a copy can keep them.
      const known = seen?.mtimeMs === mtimeMs && seen.ino === ino && seen.token !== refused;
      if (!known) seen = { mtimeMs, ino, token: (await readFile(file, 'utf8')).trim() };
      return seen?.token;
    } catch (error) {
      if (seen !== undefined) return seen.token; // Between two links of a mounted volume there is a gap.
      throw new SluiceError('Unauthorized', `the token file ${file} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    }
  };
}
