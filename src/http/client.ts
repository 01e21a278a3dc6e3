import { isIP } from 'node:net';
import { Agent, type Dispatcher, request as undiciRequest } from 'undici';
import { messageOf, SluiceError } from '../errors/error.ts';

/** How a client proves itself and whom it believes. */
export interface ClientTls {
  /** PEM of the authorities to believe; the system's where absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate must carry, where the address that is dialled is another. */
  readonly servername?: string;
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

/** A client with its own connections and one identity. No proxy is ever used: it speaks to nodes and loopback. */
export function createHttpClient(
  tls: ClientTls = {},
  options: { connectTimeoutMs?: number } = {},
): HttpClient {
  const agent = new Agent({
    connect: { ...tls, timeout: options.connectTimeoutMs ?? 5_000 },
    keepAliveTimeout: 10_000,
    pipelining: 1,
  });
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
          dispatcher: agent,
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
      await agent.destroy();
    },
  };
}

function unreachable(url: string, error: unknown): SluiceError {
  const { host } = new URL(url);
  return new SluiceError('Unreachable', `${host} does not answer: ${messageOf(error)}`, { cause: error });
}

/** `host:port` of an address, with the brackets that IPv6 needs. */
export function hostPort(address: string, port: number): string {
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
