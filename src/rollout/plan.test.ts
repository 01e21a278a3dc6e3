import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planRollout, type RolloutNode } from './plan.ts';

const old = `quay.example/os@sha256:${'1'.repeat(64)}`;
const image = `quay.example/os@sha256:${'2'.repeat(64)}`;
const mirrored = image.replace('quay.example', 'mirror.example');

function node(name: string, fields: Partial<RolloutNode> = {}): RolloutNode {
  return {
    name,
    controlPlane: name.startsWith('master'),
    ready: true,
    wantedImage: old,
    bootedImage: old,
    stagedImage: undefined,
    state: 'Steady',
    holds: [],
    ...fields,
  };
}

const updated = { wantedImage: image, bootedImage: image };

test('the control plane is told first, workers wait for all of it', () => {
  const plan = planRollout(image, [node('worker-0'), node('master-1'), node('master-0', updated)]);
  assert.deepEqual(plan.assign, ['master-1']);
  assert.deepEqual(plan.done, ['master-0']);
  assert.deepEqual(
    plan.waiting.map((wait) => [wait.node, wait.reason]),
    [
      ['master-1', 'Staging'],
      ['worker-0', 'ControlPlaneFirst'],
    ],
  );
});

test('workers follow once every control-plane node runs the image and is ready', () => {
  const away = planRollout(image, [node('master-0', { ...updated, ready: false }), node('worker-0')]);
  assert.deepEqual(away.assign, []);
  assert.equal(away.waiting[0]?.reason, 'NodeNotReady');
  assert.deepEqual(planRollout(image, [node('master-0', updated), node('worker-0')]).assign, ['worker-0']);
});

test('a node that was told is not told again, and is done only when it runs the image', () => {
  const plan = planRollout(image, [node('master-0', { wantedImage: image })]);
  assert.deepEqual([plan.assign, plan.done], [[], []]);
});

test('P-90 the same digest by a mirror is the same image', () => {
  const plan = planRollout(image, [node('master-0', { wantedImage: mirrored, bootedImage: mirrored })]);
  assert.deepEqual([plan.assign, plan.done, plan.waiting], [[], ['master-0'], []]);
});

test('what holds a node is told in its own words', () => {
  const holds = [{ reason: 'MarkerMissing', message: 'no marker file', since: '2026-01-01T00:00:00Z' }];
  const plan = planRollout(image, [
    node('master-0', { wantedImage: image, stagedImage: image, state: 'Staged', holds }),
  ]);
  assert.deepEqual(plan.waiting, [
    {
      node: 'master-0',
      reason: 'MarkerMissing',
      message: 'staged and held since 2026-01-01T00:00:00Z: no marker file',
    },
  ]);
});

test('a node without an agent is waited for, not passed over', () => {
  const plan = planRollout(image, [node('master-0', { bootedImage: undefined, state: undefined })]);
  assert.equal(plan.waiting[0]?.reason, 'NoAgent');
});
