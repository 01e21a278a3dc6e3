import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sluiceGroup } from '../api/kinds.ts';
import { errorTable, isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import { type Handler, readBody } from '../http/server.ts';
import { ApiError } from '../kube/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { RegistryIdentity } from '../release/content.ts';
import { actionOf } from './actions.ts';
import type { LoginAnswer, Right, SessionAnswer } from './answers.ts';
import { readFields } from './body.ts';
import { isNear, isOnThisMachine, passRead } from './cluster-reads.ts';
import { createContents } from './contents.ts';
import type { ConsoleFiles } from './files.ts';
import { secure } from './headers.ts';
import type { ClusterAccess, Identities } from './identities.ts';
import type { OneTimeCodes } from './links.ts';
import { requireCsrf, requireSameOrigin } from './origin.ts';
import { rightsOf, userOf } from './rights.ts';
import { cookieOf, newSession, type Session, type SessionSealer, sessionMs } from './session.ts';
import { createStreams } from './streams.ts';

export interface ConsoleOptions {
  readonly files: ConsoleFiles;
  /** Path under which it is reached: `/` or `/sluice/`. A proxy may have taken it off already. */
  readonly prefix: string;
  readonly identities: Identities;
  readonly sealer: SessionSealer;
  readonly codes: OneTimeCodes;
  /** How links are given. */
  readonly login: LoginAnswer;
  /** How the nodes' registries are read, for a session by link and for one by token. */
  readonly registry: (by: Session['by']) => RegistryIdentity;
  /** Directory of the nodes of this machine; undefined where they are elsewhere. */
  readonly nodesDirectory: string | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const bodyBytesMax = 1024 * 1024;

interface Request {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Below the prefix, without a slash in front, decoded. */
  readonly path: string;
  readonly query: string;
}

/** The console: its files, and what its page asks for below `api/`. */
export function createConsole(options: ConsoleOptions): { handler: Handler; close(): void } {
  const { sealer, clock, identities, logger } = options;
  const streams = createStreams();

  function sessionOf({ incoming }: Request): Session {
    const sealed = cookieOf(incoming.headers.cookie, sealer.cookieName);
    const session = sealed === undefined ? undefined : sealer.open(sealed, clock.now());
    if (session !== undefined) return session;
    throw new SluiceError('Unauthorized', 'nobody is logged in here', {
      next: 'Log in with a token, or with a new link: sluice console link --dir DIR (of sluice up).',
    });
  }

  function setCookie({ incoming, response }: Request, value: string, seconds: number): void {
    const encrypted = 'encrypted' in incoming.socket || incoming.headers['x-forwarded-proto'] === 'https';
    const parts = [`${sealer.cookieName}=${value}`, `Path=${options.prefix}`, `Max-Age=${seconds}`];
    response.setHeader(
      'set-cookie',
      [...parts, 'HttpOnly', 'SameSite=Strict', ...(encrypted ? ['Secure'] : [])].join('; '),
    );
  }

  async function login(request: Request): Promise<object> {
    const body = readFields(await jsonBody(request.incoming));
    const code = body.optionalText('code');
    if (code !== undefined && !options.codes.redeem(code)) {
      throw new SluiceError('Unauthorized', 'this link was used already, or is too old', {
        next: 'Make a new one: sluice console link --dir DIR (of sluice up).',
      });
    }
    const session =
      code === undefined
        ? newSession('token', body.text('token').trim(), clock.now())
        : newSession('link', undefined, clock.now());
    const access = identities.of(session);
    const user = await userOf(access.client); // Whom the cluster does not know is not let in.
    setCookie(request, sealer.seal(session), sessionMs / 1000);
    logger.info({ user, by: session.by }, 'somebody logged in');
    return await describe(session, access, user);
  }

  async function describe(session: Session, { client }: ClusterAccess, user: string): Promise<SessionAnswer> {
    const local = options.nodesDirectory !== undefined;
    return {
      user,
      by: session.by,
      csrf: sealer.csrfToken(session),
      expiresAt: new Date(session.expiresAt).toISOString(),
      version: options.version,
      platform: client.platform,
      machineConfigOperatorServes:
        client.platform === 'openshift' && client.kinds.InternalReleaseImage.group === sluiceGroup,
      now: new Date(clock.now()).toISOString(),
      rights: await rightsOf(client, { local }),
    };
  }

  async function answer(request: Request): Promise<void> {
    const { incoming, response, path } = request;
    const method = incoming.method ?? '';
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead) requireSameOrigin(incoming.headers);
    if (path === 'session' && method === 'POST') return sendJson(response, await login(request));
    if (path === 'login' && isRead) {
      const { links } = options.login;
      // Where something lies on this machine is nobody's business elsewhere.
      return sendJson(response, isOnThisMachine(incoming) ? options.login : { links });
    }
    const session = sessionOf(request);
    if (!isRead) requireCsrf(incoming.headers, sealer, session);
    const access = identities.of(session);
    const { client } = access;
    const [room = '', ...rest] = path.split('/');
    const name = rest.join('/');
    const contents = () => createContents(client, options.registry(session.by));
    switch (`${method} ${room}`) {
      case 'GET session':
        return sendJson(response, await describe(session, access, await userOf(client)));
      case 'DELETE session':
        setCookie(request, '', 0);
        return sendJson(response, {});
      case 'GET cluster':
        return await passRead(access.transport, `/${name}`, request.query, response, isNear(incoming));
      case 'GET stream':
        return streams.open(session.id, access.transport, response);
      case 'POST stream':
        streams.change(session.id, name, await jsonBody(incoming));
        return sendJson(response, {});
      case 'POST actions': {
        const action = actionOf(name);
        const context = { client, nodesDirectory: options.nodesDirectory };
        if (action.local === true) await requireRight(client, name);
        const done = await action.run(context, readFields(await jsonBody(incoming)));
        logger.info({ action: name, session: session.id.slice(0, 6) }, 'done');
        return sendJson(response, done);
      }
      case 'GET bundles':
        return sendJson(response, await contents().bundle(name));
      case 'GET freeable':
        return sendJson(response, await contents().freeable(name));
      case 'GET graph':
        return sendJson(response, await contents().graph());
      default:
        throw new SluiceError('NotFound', `the console does not know ${method} ${path.slice(0, 200)}`);
    }
  }

  /** What the node's socket does is not judged by the cluster, so it is asked here. */
  async function requireRight(client: ClusterAccess['client'], name: string): Promise<void> {
    const rights: Readonly<Record<string, Right>> = await rightsOf(client, {
      local: options.nodesDirectory !== undefined,
    });
    const right = rights[name];
    if (right?.allowed === true) return;
    if (right?.lacks === 'right') throw new SluiceError('Forbidden', `the right to ${right.what} is missing`);
    throw new SluiceError('Forbidden', `${name} cannot be done from here`);
  }

  return {
    async handler(incoming, response) {
      secure(response);
      const request = locate(incoming, response, options.prefix);
      const { path } = request;
      if (!path.startsWith('api/')) return sendFile(options.files, request);
      try {
        await answer({ ...request, path: path.slice('api/'.length) });
      } catch (error) {
        sendError(response, error, logger);
      }
    },
    close: () => streams.close(),
  };
}

/** The path below the prefix, also where a proxy in front has taken the prefix off. */
function locate(incoming: IncomingMessage, response: ServerResponse, prefix: string): Request {
  const url = incoming.url ?? '/';
  const at = url.indexOf('?');
  const whole = at === -1 ? url : url.slice(0, at);
  const below = whole.startsWith(prefix) ? whole.slice(prefix.length) : whole.replace(/^\/+/, '');
  let path = below;
  try {
    path = decodeURIComponent(below);
  } catch {
    // No valid encoding: it is looked up as it came, and not found.
  }
  return { incoming, response, path, query: at === -1 ? '' : url.slice(at + 1) };
}

function sendFile(files: ConsoleFiles, { incoming, response, path }: Request): void {
  if (incoming.method !== 'GET' && incoming.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
  } else if (!files.send(path, incoming, response)) {
    if (path.startsWith('assets/'))
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
    else files.sendPage(incoming, response);
  }
}

async function jsonBody(incoming: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/.test(incoming.headers['content-type'] ?? '')) {
    throw new SluiceError('InputInvalid', 'the request needs the content type application/json');
  }
  const bytes = await readBody(incoming, bodyBytesMax);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new SluiceError('InputInvalid', `the request is no JSON: ${messageOf(error)}`, { cause: error });
  }
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(value)}\n`);
}

function sendError(response: ServerResponse, error: unknown, logger: Logger): void {
  const known = isSluiceError(error) ? error : new SluiceError('Internal', 'the console met a defect');
  const incident = isSluiceError(error) ? undefined : randomBytes(4).toString('hex');
  if (incident !== undefined) {
    logger.error(
      { incident, error: messageOf(error), stack: (error as Error)?.stack },
      'a request of the console failed',
    );
  }
  const { code, message, next } = known;
  const api = known instanceof ApiError ? { status: known.status, reason: known.reason } : {};
  const status = known instanceof ApiError ? known.status : errorTable[code].http;
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify({ error: { code, message, next, incident, ...api } })}\n`);
}
