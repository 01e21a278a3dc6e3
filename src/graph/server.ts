import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../errors/error.ts';
import type { Handler } from '../http/server.ts';
import type { Logger } from '../observe/log.ts';
import { type GraphRelease, graphOf } from './graph.ts';

export interface GraphServerOptions {
  /** Asked at each request: media come and go. */
  readonly releases: () => Promise<readonly GraphRelease[]>;
  readonly logger: Logger;
}

/** Paths of the protocol, newest first; both answer alike. */
const graphPaths: readonly string[] = ['/api/upgrades_info/v1/graph', '/api/upgrades_info/graph'];
/** Media types that a client may ask for. */
const acceptable = [
  '*/*',
  'application/*',
  'application/json',
  'application/vnd.redhat.cincinnati.graph+json',
];
const parameterCharsMax = 128;

/** Answers the Cincinnati protocol. Errors are `{kind, value}`, as clients of it expect. */
export function createGraphHandler(options: GraphServerOptions): Handler {
  return async (request, response) => {
    const url = URL.parse(request.url ?? '', 'http://graph');
    if (url?.pathname === '/livez' || url?.pathname === '/readyz')
      return answer(response, 200, { status: 'ok' });
    if (url === null || !graphPaths.includes(url.pathname)) {
      return fail(response, 404, 'not_found', `there is nothing here; ask ${graphPaths[0]}`);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return fail(response, 405, 'method_not_allowed', 'only GET is answered');
    }
    if (!accepts(request))
      return fail(response, 406, 'invalid_content_type', 'the answer is application/json');
    const parameters = readParameters(url.searchParams);
    if (typeof parameters === 'string') return fail(response, 400, 'invalid_params', parameters);
    // A client names its channel, so that it is never offered more than it follows.
    if (parameters.channel === undefined) {
      return fail(response, 400, 'missing_params', 'mandatory client parameters missing: channel');
    }
    try {
      const { channel, arch, version } = parameters;
      const releases = await options.releases();
      const current = version === undefined ? undefined : { version };
      answer(response, 200, graphOf(releases, { channel, ...(arch === undefined ? {} : { arch }) }, current));
    } catch (error) {
      options.logger.error({ error: messageOf(error) }, 'the releases at hand cannot be read');
      fail(response, 500, 'failed_upstream_fetch', 'the releases at hand cannot be read');
    }
  };
}

interface Parameters {
  readonly channel?: string;
  readonly arch?: string;
  readonly version?: string;
}

function readParameters(query: URLSearchParams): Parameters | string {
  const found: Record<string, string> = {};
  for (const name of ['channel', 'arch', 'version'] as const) {
    const values = query.getAll(name);
    const [value] = values;
    if (value === undefined || value === '') continue;
    if (values.length > 1) return `the parameter ${name} is given twice`;
    if (value.length > parameterCharsMax || !/^[A-Za-z0-9][A-Za-z0-9+._-]*$/.test(value)) {
      return `the parameter ${name} is no plain word of at most ${parameterCharsMax} characters`;
    }
    found[name] = value;
  }
  return found;
}

function accepts({ headers }: IncomingMessage): boolean {
  const wanted = headers.accept;
  if (wanted === undefined || wanted.trim() === '') return true;
  return wanted
    .split(',')
    .some((part) => acceptable.includes((part.split(';')[0] ?? '').trim().toLowerCase()));
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

function fail(response: ServerResponse, status: number, kind: string, value: string): void {
  answer(response, status, { kind, value });
}
