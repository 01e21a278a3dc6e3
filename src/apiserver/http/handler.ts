import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TokenIssuer } from '../policy/token.ts';
import type { Engine } from '../rest/engine.ts';
import { unauthorized } from '../status.ts';
import { anonymous, authenticate } from './authenticate.ts';
import { openExchange } from './exchange.ts';
import { isPublicPath, servePath } from './path.ts';
import { readRequestInfo } from './request.ts';
import { serveResource } from './resource.ts';
import { sendStatus, statusOf } from './respond.ts';

export interface HandlerOptions {
  readonly engine: Engine;
  readonly tokens: TokenIssuer | undefined;
}

/** Answers every request: who asks, may they, what is it, do it. */
export function createHandler(options: HandlerOptions) {
  const { engine } = options;
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await answer(options, request, response);
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
      else sendStatus(response, status);
    }
  };
}

async function answer(
  { engine, tokens }: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const info = readRequestInfo(request);
  const user = await authenticate(request, tokens);
  if (user === anonymous && !(info.kind === 'path' && isPublicPath(info.path))) throw unauthorized();
  if (info.kind === 'path') {
    servePath(engine, request, response, info);
    return;
  }
  await serveResource(engine, openExchange(engine, request, response, info, user));
}
