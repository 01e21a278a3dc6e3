import type { ClientRequest, IncomingMessage, Agent as PlainAgent, RequestOptions } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { messageOf, SluiceError } from '../errors/error.ts';
import { piecesOf } from './pieces.ts';
import type { ProxyChoice } from './proxy.ts';
import { Agent, request as plainRequest } from './runtime.ts';

/** How a client proves itself and whom it believes. */
export interface ClientTls {
  /** PEM of the authorities to believe; the system's where absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate must carry, where the address that is dialled is another. */
  readonly servername?: string;
  /** Believe whatever certificate is shown: only where a person asked for it by the server's name. */
  readonly anyCertificate?: boolean;
}

export interface HttpRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Milliseconds until the head of the answer must be there. Default 30 000. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds without a byte of the body after which it fails. Default 30 000; 0 never. */
  readonly stallTimeoutMs?: number;
  /** Whoever reads the body is done with a piece when asking for the next, so that its memory may be used again. */
  readonly reuse?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Raw bytes as they came: nothing is decompressed. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body as text. Errors: InputTooLarge. */
  text(bytesMax?: number): Promise<string>;
  /** Reads and drops the rest, so that the connection can be used again. */
  discard(): Promise<void>;
}

export interface HttpClient {
  /** Errors: Unreachable, with the address and the cause in words. Redirects are never followed. */
  request(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface RenewableHttpClient extends HttpClient {
  /** Connections from now on use these certificates; requests under way end on those that they have. */
  renew(tls: ClientTls): void;
}

/** Milliseconds for which a connection waits for its next request; servers are told to wait longer than that. */
const idleMs = 10_000;
const connectTimeoutMsDefault = 5_000;
const headersTimeoutMsDefault = 30_000;
const stallTimeoutMsDefault = 30_000;
const textBytesMax = 16 * 1024 * 1024;
/** The most that is read and dropped to keep a connection; beyond that a new one is cheaper. */
const discardBytesMax = 128 * 1024;

/**
 * A client with its own connections and one identity. No proxy is used unless `proxy` chooses one: most of what
 * is spoken to are nodes and the loopback.
 */
export function createHttpClient(
  tls: ClientTls = {},
  options: { connectTimeoutMs?: number; proxy?: ProxyChoice } = {},
): RenewableHttpClient {
  let identity = tls;
  const pools = new Map<string, PlainAgent>();
  /** Of certificates that were renewed: their idle connections end by themselves. */
  let retired: PlainAgent[] = [];
  const connectTimeoutMs = options.connectTimeoutMs ?? connectTimeoutMsDefault;
  let secure: ReturnType<typeof secureOptions> | undefined;
  let closed = false;

  /** The connections to servers of one protocol, by the way of one proxy or of none. */
  function poolOf(url: URL): PlainAgent {
    const proxy = options.proxy?.(url);
    const key = `${url.protocol} ${proxy ?? ''}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    const common = {
      keepAlive: true,
      timeout: idleMs,
      ...(proxy === undefined ? {} : { proxyEnv: { http_proxy: proxy, https_proxy: proxy } }),
    };
    secure ??= secureOptions(identity);
    const pool = url.protocol === 'https:' ? new TlsAgent({ ...common, ...secure }) : new Agent(common);
    pools.set(key, pool);
    return pool;
  }

  function send(request: HttpRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const url = new URL(request.url);
    const start = url.protocol === 'https:' ? tlsRequest : plainRequest;
    const length = request.body === undefined ? undefined : Buffer.byteLength(request.body);
    const sending: RequestOptions = {
      agent: poolOf(url),
      method: request.method ?? 'GET',
      headers: {
        'accept-encoding': 'identity',
        ...(length === undefined ? {} : { 'content-length': length }),
        ...request.headers,
      },
    };
    const outgoing = start(url, sending);
    let incoming: IncomingMessage | undefined;
    const abort = () => (incoming ?? outgoing).destroy(reasonOf(request.signal));
    request.signal?.addEventListener('abort', abort, { once: true });
    const late = setTimeout(
      () => outgoing.destroy(new Error('it sent no answer in time')),
      request.headersTimeoutMs ?? headersTimeoutMsDefault,
    );
    limitConnecting(outgoing, connectTimeoutMs);
    outgoing.on('error', reject);
    outgoing.on('close', () => {
      clearTimeout(late);
      request.signal?.removeEventListener('abort', abort);
    });
    outgoing.on('response', (message: IncomingMessage) => {
      clearTimeout(late);
      incoming = message;
      message.on('error', () => {}); // Whoever reads the body is told; nobody has to.
      resolve(message);
    });
    outgoing.end(request.body);
    return promise;
  }

  return {
    async request(request) {
      request.signal?.throwIfAborted();
      let message: IncomingMessage;
      try {
        if (closed) throw new Error('this client is closed');
        message = await send(request);
      } catch (error) {
        if (request.signal?.aborted) throw error;
        throw unreachable(request.url, error);
      }
      return answerOf(message, request);
    },
    renew(next) {
      retired = [...retired.filter(isUsed), ...pools.values()];
      pools.clear();
      identity = next;
      secure = undefined;
    },
    async close() {
      closed = true;
      for (const pool of [...retired, ...pools.values()]) pool.destroy();
    },
  };
}

function isUsed(pool: PlainAgent): boolean {
  return [pool.sockets, pool.freeSockets].some((each) => Object.keys(each).length > 0);
}

/** One context for all connections: the certificates are parsed once. */
function secureOptions({ ca, cert, key, servername, anyCertificate }: ClientTls) {
  return {
    secureContext: createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    }),
    ...(servername === undefined ? {} : { servername }),
    ...(anyCertificate === true ? { rejectUnauthorized: false } : {}),
  };
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** A host that answers no knock must not use up the time that an answer may take. */
function limitConnecting(outgoing: ClientRequest, timeoutMs: number): void {
  outgoing.once('socket', (socket: Socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(
      () => outgoing.destroy(new Error('it cannot be connected to in time')),
      timeoutMs,
    );
    const done = () => clearTimeout(timer);
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', done);
    outgoing.once('close', done);
  });
}

function answerOf(message: IncomingMessage, request: HttpRequest): HttpResponse {
  const { stallTimeoutMs = stallTimeoutMsDefault, reuse = false } = request;
  const body = (mayReuse = false) => piecesOf(message, { stallTimeoutMs, reuse: mayReuse });
  return {
    status: message.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(message.headersDistinct).map(([name, values = []]) => [
        name,
        values.length === 1 ? values[0] : values,
      ]),
    ),
    body: { [Symbol.asyncIterator]: () => body(reuse) },
    async text(bytesMax = textBytesMax) {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of body()) {
        size += chunk.length;
        if (size > bytesMax) {
          throw new SluiceError('InputTooLarge', `${request.url} answered more than ${bytesMax} bytes`);
        }
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString('utf8');
    },
    async discard() {
      let size = 0;
      try {
        for await (const chunk of body()) {
          size += chunk.length;
          if (size > discardBytesMax) break;
        }
      } catch {
        // Nobody wanted it.
      }
    },
  };
}

/**
 * Whether this is what OpenSSL says of an answer that is plain HTTP; the code is that of the write or of the read that
 * came upon it.
 */
export function answersWithoutTls(error: unknown): boolean {
  return /wrong version number|packet length too long/i.test(messageOf(error));
}

function unreachable(url: string, error: unknown): SluiceError {
  const { host } = new URL(url);
  if (answersWithoutTls(error)) {
    return new SluiceError('Unreachable', `${host} answers without TLS on an address for TLS`, {
      cause: error,
    });
  }
  return new SluiceError('Unreachable', `${host} does not answer: ${messageOf(error)}`, { cause: error });
}

/** `host:port` of an address, with the brackets that IPv6 needs. */
export function hostPort(address: string, port: number): string {
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
