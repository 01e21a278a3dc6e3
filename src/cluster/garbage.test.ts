import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, ObjectMeta } from '../api/core.ts';
import { blocksOwner, decideGarbage, finalizerOf, type OwnerState, waitsFor } from './garbage.ts';
import { createObjectGraph } from './object-graph.ts';
import type { ServedKind } from './served-kinds.ts';

const kind: ServedKind = {
  kind: 'Thing',
  plural: 'things',
  group: '',
  version: 'v1',
  namespaced: true,
  verbs: [],
};

function object(uid: string, owners: string[] = [], more: Partial<ObjectMeta> = {}): KubeObject {
  const reference = (owner: string) => ({ apiVersion: 'v1', kind: 'Thing', name: owner, uid: owner });
  return {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: uid, uid, ownerReferences: owners.map(reference), ...more },
  };
}

test('what becomes of what is owned', () => {
  const table: [states: OwnerState[], blocks: boolean, finalizers: string[], wanted: string][] = [
    [[], false, [], 'keep'],
    [['present'], false, [], 'keep'],
    [['unknown'], false, [], 'keep'],
    [['absent'], false, [], 'delete Background'],
    [['absent', 'absent'], false, [], 'delete Background'],
    [['present', 'absent'], false, [], 'unlink 0'],
    [['absent', 'unknown'], false, [], 'unlink 1'],
    [['present', 'waiting'], false, [], 'unlink 0'],
    [['waiting'], false, [], 'delete Background'],
    [['waiting'], true, [], 'delete Foreground'],
    [['absent'], true, [], 'delete Background'],
    [['absent'], false, ['orphan'], 'delete Orphan'],
    [['absent'], false, ['foregroundDeletion'], 'delete Foreground'],
  ];
  for (const [states, blocks, finalizers, wanted] of table) {
    const owned = object(
      'x',
      states.map((_state, at) => String(at)),
      { finalizers },
    );
    const decision = decideGarbage(owned, states, blocks);
    const said =
      decision.act === 'delete'
        ? `delete ${decision.policy}`
        : decision.act === 'unlink'
          ? `unlink ${decision.ownerReferences.map(({ uid }) => uid)}`
          : 'keep';
    assert.equal(said, wanted, `${states} ${blocks} ${finalizers}`);
  }
  const going = object('x', ['0'], { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.equal(decideGarbage(going, ['absent'], false).act, 'keep', 'what is going already is left to go');
});

test('what waits for its dependents', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  assert.equal(waitsFor(object('x', [], { finalizers: ['foregroundDeletion'] })), undefined);
  for (const waits of ['dependents', 'orphaning'] as const) {
    const finalizers = ['other', finalizerOf(waits)];
    assert.equal(waitsFor(object('x', [], { deletionTimestamp, finalizers })), waits);
  }
  assert.equal(waitsFor(object('x', [], { deletionTimestamp, finalizers: ['other'] })), undefined);
  assert.equal(blocksOwner(object('x', ['o']), 'o'), false);
  const blocking = object('x', ['o']);
  for (const reference of blocking.metadata.ownerReferences ?? []) reference.blockOwnerDeletion = true;
  assert.equal(blocksOwner(blocking, 'o'), true);
});

test('the graph keeps who owns whom, whatever comes first', () => {
  const graph = createObjectGraph();
  const dependents = (uid: string) => graph.dependentsOf(uid).map((node) => node.object.metadata.uid);
  graph.put({ kind, object: object('child', ['parent', 'other']) });
  assert.deepEqual(dependents('parent'), ['child'], 'before its owner was seen');
  graph.put({ kind, object: object('parent') });
  graph.put({ kind, object: object('second', ['parent']) });
  assert.deepEqual(dependents('parent'), ['child', 'second']);
  graph.put({ kind, object: object('child', ['other']) });
  assert.deepEqual(dependents('parent'), ['second'], 'a reference that was dropped');
  graph.remove('parent');
  assert.deepEqual(dependents('parent'), ['second'], 'after its owner has gone');
  graph.remove('second');
  assert.deepEqual(dependents('parent'), []);
  assert.deepEqual(dependents('other'), ['child']);
});
