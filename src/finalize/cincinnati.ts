import { messageOf, SluiceError } from '../errors/error.ts';
import type { HttpClient } from '../http/client.ts';
import { type Digest, parseDigest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import type { Wanted } from './decide.ts';
import type { OsStatus } from './driver.ts';
import { defaultStream, fillUrl } from './url-template.ts';

/** Bytes of a graph; Fedora CoreOS's has some hundred kilobytes. */
const graphBytesMax = 8 * 1024 * 1024;
const nodesMax = 20_000;
const answerMs = 60_000;

const ageIndexKey = 'org.fedoraproject.coreos.releases.age_index';
const schemeKey = 'org.fedoraproject.coreos.scheme';
const deadendKey = 'org.fedoraproject.coreos.updates.deadend';
const deadendReasonKey = 'org.fedoraproject.coreos.updates.deadend_reason';

interface GraphNode {
  readonly version: string;
  readonly payload: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly (readonly [number, number])[];
}

/** What a host tells the graph about itself; the names of the query are zincati's. */
export interface GraphQuestion {
  readonly basearch: string;
  readonly stream?: string;
  readonly group: string;
  readonly nodeUuid: string;
  readonly platform?: string;
  readonly wariness?: number;
}

/** What the graph says to a host. */
export interface GraphAnswer {
  readonly update?: Wanted & { readonly version: string };
  /** The booted release leads nowhere any more: it needs a person. */
  readonly deadend?: string;
}

/** The address of the question; a host that booted an image is known by its pull spec, else by its checksum. Pure. */
export function graphUrl(baseUrl: string, question: GraphQuestion, os: OsStatus): string {
  const values = {
    basearch: question.basearch,
    stream: question.stream ?? os.stream ?? defaultStream,
    group: question.group,
    node_uuid: question.nodeUuid,
  };
  const base = fillUrl(baseUrl, { ...values, platform: question.platform ?? '' });
  const url = new URL(`${base.replace(/\/+$/, '')}/v1/graph`);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  if (question.platform !== undefined) url.searchParams.set('platform', question.platform);
  if (question.wariness !== undefined) url.searchParams.set('rollout_wariness', question.wariness.toFixed(6));
  const { booted } = os;
  if (booted?.version !== undefined) url.searchParams.set('os_version', booted.version);
  if (booted?.image.startsWith('ostree@') === true) {
    url.searchParams.set('os_checksum', booted.digest.slice('sha256:'.length));
  } else if (booted !== undefined) {
    url.searchParams.set('os_checksum', booted.image);
    url.searchParams.set('oci', 'true');
  }
  return url.href;
}

/** Asks a Cincinnati server, until the signal aborts. Errors: Unreachable, InputInvalid, InputTooLarge. */
export async function askGraph(
  http: HttpClient,
  baseUrl: string,
  question: GraphQuestion,
  os: OsStatus,
  allowDowngrade: boolean,
  signal?: AbortSignal,
): Promise<GraphAnswer> {
  const url = graphUrl(baseUrl, question, os);
  const response = await http.request({
    url,
    headers: { accept: 'application/json' },
    signal: AbortSignal.any([AbortSignal.timeout(answerMs), ...(signal === undefined ? [] : [signal])]),
  });
  const text = await response.text(graphBytesMax);
  if (response.status !== 200) {
    throw new SluiceError(
      'Unreachable',
      `the update graph answered ${response.status}: ${text.slice(0, 200)}`,
    );
  }
  return pickUpdate(parseGraph(text), os, allowDowngrade);
}

function parseGraph(text: string): Graph {
  let value: { nodes?: unknown; edges?: unknown };
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SluiceError('InputInvalid', `the update graph is not JSON: ${messageOf(error)}`);
  }
  const { nodes, edges } = value ?? {};
  if (!Array.isArray(nodes) || !Array.isArray(edges) || nodes.length > nodesMax) {
    throw new SluiceError('InputInvalid', 'the update graph has no nodes and edges');
  }
  for (const edge of edges) {
    const fits = Array.isArray(edge) && edge.length === 2 && edge.every((end) => nodes[end] !== undefined);
    if (!fits) throw new SluiceError('InputInvalid', 'an edge of the update graph leads nowhere');
  }
  const fitting = nodes.every(
    (node) => typeof node?.version === 'string' && typeof node?.payload === 'string',
  );
  if (!fitting)
    throw new SluiceError('InputInvalid', 'a release of the update graph has no version or payload');
  return { nodes: nodes.map((node) => ({ ...node, metadata: node.metadata ?? {} })), edges };
}

/**
 * The newest release that an edge leads to: not one that this host keeps (it was booted before, or rolled back from;
 * compared by payload alone), and not an older one. Pure.
 */
export function pickUpdate(graph: Graph, os: OsStatus, allowDowngrade: boolean): GraphAnswer {
  const from = graph.nodes.findIndex((node) => payloadOf(node)?.digest === os.booted?.digest);
  const here = graph.nodes[from];
  if (here === undefined) return {};
  const deadend =
    here.metadata[deadendKey] === 'true' || here.metadata[deadendKey] === true
      ? { deadend: String(here.metadata[deadendReasonKey] ?? 'no reason is given').slice(0, 500) }
      : {};
  const kept = new Set(os.others?.map(({ digest }) => digest));
  const updates = graph.edges
    .filter(([start]) => start === from)
    .flatMap(([, end]) => {
      const node = graph.nodes[end];
      const payload = node === undefined ? undefined : payloadOf(node);
      return node === undefined || payload === undefined
        ? []
        : [{ ...payload, version: node.version, age: ageOf(node) }];
    })
    .filter(({ digest, age }) => !kept.has(digest) && (allowDowngrade || age >= ageOf(here)))
    .sort((a, b) => b.age - a.age);
  const [best] = updates;
  if (best === undefined) return deadend;
  const { image, digest, version } = best;
  return { ...deadend, update: { image, digest, version } };
}

function ageOf({ metadata }: GraphNode): number {
  const age = Number(metadata[ageIndexKey]);
  return Number.isFinite(age) ? age : -1;
}

function payloadOf({ payload, metadata }: GraphNode): { image: string; digest: Digest } | undefined {
  try {
    if (metadata[schemeKey] === 'oci') {
      const { digest } = parseReference(payload);
      return digest === undefined ? undefined : { image: payload, digest };
    }
    const digest = parseDigest(`sha256:${payload}`);
    return { image: `ostree@${digest}`, digest };
  } catch {
    return undefined;
  }
}
