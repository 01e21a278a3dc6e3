import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { messageOf, SluiceError } from '../errors/error.ts';
import { createLogger, type Logger } from '../observe/log.ts';
import { createServer, secureRuntime } from './runtime.ts';

export interface TlsMaterial {
  /** PEM, the leaf first. */
  readonly cert: string;
  readonly key: string;
  /** PEM of the authorities whose client certificates are accepted; none are asked for where it is absent. */
  readonly clientCa?: string;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export interface ServeOptions {
  /** `::` is every address, IPv4's too. */
  readonly address: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly handler: Handler;
  /** Absent: plain HTTP, for loopback only. */
  readonly tls?: TlsMaterial;
  /** Milliseconds within which the head of a request must have arrived. Default 20 000. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds within which a whole request must have arrived; 0 where uploads may last. Default 60 000. */
  readonly requestTimeoutMs?: number;
  /** Whether another process may listen there at the same time: a new one takes over from an old one. */
  readonly reusePort?: boolean;
  /** Connections that stand at once; more are closed as they come. Default 4096. */
  readonly connectionsMax?: number;
  /** Told of handlers that throw. Default: standard error. */
  readonly logger?: Logger;
}

const headersTimeoutMsDefault = 20_000;
const requestTimeoutMsDefault = 60_000;
/** A watch holds one for hours; a node and each of its controllers have some twenty. */
const connectionsMaxDefault = 4096;
/** Milliseconds that a handshake may take: whoever dribbles one holds a connection. */
const handshakeMsMax = 10_000;
/** Milliseconds between looks for connections that nobody uses, while a server is being closed. */
const idleCheckMs = 250;
/** Milliseconds between looks for requests that are late. */
const lateCheckMs = 5_000;

export interface RunningServer {
  readonly address: string;
  readonly port: number;
  /** Later handshakes use the new pair; connections that stand go on undisturbed. */
  reload(tls: TlsMaterial): void;
  /** Takes no more connections, waits `graceMs` for those that work, then cuts them. */
  close(graceMs?: number): Promise<void>;
}

/**
 * Starts a server. A handler that throws answers 500 and the server goes on; what it threw is logged, not sent, since
 * it may tell a stranger of files and addresses.
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const logger = options.logger ?? createLogger('http');
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    Promise.resolve()
      .then(() => options.handler(request, response))
      .catch((error: unknown) => {
        const { method, url = '' } = request;
        const stack = error instanceof Error ? error.stack : undefined;
        const path = url.split('?')[0];
        logger.error({ method, path, error: messageOf(error), stack }, 'a request failed');
        if (!response.headersSent) {
          response.writeHead(500, { 'content-type': 'text/plain' });
          response.end('internal error\n');
        } else {
          response.destroy();
        }
      });
  };
  const requestTimeout = options.requestTimeoutMs ?? requestTimeoutMsDefault;
  const headersTimeout = options.headersTimeoutMs ?? headersTimeoutMsDefault;
  const limits = {
    headersTimeout: requestTimeout === 0 ? headersTimeout : Math.min(headersTimeout, requestTimeout),
    requestTimeout, // Until a request is in; its answer, a watch for one, may last.
    connectionsCheckingInterval: lateCheckMs,
    keepAliveTimeout: 15_000,
    maxHeaderSize: 32 * 1024,
  };
  const server =
    options.tls === undefined
      ? createServer(limits, listener)
      : secureRuntime().createServer(
          { ...limits, handshakeTimeout: handshakeMsMax, ...secureOptions(options.tls) },
          listener,
        );
  server.maxConnections = options.connectionsMax ?? connectionsMaxDefault;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {}); // A foreign client's failed handshake is its own affair.
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const at = `${options.address}:${options.port}`;
      reject(
        error.code === 'EADDRINUSE'
          ? new SluiceError('Conflict', `the address ${at} is taken by another program`, {
              cause: error,
              next: 'End that program, or choose another address.',
            })
          : error,
      );
    });
    const { port, address, reusePort = false } = options;
    // Without a host Node.js listens on all addresses of either family, and on a machine without IPv6 on all of IPv4.
    const host = address === '::' ? undefined : address;
    server.listen({ port, host, reusePort }, resolve);
  });
  const bound = server.address() as AddressInfo;
  return {
    address: bound.address,
    port: bound.port,
    reload: (tls) => (server as TlsServer).setSecureContext(secureOptions(tls)),
    close: (graceMs = 1000) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const socket of sockets) socket.destroy();
        }, graceMs);
        // A connection that is kept alive is idle only when its request has ended, which may be later.
        const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
        server.close(() => {
          clearTimeout(timer);
          clearInterval(idle);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** AES-128 first: as safe, and a third faster than AES-256 where gigabytes are served. Others for those who lack it. */
const serverCiphers = [
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  constants.defaultCipherList,
].join(':');

function secureOptions(tls: TlsMaterial) {
  return {
    cert: tls.cert,
    key: tls.key,
    minVersion: 'TLSv1.2' as const,
    ciphers: serverCiphers,
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: false }),
  };
}

/** Reads a whole body. Errors: InputTooLarge past `bytesMax`. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > bytesMax) {
      throw new SluiceError('InputTooLarge', `the request body is larger than ${bytesMax} bytes`);
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
