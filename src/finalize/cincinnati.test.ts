import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHttpClient } from '../http/client.ts';
import { serve } from '../http/server.ts';
import type { Digest } from '../oci/digest.ts';
import { askGraph, graphUrl, pickUpdate } from './cincinnati.ts';
import { fillUrl, isConfidential, unknownVariable } from './url-template.ts';

/** A variable as configuration writes it. */
const named = (name: string) => ['$', '{', name, '}'].join('');

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const node = (character: string, age: number, more: object = {}) => ({
  version: `41.${age}`,
  payload: character.repeat(64),
  metadata: {
    'org.fedoraproject.coreos.scheme': 'checksum',
    'org.fedoraproject.coreos.releases.age_index': String(age),
    ...more,
  },
});
const at = (character: string, others: string[] = []) => ({
  booted: { image: `ostree@${digest(character)}`, digest: digest(character), version: '41.1' },
  others: others.map((each) => ({ image: `ostree@${digest(each)}`, digest: digest(each) })),
  stream: 'stable',
});
const graph = {
  nodes: [node('1', 1), node('2', 2), node('3', 3), node('0', 0)],
  edges: [
    [0, 1],
    [0, 2],
    [0, 3],
    [1, 2],
  ] as [number, number][],
};

test('the newest release that an edge leads to; never an older one unless it may be', () => {
  assert.equal(pickUpdate(graph, at('1'), false).update?.version, '41.3');
  assert.equal(pickUpdate(graph, at('3'), false).update, undefined);
  assert.equal(pickUpdate(graph, at('9'), false).update, undefined, 'not in the graph');
  const down = { nodes: graph.nodes, edges: [[0, 3]] as [number, number][] };
  assert.equal(pickUpdate(down, at('1'), false).update, undefined);
  assert.equal(pickUpdate(down, at('1'), true).update?.version, '41.0');
});

test('B62 what this host keeps is not offered again: it was rolled back from; the payload alone is compared', () => {
  assert.equal(pickUpdate(graph, at('1', ['3']), false).update?.version, '41.2');
  assert.equal(pickUpdate(graph, at('1', ['2', '3']), false).update, undefined);
});

test('a dead end is told with its reason', () => {
  const dead = node('1', 1, {
    'org.fedoraproject.coreos.updates.deadend': 'true',
    'org.fedoraproject.coreos.updates.deadend_reason': 'https://example.org/why',
  });
  assert.equal(pickUpdate({ nodes: [dead], edges: [] }, at('1'), false).deadend, 'https://example.org/why');
});

test('the question carries zincati’s parameters', () => {
  const url = new URL(
    graphUrl(
      ['http://graph/$', '{group}/'].join(''), // zincati's template
      { basearch: 'x86_64', group: 'workers', nodeUuid: 'abc', platform: 'metal', wariness: 0.5 },
      at('1'),
    ),
  );
  assert.equal(url.pathname, '/workers/v1/graph');
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    basearch: 'x86_64',
    stream: 'stable',
    group: 'workers',
    node_uuid: 'abc',
    platform: 'metal',
    rollout_wariness: '0.500000',
    os_version: '41.1',
    os_checksum: '1'.repeat(64),
  });
  const image = { booted: { image: `quay.io/os@${digest('1')}`, digest: digest('1') } };
  const oci = new URL(graphUrl('http://graph', { basearch: 'x', group: 'g', nodeUuid: 'n' }, image));
  assert.equal(oci.searchParams.get('oci'), 'true');
});

test('a server that lies is an error, never an update', async (t) => {
  let body = '';
  let status = 200;
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: (_, response) => {
      response.writeHead(status);
      response.end(body);
    },
  });
  const http = createHttpClient();
  t.after(async () => {
    await http.close();
    await server.close(0);
  });
  const ask = () =>
    askGraph(
      http,
      `http://127.0.0.1:${server.port}`,
      { basearch: 'x', group: 'g', nodeUuid: 'n' },
      at('1'),
      false,
    );
  for (const lie of ['<html>', 'null', '{}', '{"nodes":[],"edges":[[0,1]]}', '{"nodes":[{}],"edges":[]}']) {
    body = lie;
    await assert.rejects(ask(), /update graph/, lie);
  }
  status = 503;
  await assert.rejects(ask(), /503/);
  status = 302;
  await assert.rejects(ask(), /302/);
  status = 200;
  body = JSON.stringify(graph);
  assert.equal((await ask()).update?.digest, digest('3'));
});

test('a graph is believed over TLS or on the loopback, and elsewhere only where a person has said so', () => {
  for (const [address, confidential] of [
    ['https://updates.example', true],
    ['http://127.0.0.1:8080/x', true],
    ['http://localhost', true],
    ['http://[::1]:80', true],
    ['http://updates.example', false],
    ['http://127.0.0.1.evil.example', false],
    ['http://localhost.evil.example', false],
    [`http://10.0.0.1/${named('group')}`, false],
  ] as const) {
    assert.equal(isConfidential(address), confidential, address);
  }
});

test('addresses may name what zincati’s may, and nothing else; what is filled in stays one part of a path', () => {
  const values = { basearch: 'x86_64', group: 'a/../b', platform: 'qemu', stream: 'stable' };
  assert.equal(
    fillUrl(
      `http://h/${named('basearch')}/${named('group')}/${named('platform')}/${named('stream')}/`,
      values,
    ),
    'http://h/x86_64/a%2F..%2Fb/qemu/stable/',
  );
  assert.equal(unknownVariable(`http://h/${named('group')}/${named('node_uuid')}`), 'node_uuid');
  assert.equal(unknownVariable(`http://h/${named('group')}`), undefined);
});
