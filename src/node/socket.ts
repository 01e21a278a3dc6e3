import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import {
  type ErrorCode,
  errorTable,
  isSluiceError,
  messageOf,
  SluiceError,
  systemCode,
} from '../errors/error.ts';
import { createServer, request } from '../http/runtime.ts';
import { readBody } from '../http/server.ts';
import type { Logger } from '../observe/log.ts';

/** Answers one request; what it returns is sent as JSON. Errors go out as `{error: {code, message, next}}`. */
type NodeRoute = (body: unknown) => Promise<unknown>;

/** `METHOD /path` → what it does. */
export type NodeRoutes = Readonly<Record<string, NodeRoute>>;

export interface NodeSocket {
  readonly path: string;
  close(): Promise<void>;
}

/** Bytes of a request or an answer. */
const bodyBytesMax = 1024 * 1024;
/** A Unix socket's path ends in a field of 108 bytes (unix(7)), and where it is made needs one byte more. */
const pathBytesMax = 106;
/** Attaching reads and verifies media, which may be slow ones. */
const answerTimeoutMs = 300_000;

/** Where a node listens for its own machine. */
export function nodeSocketPath(runDir: string): string {
  return `${runDir}/node.sock`;
}

/**
 * Serves HTTP with JSON on a Unix socket that only its owner may open (0600).
 * Errors: Conflict where another process listens there.
 */
export async function serveNodeSocket(path: string, routes: NodeRoutes, logger: Logger): Promise<NodeSocket> {
  if (Buffer.byteLength(path) > pathBytesMax) {
    throw new SluiceError(
      'InputInvalid',
      `the path of the socket ${path} has more than ${pathBytesMax} bytes`,
      {
        next: 'Choose a directory with a shorter path.',
      },
    );
  }
  await mkdir(dirname(path), { recursive: true });
  if (await someoneListens(path)) {
    throw new SluiceError('Conflict', `another node process listens on ${path}`, {
      next: 'End it, or choose another directory.',
    });
  }
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, (incoming, response) => {
    void answer(routes, incoming, response, logger);
  });
  // Made where nobody else can reach it, so that it is closed to others from its first moment on. The mask of the
  // process would do that too, but to every file that is made meanwhile.
  const closed = await mkdtemp(`${dirname(path)}/.`); // join() would drop the dot, and make it beside the directory.
  const hidden = join(closed, 's');
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(hidden, resolve);
    });
    await chmod(hidden, 0o600);
    await rename(hidden, path); // Over what a process that was killed has left.
  } finally {
    await rm(closed, { recursive: true, force: true });
  }
  return {
    path,
    close: () =>
      new Promise((resolve) => {
        rmSync(path, { force: true });
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  routes: NodeRoutes,
  incoming: IncomingMessage,
  response: ServerResponse,
  logger: Logger,
): Promise<void> {
  const send = (status: number, value: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(value)}\n`);
  };
  try {
    const path = (incoming.url ?? '').split('?')[0];
    const route = routes[`${incoming.method} ${path}`];
    if (route === undefined)
      throw new SluiceError('NotFound', `the node does not know ${incoming.method} ${path}`);
    const body = await readBody(incoming, bodyBytesMax);
    send(200, (await route(body.length === 0 ? undefined : parseJson(body))) ?? {});
  } catch (error) {
    const known = isSluiceError(error) ? error : new SluiceError('Internal', messageOf(error));
    if (!isSluiceError(error)) logger.error({ error: messageOf(error) }, 'request on the socket failed');
    send(errorTable[known.code].http, {
      error: { code: known.code, message: known.message, next: known.next },
    });
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new SluiceError('InputInvalid', `the request is no JSON: ${messageOf(error)}`, { cause: error });
  }
}

/** Asks the node process of this machine. Errors: Unreachable where none listens, else what the node says. */
export async function askNode(path: string, route: string, body?: unknown): Promise<Record<string, unknown>> {
  const [method, url] = route.split(' ');
  return await new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    // Node sends the body of a DELETE without its length unless it is told.
    const headers = {
      host: 'node',
      ...(payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }),
    };
    const outgoing = request(
      { socketPath: path, method, path: url, timeout: answerTimeoutMs, headers },
      (response) => {
        readBody(response, bodyBytesMax).then((bytes) => {
          const value = parseJson(bytes) as Record<string, unknown>;
          if (response.statusCode === 200) resolve(value);
          else reject(asError(value, path));
        }, reject);
      },
    );
    outgoing.on('timeout', () =>
      outgoing.destroy(new SluiceError('Timeout', `the node at ${path} does not answer`)),
    );
    outgoing.on('error', (error) => reject(isSluiceError(error) ? error : unreachable(path, error)));
    outgoing.end(payload);
  });
}

function asError(value: Record<string, unknown>, path: string): SluiceError {
  const said = value.error as { code?: string; message?: string; next?: string } | undefined;
  const code = said?.code !== undefined && said.code in errorTable ? (said.code as ErrorCode) : 'Internal';
  return new SluiceError(code, said?.message ?? `the node at ${path} sent no reason`, {
    ...(said?.next === undefined ? {} : { next: said.next }),
  });
}

function unreachable(path: string, error: unknown): SluiceError {
  if (systemCode(error) === 'EACCES') {
    return new SluiceError('Forbidden', `${path} may only be used by root`, { cause: error });
  }
  return new SluiceError('Unreachable', `no node listens on ${path}: ${messageOf(error)}`, {
    cause: error,
    next: 'Run this on the machine of the node. Where its agent runs, say where that listens: --socket FILE.',
  });
}

/** Whether a process answers there, whatever it says. */
export async function someoneListens(path: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const probe = request({ socketPath: path, method: 'GET', path: '/', timeout: 1_000 }, (response) => {
      response.resume();
      resolve(true);
    });
    probe.on('timeout', () => probe.destroy(new Error('timeout')));
    probe.on('error', () => resolve(false));
    probe.end();
  });
}
