import { createHttpClient, type HttpClient, hostPort } from '../../http/client.ts';
import { drained } from '../../http/drained.ts';
import { type KubeObject, list, record } from '../object.ts';
import type { Engine } from '../rest/engine.ts';
import { readObject } from '../rest/read.ts';
import { badRequest, internal, notFound, StatusError } from '../status.ts';
import type { Exchange } from './exchange.ts';

/** What of the query goes on to the kubelet (core/v1 PodLogOptions). */
const forwarded = [
  'follow',
  'previous',
  'sinceSeconds',
  'sinceTime',
  'timestamps',
  'tailLines',
  'limitBytes',
] as const;

/** Bytes of a kubelet's error message that are read. */
const messageBytesMax = 16 * 1024;

/** How logs are fetched: from the kubelet of the Pod's node, with the server's own certificate. */
export interface KubeletClient {
  /** Streams the log of a container into the answer. @throws 400, 404, 500, 503 */
  log(engine: Engine, exchange: Exchange): Promise<void>;
  close(): Promise<void>;
}

export function createKubeletClient(
  tls: { cert: string; key: string; ca: string } | undefined,
): KubeletClient {
  const http = createHttpClient(tls ?? {});
  return { log: (engine, exchange) => streamLog(engine, http, exchange), close: () => http.close() };
}

async function streamLog(engine: Engine, http: HttpClient, exchange: Exchange): Promise<void> {
  const { info, response } = exchange;
  const pods = engine.resources.builtIn('v1', 'pods');
  const pod = readObject(engine, pods, info.namespace, info.name);
  if (pod === undefined) throw notFound(pods, info.name);
  const container = containerOf(pod, info.query.get('container'));
  const { nodeName } = record(pod.spec);
  if (typeof nodeName !== 'string' || nodeName === '') {
    // Not assigned to a node yet, so there is nothing to read.
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end();
    return;
  }
  const base = kubeletOf(engine, nodeName);
  const query = new URLSearchParams();
  for (const name of forwarded) {
    const value = info.query.get(name);
    if (value !== null) query.set(name, value);
  }
  const parts = [info.namespace, info.name, container].map(encodeURIComponent).join('/');
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const answer = await http.request({
    url: `${base}/containerLogs/${parts}?${query}`,
    signal: gone.signal,
    stallTimeoutMs: 0,
  });
  if (answer.status !== 200) throw refusal(answer.status, await answer.text(messageBytesMax));
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.flushHeaders();
  try {
    for await (const chunk of answer.body) {
      if (!response.write(chunk)) await drained(response);
      if (gone.signal.aborted) return;
    }
    response.end();
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

/** The container that is meant. @throws 400 where it is not clear or not there */
function containerOf(pod: KubeObject, asked: string | null): string {
  const spec = record(pod.spec);
  const names = (field: string) => list(spec[field]).map((container) => String(record(container).name));
  const main = names('containers');
  const all = [...main, ...names('initContainers'), ...names('ephemeralContainers')];
  const { name } = pod.metadata;
  if (asked === null || asked === '') {
    if (main.length === 1 && main[0] !== undefined) return main[0];
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${main.join(' ')}]`,
    );
  }
  if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
  return asked;
}

function kubeletOf(engine: Engine, nodeName: string): string {
  const nodes = engine.resources.builtIn('v1', 'nodes');
  const node = readObject(engine, nodes, '', nodeName);
  if (node === undefined) throw notFound(nodes, nodeName);
  const status = record(node.status);
  const addresses = list(status.addresses).map(record);
  const address = addresses.find(({ type }) => type === 'InternalIP')?.address;
  const port = record(record(status.daemonEndpoints).kubeletEndpoint).Port;
  if (typeof address !== 'string' || typeof port !== 'number') {
    throw internal(`the node ${nodeName} does not say where its kubelet answers`);
  }
  return `https://${hostPort(address, port)}`;
}

function refusal(code: number, message: string): StatusError {
  const text = message.trim();
  if (code === 400) return badRequest(text);
  if (code === 404) return new StatusError(404, 'NotFound', text === '' ? 'the log was not found' : text, {});
  return internal(`the kubelet answered ${code}: ${text}`);
}
