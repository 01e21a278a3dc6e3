import type { ActionName, LoginAnswer, SessionAnswer } from '../../src/console/answers.ts';

/** An answer of the console that is no success: what happened, and what to do. */
export class ConsoleError extends Error {
  /** HTTP status. */
  readonly status: number;
  readonly next: string;

  constructor(status: number, message: string, next: string) {
    super(message);
    this.name = 'ConsoleError';
    this.status = status;
    this.next = next;
  }
}

/** The console's own endpoints. */
export interface ConsoleApi {
  session(): Promise<SessionAnswer>;
  /** How one gets in without a token. */
  waysIn(): Promise<LoginAnswer>;
  login(by: { readonly token: string } | { readonly code: string }): Promise<SessionAnswer>;
  logout(): Promise<void>;
  act(action: ActionName, body: object): Promise<Record<string, unknown>>;
  /** A path below `api/`, as JSON. */
  read<T>(path: string, signal?: AbortSignal): Promise<T>;
  text(path: string, signal?: AbortSignal): Promise<string>;
  stream(signal: AbortSignal): Promise<Response>;
  changeStream(stream: string, body: object): Promise<void>;
}

/** @param base address of the page's root, with a slash at its end. */
export function createConsoleApi(base: string): ConsoleApi {
  let csrf = '';
  async function request(
    method: string,
    path: string,
    body?: object,
    signal?: AbortSignal,
  ): Promise<Response> {
    const response = await fetchAgain(method, new URL(`api/${path}`, base), {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(method === 'GET' ? {} : { 'x-csrf-token': csrf }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      redirect: 'error',
    });
    if (response.ok) return response;
    throw await errorOf(response);
  }
  const know = async (response: Response): Promise<SessionAnswer> => {
    const session = (await response.json()) as SessionAnswer;
    csrf = session.csrf;
    return session;
  };
  return {
    session: async () => await know(await request('GET', 'session')),
    waysIn: async () => (await (await request('GET', 'login')).json()) as LoginAnswer,
    login: async (by) => await know(await request('POST', 'session', by)),
    logout: async () => void (await request('DELETE', 'session')),
    act: async (action, body) =>
      (await (await request('POST', `actions/${action}`, body)).json()) as Record<string, unknown>,
    read: async <T>(path: string, signal?: AbortSignal) =>
      (await (await request('GET', path, undefined, signal)).json()) as T,
    text: async (path, signal) => await (await request('GET', path, undefined, signal)).text(),
    stream: (signal) => request('GET', 'stream', undefined, signal),
    changeStream: async (stream, body) => void (await request('POST', `stream/${stream}`, body)),
  };
}

/** Milliseconds after which a read is tried again that nobody answered. */
const againMs = [200, 1_000];

/**
 * A machine that changes its network (a cable, a tunnel, a container that starts) loses what it was asking for. Reads
 * are asked for again; what changes something is not, since nobody knows whether it was done.
 */
async function fetchAgain(method: string, url: URL, init: RequestInit): Promise<Response> {
  for (const pauseMs of method === 'GET' ? againMs : []) {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (init.signal?.aborted === true) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return await fetch(url, init);
}

async function errorOf(response: Response): Promise<ConsoleError> {
  const { status } = response;
  try {
    const { error } = (await response.json()) as { error: { message: string; next: string } };
    return new ConsoleError(status, error.message, error.next);
  } catch {
    return new ConsoleError(status, `${response.url}: ${status} ${response.statusText}`, '');
  }
}
