import type { Digest } from '../oci/digest.ts';

/** A release that is at hand, as its signed bundle and its payload tell. */
export interface GraphRelease {
  readonly version: string;
  /** As bundle names have it: x86_64, multi, … */
  readonly arch: string;
  /** The payload as clusters pull it, by digest. */
  readonly image: string;
  readonly digest: Digest;
  readonly previous: readonly string[];
  /** Channels that it is in; empty for all of them. */
  readonly channels: readonly string[];
  readonly url: string | undefined;
  readonly bundle: string;
  readonly signedBy: string;
}

/** The answer of the Cincinnati protocol (openshift/cincinnati, docs/design/cincinnati.md, "Graph API"). */
export interface CincinnatiGraph {
  readonly version: 1;
  readonly nodes: readonly {
    readonly version: string;
    readonly payload: string;
    readonly metadata: Readonly<Record<string, string>>;
  }[];
  /** Indexes of nodes: from, to. */
  readonly edges: readonly (readonly [number, number])[];
  readonly conditionalEdges: readonly never[];
}

export interface GraphQuery {
  /** Absent: releases of every channel. */
  readonly channel?: string;
  /** As Go names it (amd64) or as bundles do; absent: every architecture. */
  readonly arch?: string;
}

const goArchitectures: Readonly<Record<string, string>> = {
  amd64: 'x86_64',
  arm64: 'aarch64',
};

const channelsKey = 'io.openshift.upgrades.graph.release.channels';
const digestKey = 'io.openshift.upgrades.graph.release.manifestref';

/**
 * The graph of the releases at hand. An edge is what the target says of itself in its signed bundle; one that comes
 * from a version nobody has is no edge, though a cluster that runs that version may still be updated: it is a
 * node then, without a payload it could be installed from.
 *
 * @param current version that a client says it runs: it is a node even where no bundle of it is at hand, so that the
 *   client finds itself.
 */
export function graphOf(
  releases: readonly GraphRelease[],
  query: GraphQuery,
  current?: { readonly version: string; readonly image?: string },
): CincinnatiGraph {
  const arch = query.arch === undefined ? undefined : (goArchitectures[query.arch] ?? query.arch);
  const shown = unique(releases)
    .filter((release) => arch === undefined || release.arch === arch)
    .filter(
      ({ channels }) =>
        query.channel === undefined || channels.length === 0 || channels.includes(query.channel),
    )
    .sort((a, b) => (a.version < b.version ? -1 : a.version > b.version ? 1 : a.digest < b.digest ? -1 : 1));
  const nodes: CincinnatiGraph['nodes'][number][] = shown.map((release) => ({
    version: release.version,
    payload: release.image,
    metadata: metadataOf(release),
  }));
  if (current !== undefined && !nodes.some((node) => node.version === current.version)) {
    nodes.push({ version: current.version, payload: current.image ?? '', metadata: {} });
  }
  const indexes = new Map<string, number[]>();
  for (const [index, node] of nodes.entries()) {
    indexes.set(node.version, [...(indexes.get(node.version) ?? []), index]);
  }
  const edges = shown.flatMap(({ previous }, to) =>
    [...new Set(previous)].flatMap((version) =>
      (indexes.get(version) ?? []).map((from) => [from, to] as const),
    ),
  );
  return { version: 1, nodes, edges: edges.filter(([from, to]) => from !== to), conditionalEdges: [] };
}

function metadataOf(release: GraphRelease): Record<string, string> {
  return {
    ...(release.channels.length === 0 ? {} : { [channelsKey]: release.channels.join(',') }),
    ...(release.url === undefined ? {} : { url: release.url }),
    [digestKey]: release.digest,
    'dev.sluice.bundle': release.bundle,
    'dev.sluice.signed-by': release.signedBy,
  };
}

/** The same payload may lie on several media. */
function unique(releases: readonly GraphRelease[]): GraphRelease[] {
  return [...new Map(releases.map((release) => [`${release.arch} ${release.digest}`, release])).values()];
}
