import { setTimeout as sleep } from 'node:timers/promises';
import { isSluiceError, SluiceError, systemCode } from '../errors/error.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../http/client.ts';
import { type Authorizer, basicHeader } from './authorizer.ts';

/** Reads one path of a registry. */
export type Get = (path: string, request?: Partial<HttpRequest>) => Promise<HttpResponse>;

export interface ExchangeOptions {
  /** 'https://host:port'. */
  readonly origin: string;
  /** For messages. */
  readonly label: string;
  readonly http: HttpClient;
  /** Sent to this very host and port only, with every request. */
  readonly auth?: { readonly username: string; readonly password: string } | undefined;
  /** Asked when the registry answers 401. */
  readonly authorizer?: Authorizer | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the registry may send readers elsewhere, as those with object stores do; without passwords then. */
  readonly redirectsAnywhere?: boolean | undefined;
  /** How often an answer that may pass (429, 5xx, no answer) is asked for again; default 0. */
  readonly retriesMax?: number | undefined;
}

const redirectsMax = 5;
const retryBaseMs = 500;
const retryMsMax = 30_000;
const passingCodes = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Speaks to a registry: credentials, redirects, second tries. A redirect within the origin is followed; one to
 * elsewhere only where that is allowed, with no header of ours but the range, and never from TLS to clear text.
 */
export function createExchange(options: ExchangeOptions): Get {
  const { origin, label, authorizer } = options;
  const fixed = options.auth === undefined ? {} : { authorization: basicHeader(options.auth) };

  async function once(path: string, request: Partial<HttpRequest>): Promise<HttpResponse> {
    const repository = /^\/v2\/(.+)\/(?:manifests|blobs|tags|referrers)\//.exec(path)?.[1] ?? '';
    let url = new URL(path, origin);
    for (let hop = 0; hop <= redirectsMax; hop += 1) {
      const isOwn = url.origin === origin;
      const learned = isOwn ? authorizer?.header(repository) : undefined;
      const own = isOwn
        ? { ...options.headers, ...fixed, ...(learned === undefined ? {} : { authorization: learned }) }
        : {};
      const answer = await options.http.request({
        ...request,
        url: url.href,
        headers: { ...own, ...request.headers },
      });
      if (answer.status < 300 || answer.status > 399 || answer.status === 304) return answer;
      await answer.discard();
      const target = new URL(String(answer.headers.location ?? ''), url);
      if (target.origin !== origin && !mayLeave(url, target)) {
        throw new SluiceError('Unreachable', `${label} sends to ${target.origin}, which is not followed`);
      }
      url = target;
    }
    throw new SluiceError('Unreachable', `${label} sends in a circle at ${path}`);
  }

  function mayLeave(from: URL, to: URL): boolean {
    return options.redirectsAnywhere === true && (to.protocol === 'https:' || to.protocol === from.protocol);
  }

  async function authorized(path: string, request: Partial<HttpRequest>): Promise<HttpResponse> {
    const answer = await once(path, request);
    if (answer.status !== 401 || authorizer === undefined) return answer;
    const repository = /^\/v2\/(.+)\/(?:manifests|blobs|tags|referrers)\//.exec(path)?.[1] ?? '';
    if (!(await authorizer.challenged(answer, repository))) return answer;
    await answer.discard();
    return await once(path, request);
  }

  return async (path, request = {}) => {
    const retriesMax = options.retriesMax ?? 0;
    for (let attempt = 0; ; attempt += 1) {
      let wait = Math.min(retryMsMax, retryBaseMs * 2 ** attempt);
      try {
        const answer = await authorized(path, request);
        if ((answer.status !== 429 && answer.status < 500) || attempt >= retriesMax) return answer;
        await answer.discard();
        const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
        if (seconds > 0) wait = Math.min(retryMsMax, seconds * 1000);
      } catch (error) {
        if (attempt >= retriesMax || !mayPass(error)) throw error;
      }
      await sleep(wait, undefined, request.signal === undefined ? {} : { signal: request.signal });
    }
  };
}

/** Whether it is worth asking again: a broken connection is, a refused one or a wrong certificate is not. */
function mayPass(error: unknown): boolean {
  if (!isSluiceError(error, 'Unreachable', 'Stalled')) return false;
  return error.code === 'Stalled' || passingCodes.has(systemCode(error.cause) ?? '');
}
