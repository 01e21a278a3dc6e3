import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authorizer, UserInfo } from '../policy/rbac.ts';
import type { Engine } from '../rest/engine.ts';
import { nameOfFieldSelector } from '../selector.ts';
import { forbidden, StatusError, unauthorized } from '../status.ts';
import { anonymous, authenticate } from './authenticate.ts';
import { type Exchange, openExchange, warningsOf } from './exchange.ts';
import { impersonate } from './impersonate.ts';
import { isPublicPath, servePath } from './path.ts';
import { type RequestInfo, type ResourceRequest, readRequestInfo } from './request.ts';
import { serveResource } from './resource.ts';
import { sendStatus, statusOf } from './respond.ts';
import type { Tools } from './tools.ts';

export interface HandlerOptions {
  readonly engine: Engine;
  readonly tools: Tools;
}

/** Answers every request: who asks, may they, what is it, do it. */
export function createHandler(options: HandlerOptions) {
  const { engine } = options;
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let warnings = (): readonly string[] => [];
    try {
      await answer(options, request, response, (exchange) => {
        warnings = () => warningsOf(exchange.served, exchange.context);
      });
    } catch (error) {
      const status = statusOf(error);
      if (status.code >= 500) {
        const stack = error instanceof Error ? error.stack : undefined;
        engine.logger.error(
          { method: request.method, url: request.url, error: String(error), stack },
          'request failed',
        );
      }
      // A body that was not read would be taken for the next request.
      if (!request.readableEnded) response.shouldKeepAlive = false;
      if (response.headersSent) response.destroy();
      else sendStatus(response, status, warnings());
    }
  };
}

async function answer(
  { engine, tools }: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  onOpen: (exchange: Exchange) => void,
): Promise<void> {
  const info = readRequestInfo(request);
  if (info.kind === 'path' && isPublicPath(info.path)) {
    servePath(engine, tools, request, response, info);
    return;
  }
  const asking = await authenticate(request, tools);
  if (asking === anonymous) throw unauthorized();
  const user = impersonate(request, asking, tools.authorizer);
  authorize(tools.authorizer, user, info);
  if (info.kind === 'path') {
    servePath(engine, tools, request, response, info);
    return;
  }
  const exchange = openExchange(engine, request, response, info, user);
  onOpen(exchange);
  await serveResource(engine, tools, exchange);
}

/** @throws 403 */
function authorize(authorizer: Authorizer, user: UserInfo, info: RequestInfo): void {
  if (info.kind === 'path') {
    const decision = authorizer.authorize(user, { verb: info.verb, path: info.path });
    if (!decision.allowed) throw new StatusError(403, 'Forbidden', `forbidden: ${decision.reason}`, {});
    return;
  }
  const { verb, group, resource, subresource, namespace } = info;
  const name = info.name || selectedName(info);
  const decision = authorizer.authorize(user, { verb, group, resource, subresource, namespace, name });
  if (!decision.allowed) throw forbidden({ group, plural: resource }, name, decision.reason);
}

/** A list or a watch of one object by its name is judged by that name (kubernetes, apiserver RequestInfoFactory). */
function selectedName({ verb, query }: ResourceRequest): string {
  const selector = query.get('fieldSelector') ?? '';
  if ((verb !== 'list' && verb !== 'watch') || selector.includes('\\')) return '';
  return nameOfFieldSelector(selector) ?? '';
}
