import type { IncomingMessage, ServerResponse } from 'node:http';
import { metricsContentType } from '../../observe/metrics.ts';
import { aggregatedDiscovery, coreVersions, groupDocument, groupList, resourceList } from '../discovery.ts';
import { openApiAt } from '../openapi-scope.ts';
import { emptyOpenApiV2 } from '../openapi-v2.ts';
import type { Engine } from '../rest/engine.ts';
import { methodNotAllowed, pathNotFound } from '../status.ts';
import { versionInfo } from '../version.ts';
import type { PathRequest } from './request.ts';
import { negotiate, sendJson } from './respond.ts';
import type { Tools } from './tools.ts';

/** Paths that anyone may read. */
const publicPaths = new Set(['/healthz', '/livez', '/readyz', '/version']);

export function isPublicPath(path: string): boolean {
  return publicPaths.has(path.replace(/\/$/, ''));
}

/** Answers a path that names no resource. @throws 404, 405 */
export function servePath(
  engine: Engine,
  tools: Tools,
  request: IncomingMessage,
  response: ServerResponse,
  info: PathRequest,
): void {
  if (info.verb !== 'get' && info.verb !== 'head') throw methodNotAllowed();
  const path = info.path.length > 1 ? info.path.replace(/\/$/, '') : info.path;
  if (path === '/healthz' || path === '/livez' || path === '/readyz') {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.end('ok');
    return;
  }
  if (path === '/metrics' && tools.metrics !== undefined) {
    // Who may: whoever RBAC lets read the path, as with the real one.
    tools.metrics.render().then(
      (text) => response.writeHead(200, { 'content-type': metricsContentType }).end(text),
      () => response.destroy(),
    );
    return;
  }
  const issuer = tokenIssuerDocument(tools, path);
  if (issuer !== undefined) {
    sendJson(response, 200, JSON.stringify(issuer));
    return;
  }
  const described = openApiAt(engine.resources, path);
  if (described !== undefined) {
    sendJson(
      response,
      200,
      described.json,
      described.hash === '' ? {} : { headers: { etag: `"${described.hash}"` } },
    );
    return;
  }
  if (path === '/openapi/v2') {
    const { type, body } = emptyOpenApiV2(request.headers.accept);
    response.writeHead(200, { 'content-type': type, vary: 'Accept' });
    response.end(body);
    return;
  }
  const document = path === '/version' ? versionInfo : discoveryOf(engine, request, response, path);
  if (document === undefined) throw pathNotFound();
  if (document !== 'sent') sendJson(response, 200, JSON.stringify(document));
}

/** What others need to verify ServiceAccount tokens (OpenID Connect Discovery 1.0). */
function tokenIssuerDocument({ tokens, audiences }: Tools, path: string): unknown {
  if (tokens === undefined) return undefined;
  if (path === '/openid/v1/jwks') return tokens.jwks;
  if (path !== '/.well-known/openid-configuration') return undefined;
  const [issuer] = audiences;
  return {
    issuer,
    jwks_uri: `${issuer}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}

function discoveryOf(
  engine: Engine,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): unknown {
  const { resources } = engine;
  if (path === '/api' || path === '/apis') {
    const { discovery } = negotiate(request.headers.accept);
    if (discovery !== undefined) {
      const body = JSON.stringify(aggregatedDiscovery(resources, path === '/api', discovery));
      const type = `application/json;g=apidiscovery.k8s.io;v=${discovery};as=APIGroupDiscoveryList`;
      sendJson(response, 200, body, { headers: { 'content-type': type, vary: 'Accept' } });
      return 'sent';
    }
    const { localAddress, localPort } = request.socket;
    return path === '/api' ? coreVersions(`${localAddress}:${localPort}`) : groupList(resources);
  }
  const [, root, first, second, ...rest] = path.split('/');
  if (rest.length > 0) return undefined;
  if (root === 'api' && first !== undefined && second === undefined) return resourceList(resources, first);
  if (root !== 'apis' || first === undefined) return undefined;
  return second === undefined
    ? groupDocument(resources, first)
    : resourceList(resources, `${first}/${second}`);
}
