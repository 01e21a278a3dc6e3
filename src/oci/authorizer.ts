import { SluiceError } from '../errors/error.ts';
import type { HttpClient, HttpResponse } from '../http/client.ts';
import type { Credentials } from './auth-file.ts';
import { parseStrictJson } from './json.ts';

// How a registry is convinced: Basic (RFC 7617), or a Bearer token of the server that its answer names
// (distribution: docs/spec/auth/token.md and oauth.md).

/** Finds the Authorization header of one registry's requests. */
export interface Authorizer {
  /** Undefined where nothing was asked for yet. */
  header(repository: string): string | undefined;
  /** Takes a 401; answers whether the request is worth a second try. Errors: Unauthorized, Unreachable. */
  challenged(answer: HttpResponse, repository: string): Promise<boolean>;
}

export interface AuthorizerOptions {
  /** `host[:port]`, for messages. */
  readonly host: string;
  readonly http: HttpClient;
  /** Whether passwords may be sent without TLS: only where the registry itself was asked for so. */
  readonly insecure: boolean;
  /** Looked up when the registry asks; undefined: nobody in particular. */
  readonly credentials: (repository: string) => Promise<Credentials | undefined>;
}

const tokenBytesMax = 256 * 1024;
const headersMax = 16;

export interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Reads WWW-Authenticate (RFC 9110, section 11.6.1), as far as registries write it. */
export function parseChallenges(header: string | string[] | undefined): Challenge[] {
  const challenges: Challenge[] = [];
  for (const value of header === undefined ? [] : [header].flat().slice(0, headersMax)) {
    const form =
      /([A-Za-z0-9._~+-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))|([A-Za-z][A-Za-z0-9-]*)(?=\s|$)/g;
    let parameters = new Map<string, string>();
    for (const [, name, quoted, plain, scheme] of value.matchAll(form)) {
      if (scheme !== undefined) {
        parameters = new Map();
        challenges.push({ scheme: scheme.toLowerCase(), parameters });
      } else if (name !== undefined) {
        parameters.set(name.toLowerCase(), plain ?? (quoted ?? '').replace(/\\(.)/g, '$1'));
      }
    }
  }
  return challenges;
}

/** One per registry: its tokens are kept until they are refused. */
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const headers = new Map<string, string>();
  return {
    header: (repository) => headers.get(repository),
    async challenged(answer, repository) {
      const challenges = parseChallenges(answer.headers['www-authenticate']);
      const credentials = await options.credentials(repository);
      const bearer = challenges.find((each) => each.scheme === 'bearer');
      if (bearer !== undefined) {
        headers.set(repository, `Bearer ${await fetchToken(bearer, repository, credentials, options)}`);
        return true;
      }
      if (!challenges.some((each) => each.scheme === 'basic')) return false;
      if (credentials === undefined || !('password' in credentials)) return false;
      const basic = basicHeader(credentials);
      if (headers.get(repository) === basic) return false; // It was refused.
      headers.set(repository, basic);
      return true;
    },
  };
}

async function fetchToken(
  challenge: Challenge,
  repository: string,
  credentials: Credentials | undefined,
  options: AuthorizerOptions,
): Promise<string> {
  const { host } = options;
  const realm = URL.parse(challenge.parameters.get('realm') ?? '');
  if (realm === null || !['https:', 'http:'].includes(realm.protocol)) {
    throw new SluiceError('Unauthorized', `the registry ${host} names no server that gives tokens`);
  }
  if (realm.protocol === 'http:' && !options.insecure) {
    throw new SluiceError(
      'Unauthorized',
      `the registry ${host} asks for a password to be sent in clear to ${realm.host}`,
      {
        next: `If that network is yours: --insecure-registry ${host}.`,
      },
    );
  }
  const service = challenge.parameters.get('service');
  const scope = challenge.parameters.get('scope') ?? `repository:${repository}:pull`;
  const answer =
    credentials !== undefined && 'identityToken' in credentials
      ? await refresh(realm, { service, scope, token: credentials.identityToken }, options.http)
      : await ask(realm, { service, scope, credentials }, options.http);
  if (answer.status !== 200) {
    await answer.discard();
    const who = credentials === undefined ? 'nobody in particular' : 'these credentials';
    throw new SluiceError(
      'Unauthorized',
      `${realm.host} gives ${who} no token for ${host}/${repository} (${answer.status})`,
      {
        next: `Log in (podman login ${host}), or name the file of passwords: --authfile FILE.`,
      },
    );
  }
  const said = parseStrictJson(Buffer.from(await answer.text(tokenBytesMax)), `the answer of ${realm.host}`);
  const { token, access_token: accessToken } = (said ?? {}) as Record<string, unknown>;
  const found = [token, accessToken].find((each) => typeof each === 'string' && each !== '');
  if (typeof found === 'string' && !/[\r\n]/.test(found)) return found;
  throw new SluiceError('Unauthorized', `${realm.host} answers without a token`);
}

async function ask(
  realm: URL,
  wanted: {
    service: string | undefined;
    scope: string;
    credentials: Exclude<Credentials, { identityToken: string }> | undefined;
  },
  http: HttpClient,
): Promise<HttpResponse> {
  const url = new URL(realm);
  if (wanted.service !== undefined) url.searchParams.set('service', wanted.service);
  for (const each of wanted.scope.split(' ')) url.searchParams.append('scope', each);
  if (wanted.credentials === undefined) return await http.request({ url: url.href });
  url.searchParams.set('account', wanted.credentials.username);
  return await http.request({ url: url.href, headers: { authorization: basicHeader(wanted.credentials) } });
}

async function refresh(
  realm: URL,
  wanted: { service: string | undefined; scope: string; token: string },
  http: HttpClient,
): Promise<HttpResponse> {
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    service: wanted.service ?? realm.host,
    scope: wanted.scope,
    client_id: 'sluice',
    refresh_token: wanted.token,
  });
  return await http.request({
    method: 'POST',
    url: realm.href,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
}

export function basicHeader(credentials: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
}
