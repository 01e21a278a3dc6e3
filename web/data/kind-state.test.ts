import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../src/api/core.ts';
import { firstState, type KindEvent, type KindState, step } from './kind-state.ts';

const object = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, resourceVersion },
});

function run(events: readonly KindEvent<KubeObject>[]) {
  let state: KindState<KubeObject> = firstState;
  const effects: string[] = [];
  for (const event of events) {
    const next = step(state, event);
    state = next.state;
    const { effect } = next;
    if (effect.do !== 'nothing')
      effects.push(effect.do === 'watch' ? `watch ${effect.resourceVersion}` : effect.do);
  }
  return { state, effects, names: [...state.objects.keys()] };
}

const listed = { kind: 'listed', items: [object('a', '5'), object('b', '7')], resourceVersion: '9' } as const;
const gone = { kind: 'failed', failure: { status: 0, message: 'no answer' }, now: 1000 } as const;

test('a kind is listed, then watched from there', () => {
  const { state, effects, names } = run([{ kind: 'start' }, listed, { kind: 'opened' }]);
  assert.deepEqual(effects, ['list', 'watch 9']);
  assert.deepEqual(names, ['a', 'b']);
  assert.deepEqual(state.at, { phase: 'watching', open: true });
  assert.equal(state.staleSince, undefined);
});

test('changes move the objects and the version that a later watch goes on from', () => {
  const { effects, names } = run([
    { kind: 'start' },
    listed,
    { kind: 'opened' },
    {
      kind: 'changed',
      changes: [
        { type: 'ADDED', object: object('c', '10') },
        { type: 'DELETED', object: object('a', '11') },
        { type: 'BOOKMARK', object: { metadata: { resourceVersion: '30' } } },
      ],
    },
    { kind: 'ended' },
  ]);
  assert.deepEqual(names, ['b', 'c']);
  assert.deepEqual(effects, ['list', 'watch 9', 'watch 30']);
});

test('what is known stays, marked as old, while nobody answers; then the watch goes on', () => {
  const down = run([{ kind: 'start' }, listed, { kind: 'opened' }, gone]);
  assert.deepEqual(down.names, ['a', 'b']);
  assert.equal(down.state.staleSince, 1000);
  assert.deepEqual(down.effects.at(-1), 'wait');
  const up = run([{ kind: 'start' }, listed, { kind: 'opened' }, gone, { kind: 'due' }, { kind: 'opened' }]);
  assert.deepEqual(up.effects, ['list', 'watch 9', 'wait', 'watch 9']);
  assert.equal(up.state.staleSince, undefined);
  assert.equal(up.state.failures, 0);
});

test('it stays old until the cluster has really taken the watch up', () => {
  const { state } = run([{ kind: 'start' }, listed, { kind: 'opened' }, gone, { kind: 'due' }]);
  assert.equal(state.staleSince, 1000);
  const again = run([{ kind: 'start' }, listed, gone, { kind: 'due' }, { ...gone, now: 9000 }]);
  assert.equal(again.state.staleSince, 1000, 'since the first failure');
  assert.equal(again.state.failures, 2);
});

test('a version that is no longer kept leads to a new list, and nothing flickers meanwhile', () => {
  const expired = { kind: 'failed', failure: { status: 410, message: 'too old' }, now: 1 } as const;
  const { effects, names, state } = run([{ kind: 'start' }, listed, { kind: 'opened' }, expired]);
  assert.deepEqual(effects, ['list', 'watch 9', 'list']);
  assert.deepEqual(names, ['a', 'b']);
  assert.deepEqual(state.at, { phase: 'listing' });
});

test('what may not be seen any more is not shown any more', () => {
  const forbidden = { kind: 'failed', failure: { status: 403, message: 'no' }, now: 1 } as const;
  const { effects, names, state } = run([{ kind: 'start' }, listed, { kind: 'opened' }, forbidden]);
  assert.deepEqual(names, []);
  assert.equal(state.at.phase, 'refused');
  assert.deepEqual(effects, ['list', 'watch 9'], 'and it is not asked again and again');
});

test('a kind that the cluster does not know is absent, not empty', () => {
  const { state } = run([
    { kind: 'start' },
    { kind: 'failed', failure: { status: 404, message: 'not found' }, now: 1 },
  ]);
  assert.deepEqual(state.at, { phase: 'absent' });
  assert.equal(state.listed, false);
});
