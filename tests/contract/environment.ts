import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createHttpClient, type HttpClient } from '../../src/http/client.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';

/** An object as the API gives it, of a kind that a case knows. */
// biome-ignore lint/suspicious/noExplicitAny: cases look into objects of every kind
export type Loose = any;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed where it is JSON, else text. */
  readonly body: Loose;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a case works with: one engine, as an administrator, in a namespace of its own. */
export interface Environment {
  readonly engine: 'embedded' | 'real';
  readonly client: KubeClient;
  readonly namespace: string;
  /** A name that no other case uses. */
  unique(prefix: string): string;
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** As `request`, without any credentials. */
  anonymous(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** The events of a watch until there are `count` of them, or it ends. */
  watch(path: string, query: RequestOptions['query'], count: number, timeoutMs?: number): Promise<Loose[]>;
}

export interface ContractCase {
  readonly name: string;
  /** What the embedded engine does instead, and the row of docs/embedded-api.md that tells of it. */
  readonly differs?: { readonly row: string; run(env: Environment): Promise<void> };
  run(env: Environment): Promise<void>;
}

/** A place to run cases: one API under an administrator's kubeconfig. */
export interface ContractEngine {
  readonly name: 'embedded' | 'real';
  readonly client: KubeClient;
  environment(): Promise<Environment>;
  close(): Promise<void>;
}

export function createContractEngine(name: 'embedded' | 'real', kubeconfig: string): ContractEngine {
  const identity = loadKubeconfig(kubeconfig);
  const client = createKubeClient({ ...identity, platform: 'standalone' });
  const http = createHttpClient(identity.tls);
  const { ca } = identity.tls;
  const nobody = createHttpClient(ca === undefined ? {} : { ca });
  const unique = (prefix: string) => `${prefix}-${randomBytes(4).toString('hex')}`;
  const authorization = identity.token === undefined ? {} : { authorization: `Bearer ${identity.token}` };
  const call =
    (through: HttpClient, credentials: Record<string, string>) =>
    async (method: string, path: string, options: RequestOptions = {}): Promise<Answer> => {
      const answer = await through.request({
        method: method as 'GET',
        url: `${identity.server}${path}${queryText(options.query)}`,
        headers: { 'content-type': 'application/json', ...credentials, ...options.headers },
        ...(options.body === undefined
          ? {}
          : { body: typeof options.body === 'string' ? options.body : JSON.stringify(options.body) }),
      });
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, body: parsed(text) };
    };
  return {
    name,
    client,
    async environment() {
      const namespace = unique('contract');
      await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
      return {
        engine: name,
        client,
        namespace,
        unique,
        request: call(http, authorization),
        anonymous: call(nobody, {}),
        watch: (path, query, count, timeoutMs = 5_000) =>
          readEvents(http, authorization, identity.server, path, query, count, timeoutMs),
      };
    },
    async close() {
      await Promise.all([http.close(), nobody.close(), client.close()]);
    },
  };
}

function queryText(query: RequestOptions['query']): string {
  if (query === undefined) return '';
  const text = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return `?${text}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function readEvents(
  http: HttpClient,
  headers: Record<string, string>,
  server: string,
  path: string,
  query: RequestOptions['query'],
  count: number,
  timeoutMs: number,
): Promise<Loose[]> {
  const events: Loose[] = [];
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await http.request({
    url: `${server}${path}${queryText({ watch: true, ...query })}`,
    headers: { accept: 'application/json', ...headers },
    signal,
    stallTimeoutMs: 0,
  });
  if (answer.status !== 200) {
    assert.fail(`the watch was answered ${answer.status}: ${await answer.text()}`);
  }
  let rest = '';
  try {
    for await (const chunk of answer.body) {
      rest += Buffer.from(chunk).toString('utf8');
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') events.push(JSON.parse(line));
      if (events.length >= count) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return events;
}

/** A ConfigMap in the namespace of the case. */
export function configMap(env: Environment, name: string, data: Record<string, string> = {}): Loose {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: env.namespace }, data };
}

export const configMaps = (env: Environment): string => `/api/v1/namespaces/${env.namespace}/configmaps`;

/** Creates something and answers it. Fails where it is refused. */
export async function created(env: Environment, path: string, body: unknown): Promise<Loose> {
  const answer = await env.request('POST', path, { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** Asserts that an answer is a `Status` failure of this code and reason. */
export function assertFailure(answer: Answer, code: number, reason: string, message?: RegExp): void {
  assert.equal(answer.status, code, JSON.stringify(answer.body));
  assert.equal(answer.body.kind, 'Status');
  assert.equal(answer.body.status, 'Failure');
  assert.equal(answer.body.code, code);
  assert.equal(answer.body.reason, reason);
  if (message !== undefined) assert.match(answer.body.message, message);
}

const eventuallyMs = 20_000;

/**
 * Asks until the answer is right: a real API server hears of new rights and policies a moment later, and keeps what it
 * knew of a token for ten seconds.
 * @param describe how it stands, for the message when it never comes true
 */
export async function eventually(
  ask: () => Promise<boolean>,
  describe: () => unknown = () => '',
): Promise<void> {
  for (const end = Date.now() + eventuallyMs; Date.now() < end; ) {
    if (await ask()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`it did not come true: ${JSON.stringify(describe())}`);
}
