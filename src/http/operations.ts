import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../errors/error.ts';
import { type Metrics, metricsContentType } from '../observe/metrics.ts';
import { type Handler, type RunningServer, type ServeOptions, serve } from './server.ts';

/** Says in words of ours why something is not well; undefined where it is. */
export type HealthCheck = () => string | undefined | Promise<string | undefined>;

export interface Operations {
  readonly metrics: Metrics;
  /** Only a new start would mend what fails here. Default: none, to answer at all is enough. */
  readonly live?: Readonly<Record<string, HealthCheck>>;
  /** While one of these fails, others should not rely on this process. */
  readonly ready?: Readonly<Record<string, HealthCheck>>;
}

/** Milliseconds that one check may take: who probes does not wait much longer. */
const checkMsMax = 2_000;

/**
 * Answers GET and HEAD for `/livez`, `/readyz`, `/healthz` (both together) and `/metrics` in the forms that kubelets
 * and Prometheus know, and hands every other request on. A check that fails answers 500 and is named, with its reason;
 * `?verbose` names those that pass too.
 */
export function withOperations(operations: Operations, next: Handler = notFound): Handler {
  const { metrics, live = {}, ready = {} } = operations;
  const checks: Readonly<Record<string, Readonly<Record<string, HealthCheck>>>> = {
    '/livez': live,
    '/readyz': ready,
    '/healthz': { ...live, ...ready },
  };
  return async (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const asked = checks[path];
    if (
      (request.method !== 'GET' && request.method !== 'HEAD') ||
      (asked === undefined && path !== '/metrics')
    ) {
      return await next(request, response);
    }
    if (asked === undefined) return answer(response, 200, await metrics.render(), metricsContentType);
    const said = await Promise.all(
      Object.entries(asked).map(async ([name, check]) => ({ name, problem: await outcome(check) })),
    );
    const failed = said.some(({ problem }) => problem !== undefined);
    const lines = said.map(({ name, problem }) =>
      problem === undefined ? `[+]${name} ok` : `[-]${name}: ${problem}`,
    );
    const verdict = `${path.slice(1)} check ${failed ? 'failed' : 'passed'}`;
    const verbose = failed || new URLSearchParams(query).has('verbose');
    answer(response, failed ? 500 : 200, verbose ? `${[...lines, verdict].join('\n')}\n` : 'ok');
  };
}

/** Serves nothing but health and metrics, over plain HTTP: no secret is among them. Errors: Conflict. */
export async function serveOperations(
  listen: Pick<ServeOptions, 'address' | 'port' | 'reusePort'>,
  operations: Operations,
): Promise<RunningServer> {
  return await serve({ ...listen, handler: withOperations(operations) });
}

async function outcome(check: HealthCheck): Promise<string | undefined> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`no answer within ${checkMsMax / 1000} s`), checkMsMax);
  try {
    return await Promise.race([check(), late.promise]);
  } catch (error) {
    return messageOf(error);
  } finally {
    clearTimeout(timer);
  }
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

function notFound(_: IncomingMessage, response: ServerResponse): void {
  answer(response, 404, 'this address has /livez, /readyz, /healthz and /metrics\n');
}
