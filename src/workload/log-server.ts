import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { drained } from '../http/drained.ts';
import { type RunningServer, serve } from '../http/server.ts';
import { type LogOptions, readLog } from './logs.ts';

/** Common name of the API server's certificate, which is its client certificate too. */
const apiServerName = 'kube-apiserver';

/** One start of a container whose log is asked for. */
export interface LogPlace {
  readonly path: string;
  isRunning(): boolean;
}

export interface LogServerOptions {
  readonly address: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string };
  /** PEM of the authority of the cluster's client certificates. */
  readonly clientCa: string;
  /** The log of a container, or of its start before; a text says why there is none. */
  find(namespace: string, pod: string, container: string, previous: boolean): LogPlace | string;
}

/**
 * Serves `/containerLogs/<namespace>/<pod>/<container>` as a kubelet does, to the API server and nobody else.
 */
export async function serveLogs(options: LogServerOptions): Promise<RunningServer> {
  return await serve({
    address: options.address,
    port: options.port,
    tls: { ...options.tls, clientCa: options.clientCa },
    handler: (request, response) => answer(options, request, response),
  });
}

async function answer(
  options: LogServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const socket = request.socket as TLSSocket;
  if (!socket.authorized) return refuse(response, 401, 'Unauthorized');
  // Others read logs through the API server, which knows who may.
  const { CN } = socket.getPeerCertificate().subject ?? {};
  if (CN !== apiServerName) return refuse(response, 403, 'Forbidden');
  const url = new URL(request.url ?? '/', 'https://kubelet');
  if (url.pathname === '/healthz') {
    response.end('ok');
    return;
  }
  const match = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(url.pathname);
  if (match === null || (request.method !== 'GET' && request.method !== 'HEAD')) {
    return refuse(response, 404, 'Not Found');
  }
  const [namespace = '', pod = '', container = ''] = match.slice(1).map(decodeURIComponent);
  const query = url.searchParams;
  const wanted = logOptions(query);
  if (typeof wanted === 'string') return refuse(response, 400, wanted);
  const place = options.find(namespace, pod, container, query.get('previous') === 'true');
  if (typeof place === 'string') return refuse(response, 400, place);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.flushHeaders();
  for await (const text of readLog(place.path, wanted, place.isRunning, gone.signal)) {
    if (gone.signal.aborted) return;
    if (!response.write(text)) await drained(response);
  }
  response.end();
}

/** The options in a query; a text says what is wrong with it. */
function logOptions(query: URLSearchParams): LogOptions | string {
  const options: { -readonly [K in keyof LogOptions]: LogOptions[K] } = {
    follow: query.get('follow') === 'true',
    timestamps: query.get('timestamps') === 'true',
  };
  for (const name of ['tailLines', 'limitBytes', 'sinceSeconds'] as const) {
    const text = query.get(name);
    if (text === null) continue;
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 0) return `invalid ${name}: ${JSON.stringify(text)}`;
    if (name === 'sinceSeconds') options.since = Date.now() - value * 1000;
    else options[name] = value;
  }
  const sinceTime = query.get('sinceTime');
  if (sinceTime !== null) {
    const since = Date.parse(sinceTime);
    if (Number.isNaN(since)) return `invalid sinceTime: ${JSON.stringify(sinceTime)}`;
    options.since = since;
  }
  return options;
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' });
  response.end(`${message}\n`);
}
