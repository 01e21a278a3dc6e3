import { isIP } from 'node:net';
import { Agent, type Dispatcher, ProxyAgent, request as undiciRequest } from 'undici';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import type { ProxyChoice } from './proxy.ts';

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
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Raw bytes as they came: nothing is decompressed (facts, M18). */
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

/**
 * A client with its own connections and one identity. No proxy is used unless `proxy` chooses one: most of what
 * is spoken to are nodes and the loopback.
 */
export function createHttpClient(
  tls: ClientTls = {},
  options: { connectTimeoutMs?: number; proxy?: ProxyChoice } = {},
): HttpClient {
  const { anyCertificate, ...identity } = tls;
  const connect = {
    ...identity,
    ...(anyCertificate === true ? { rejectUnauthorized: false } : {}),
    timeout: options.connectTimeoutMs ?? 5_000,
  };
  const pool = { keepAliveTimeout: 10_000, pipelining: 1 };
  const agent = new Agent({ connect, ...pool });
  const proxies = new Map<string, ProxyAgent>();
  const dispatcherOf = (url: string): Dispatcher => {
    const uri = options.proxy?.(new URL(url));
    if (uri === undefined) return agent;
    const known = proxies.get(uri) ?? new ProxyAgent({ uri, requestTls: connect, ...pool });
    proxies.set(uri, known);
    return known;
  };
  return {
    async request(request) {
      let answer: Dispatcher.ResponseData;
      try {
        answer = await undiciRequest(request.url, {
          method: request.method ?? 'GET',
          headers: { 'accept-encoding': 'identity', ...request.headers },
          body: request.body ?? null,
          signal: request.signal ?? null,
          headersTimeout: request.headersTimeoutMs ?? 30_000,
          bodyTimeout: request.stallTimeoutMs ?? 30_000,
          dispatcher: dispatcherOf(request.url),
        });
      } catch (error) {
        if (request.signal?.aborted) throw error;
        throw unreachable(request.url, error);
      }
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: answer.body,
        async text(bytesMax = 16 * 1024 * 1024) {
          const chunks: Uint8Array[] = [];
          let size = 0;
          for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
            size += chunk.length;
            if (size > bytesMax) {
              answer.body.destroy();
              throw new SluiceError('InputTooLarge', `${request.url} answered more than ${bytesMax} bytes`);
            }
            chunks.push(chunk);
          }
          return Buffer.concat(chunks).toString('utf8');
        },
        async discard() {
          await answer.body.dump().catch(() => {});
        },
      };
    },
    async close() {
      await Promise.all([agent, ...proxies.values()].map((each) => each.destroy()));
    },
  };
}

function unreachable(url: string, error: unknown): SluiceError {
  const { host } = new URL(url);
  // What OpenSSL says of an answer that is plain HTTP (case P14).
  if (
    systemCode(error) === 'ERR_SSL_WRONG_VERSION_NUMBER' ||
    systemCode(error) === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
  ) {
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
