import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../api/core.ts';
import { kindTable } from '../api/kinds.ts';
import type { KubeClient } from '../kube/client.ts';
import { ApiError } from '../kube/error.ts';
import { drainOnce, podsToEvict } from './drain.ts';

const node = (name: string, unschedulable = false): Node =>
  ({
    metadata: { name },
    spec: { unschedulable },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }) as unknown as Node;
const pod = (name: string, more: object = {}): Pod =>
  ({ metadata: { name, namespace: 'default', uid: name, ...more } }) as unknown as Pod;

test('B44 an eviction that is refused keeps the node from its reboot, and no other pod from being tried', async () => {
  const tried: string[] = [];
  const client = {
    kinds: kindTable('standalone'),
    tryGet: async () => node('a', true),
    patch: async () => ({}),
    evict: async (_: string, name: string) => {
      tried.push(name);
      if (name === 'forbidden') throw new ApiError(403, 'Forbidden', 'no right');
      if (name === 'broken') throw new ApiError(500, 'InternalError', 'boom');
      if (name === 'budget') return { outcome: 'Blocked', message: 'a budget forbids it' };
      return { outcome: 'Evicted' };
    },
  } as unknown as KubeClient;
  const pods = ['forbidden', 'broken', 'budget', 'fine'].map((name) => pod(name));
  const progress = await drainOnce(client, 'a', [node('a', true), node('b')], pods);
  assert.deepEqual(tried, ['forbidden', 'broken', 'budget', 'fine']);
  assert.equal(progress.kind, 'waiting');
  assert.match(progress.kind === 'waiting' ? progress.message : '', /a budget forbids it/);
  const ending = [pod('fine'), pod('old', { deletionTimestamp: '2026-01-01T00:00:00Z' })];
  assert.deepEqual(await drainOnce(client, 'a', [node('a', true), node('b')], ending), {
    kind: 'waiting',
    message: 'waiting for default/fine, which is ending; default/old, which is ending',
  });
});

test('a node with nowhere to move its pods to is not drained, nor are pods that belong to it', async () => {
  const untouched = new Proxy({} as KubeClient, {
    get() {
      throw new Error('nothing is asked');
    },
  });
  assert.deepEqual(await drainOnce(untouched, 'a', [node('a'), node('b', true)], [pod('x')]), {
    kind: 'drained',
  });
  const own = [
    pod('mirror', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
    pod('daemon', { ownerReferences: [{ kind: 'DaemonSet', controller: true }] }),
    { ...pod('done'), status: { phase: 'Succeeded' } } as Pod,
    pod('moves'),
  ];
  assert.deepEqual(
    podsToEvict(own).map(({ metadata }) => metadata.name),
    ['moves'],
  );
});
