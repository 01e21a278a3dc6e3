import type { IncomingMessage, ServerResponse } from 'node:http';
import { serve } from '../src/http/server.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { createAuthority, issue, type KeyPair } from '../src/trust/authority.ts';

/** One request that a scripted API has met. */
export interface Met {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface ScriptedApi {
  readonly client: KubeClient;
  readonly url: string;
  readonly caPem: string;
  readonly authority: KeyPair;
  readonly met: Met[];
  close(): Promise<void>;
}

/** Answers one request; `answer` has what a script needs to misbehave. */
export type Script = (met: Met, answer: Answer) => void | Promise<void>;

export interface Answer {
  readonly response: ServerResponse;
  json(value: unknown, status?: number): void;
  /** A Status of failure. */
  fail(status: number, reason: string, message: string): void;
  /** Begins a watch. */
  begin(): void;
  /** Writes one event of a watch. */
  event(type: string, object: unknown): void;
  /** Writes raw bytes. */
  write(text: string): void;
  end(): void;
  /** Destroys the connection without an end. */
  cut(): void;
}

/**
 * An HTTPS server that answers as a script says, for the hard paths that a good server never takes: answers that
 * are cut, late, expired or garbled. It re-implements nothing.
 */
export async function startScriptedApi(script: Script): Promise<ScriptedApi> {
  const authority = await createAuthority('scripted-ca');
  const pair = await issue(authority, {
    commonName: 'scripted',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const met: Met[] = [];
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    tls: { cert: pair.certPem, key: pair.keyPem },
    handler: async (request, response) => {
      const one = await meet(request);
      met.push(one);
      await script(one, answerOf(response));
    },
  });
  const url = `https://127.0.0.1:${server.port}`;
  const client = createKubeClient({ server: url, tls: { ca: authority.certPem }, platform: 'standalone' });
  return {
    client,
    url,
    caPem: authority.certPem,
    authority,
    met,
    async close() {
      await client.close();
      await server.close(50);
    },
  };
}

async function meet(request: IncomingMessage): Promise<Met> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://scripted');
  return {
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

function answerOf(response: ServerResponse): Answer {
  const json = (value: unknown, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  return {
    response,
    json,
    fail: (status, reason, message) =>
      json({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code: status }, status),
    begin() {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
    },
    event: (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`),
    write: (text) => void response.write(text),
    end: () => void response.end(),
    cut: () => void response.destroy(),
  };
}
