import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod, PodSpec, Taint, Toleration } from '../api/core.ts';
import { place, tolerates } from './placement.ts';

function node(name: string, given: Partial<NonNullable<Node['spec']>> & { ready?: string } = {}): Node {
  const { ready = 'True', ...spec } = given;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
    spec,
    status: {
      conditions: [{ type: 'Ready', status: ready as 'True' }],
      allocatable: { cpu: '2', memory: '4Gi', pods: '3' },
    },
  };
}

function pod(name: string, spec: Partial<PodSpec> = {}, owner?: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'ns',
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: owner, uid: owner, controller: true }] }),
    },
    spec: { containers: [{ name: 'main' }], ...spec },
  };
}

const asks = (cpu: string): Partial<PodSpec> => ({
  containers: [{ name: 'main', resources: { requests: { cpu } } }],
});
const cordonTolerated: Toleration = { key: 'node.kubernetes.io/unschedulable', operator: 'Exists' };
const nowhere = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";

test('where a Pod goes', () => {
  const custom: Taint = { key: 'role', value: 'db', effect: 'NoSchedule' };
  const affinity = (operator: string, values: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator, values }] }],
        },
      },
    },
  });
  const table: [what: string, pod: Pod, nodes: Node[], there: Pod[], wanted: string][] = [
    ['no nodes', pod('p'), [], [], 'no nodes available to schedule pods'],
    ['by name where nothing else differs', pod('p'), [node('b'), node('a')], [], 'a'],
    ['the emptier node', pod('p'), [node('a'), node('b')], [pod('x', { nodeName: 'a' })], 'b'],
    [
      'apart from its siblings, though that node is fuller',
      pod('p', {}, 'o'),
      [node('a'), node('b')],
      [pod('s', { nodeName: 'a' }, 'o'), pod('x', { nodeName: 'b' }), pod('y', { nodeName: 'b' })],
      'b',
    ],
    ['not on a cordoned node', pod('p'), [node('a', { unschedulable: true }), node('b')], [], 'b'],
    [
      'P-06 on a cordoned node where that is tolerated',
      pod('p', { tolerations: [cordonTolerated] }),
      [
        node('a', {
          unschedulable: true,
          taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
        }),
      ],
      [],
      'a',
    ],
    ['not on a node that is not ready', pod('p'), [node('a', { ready: 'Unknown' }), node('b')], [], 'b'],
    ['not where a taint forbids', pod('p'), [node('a', { taints: [custom] }), node('b')], [], 'b'],
    [
      'where a taint is borne',
      pod('p', { tolerations: [{ key: 'role', value: 'db', effect: 'NoSchedule' }] }),
      [node('a', { taints: [custom] })],
      [],
      'a',
    ],
    [
      'a taint that only discourages',
      pod('p'),
      [node('a', { taints: [{ key: 'x', effect: 'PreferNoSchedule' }] })],
      [],
      'a',
    ],
    [
      'by nodeSelector',
      pod('p', { nodeSelector: { 'kubernetes.io/hostname': 'b' } }),
      [node('a'), node('b')],
      [],
      'b',
    ],
    [
      'P-04 not where the system is another one',
      pod('p', { nodeSelector: { 'kubernetes.io/os': 'windows' } }),
      [node('a')],
      [],
      nowhere,
    ],
    ['by affinity', pod('p', affinity('NotIn', ['a'])), [node('a'), node('b')], [], 'b'],
    ['by affinity, nowhere', pod('p', affinity('In', ['c'])), [node('a')], [], nowhere],
    [
      'where it has room',
      pod('p', asks('1500m')),
      [node('a'), node('b')],
      [pod('x', { ...asks('1'), nodeName: 'a' })],
      'b',
    ],
    [
      'where it has none',
      pod('p', asks('3')),
      [node('a'), node('b')],
      [],
      '0/2 nodes are available: 2 Insufficient cpu.',
    ],
    [
      'a resource that no node has',
      pod('p', { containers: [{ name: 'm', resources: { limits: { 'example.com/gpu': '1' } } }] }),
      [node('a')],
      [],
      '0/1 nodes are available: 1 Insufficient example.com/gpu.',
    ],
    [
      'too many pods; those that have ended take no room',
      pod('p'),
      [node('a')],
      [
        pod('x', { nodeName: 'a' }),
        pod('y', { nodeName: 'a' }),
        { ...pod('z', { nodeName: 'a' }), status: { phase: 'Succeeded' } },
      ],
      'a',
    ],
    [
      'every reason once, with how many nodes it holds of',
      pod('p', asks('3')),
      [node('a', { unschedulable: true }), node('b', { taints: [custom] }), node('c'), node('d')],
      [],
      '0/4 nodes are available: 1 node(s) had untolerated taint {role: db}, 1 node(s) were unschedulable, 2 Insufficient cpu.',
    ],
  ];
  for (const [what, wants, nodes, there, wanted] of table) {
    const placement = place(wants, nodes, there);
    assert.equal('node' in placement ? placement.node : placement.unschedulable, wanted, what);
  }
});

test('tolerations', () => {
  const taint: Taint = { key: 'k', value: 'v', effect: 'NoExecute' };
  const table: [Toleration, boolean][] = [
    [{ operator: 'Exists' }, true],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ key: 'k', value: 'v' }, true],
    [{ key: 'k', value: 'v', effect: 'NoExecute' }, true],
    [{ key: 'k', value: 'v', effect: 'NoSchedule' }, false],
    [{ key: 'k', value: 'w' }, false],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ value: 'v' }, false],
  ];
  for (const [toleration, wanted] of table) {
    assert.equal(tolerates([toleration], taint), wanted, JSON.stringify(toleration));
  }
  assert.equal(tolerates([], taint), false);
});
