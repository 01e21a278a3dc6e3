import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Digest } from '../oci/digest.ts';
import { type GraphRelease, graphOf } from './graph.ts';

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;

function release(version: string, letter: string, fields: Partial<GraphRelease> = {}): GraphRelease {
  return {
    version,
    arch: 'x86_64',
    image: `quay.example/release@${digest(letter)}`,
    digest: digest(letter),
    previous: [],
    channels: [],
    url: undefined,
    bundle: `ocp-release-bundle-${version}-x86_64`,
    signedBy: 'factory',
    ...fields,
  };
}

const releases = [
  release('4.9.0', 'a'),
  release('4.10.0', 'b', { previous: ['4.9.0'], channels: ['stable-4.10'], url: 'https://notes.example' }),
  release('4.10.1', 'c', { previous: ['4.10.0', '4.9.0'], channels: ['stable-4.10', 'fast-4.10'] }),
  release('4.10.1', 'd', { arch: 'aarch64', previous: ['4.10.0'] }),
];
const edges = (graph: ReturnType<typeof graphOf>) =>
  graph.edges.map(([from, to]) => `${graph.nodes[from]?.version} → ${graph.nodes[to]?.version}`).sort();

test('nodes and edges of a channel and an architecture', () => {
  const graph = graphOf(releases, { channel: 'stable-4.10', arch: 'amd64' });
  assert.deepEqual(edges(graph), ['4.10.0 → 4.10.1', '4.9.0 → 4.10.0', '4.9.0 → 4.10.1']);
  assert.deepEqual(
    graph.nodes.find((node) => node.version === '4.10.0'),
    {
      version: '4.10.0',
      payload: `quay.example/release@${digest('b')}`,
      metadata: {
        'io.openshift.upgrades.graph.release.channels': 'stable-4.10',
        url: 'https://notes.example',
        'io.openshift.upgrades.graph.release.manifestref': digest('b'),
        'dev.sluice.bundle': 'ocp-release-bundle-4.10.0-x86_64',
        'dev.sluice.signed-by': 'factory',
      },
    },
  );
  assert.deepEqual(edges(graphOf(releases, { channel: 'fast-4.10', arch: 'amd64' })), ['4.9.0 → 4.10.1']);
  assert.deepEqual(graphOf([], { channel: 'x' }), { version: 1, nodes: [], edges: [], conditionalEdges: [] });
});

test('P-92 an edge from a version that nobody has is no edge, unless the client runs it', () => {
  const only = [release('4.10.1', 'c', { previous: ['4.9.99', '', '4.10.1'] })];
  assert.deepEqual(graphOf(only, {}).edges, []);
  const graph = graphOf(only, {}, { version: '4.9.99' });
  assert.deepEqual(edges(graph), ['4.9.99 → 4.10.1']);
});

test('P-90 the same payload on two media is one node; another payload of the version is another', () => {
  const graph = graphOf(
    [...releases, release('4.9.0', 'a', { image: `mirror.example/r@${digest('a')}` })],
    {},
  );
  assert.equal(graph.nodes.filter((node) => node.version === '4.9.0').length, 1);
  assert.equal(graph.nodes.filter((node) => node.version === '4.10.1').length, 2);
});

test('property: every edge names two different nodes, whatever the releases say', () => {
  const version = fc.constantFrom('1.0.0', '1.1.0', '1.2.0', '');
  const any = fc
    .record({ version, letter: fc.constantFrom('a', 'b', 'c'), previous: fc.array(version) })
    .map((each) => release(each.version, each.letter, { previous: each.previous }));
  fc.assert(
    fc.property(fc.array(any), version, (all, current) => {
      const graph = graphOf(all, {}, { version: current });
      for (const [from, to] of graph.edges) {
        assert.ok(graph.nodes[from] !== undefined && graph.nodes[to] !== undefined && from !== to);
      }
      assert.equal(new Set(graph.edges.map(String)).size, graph.edges.length);
    }),
  );
});
