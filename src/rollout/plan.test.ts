import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planRollout, type RolloutNode } from './plan.ts';
import { type PoolRule, poolRuleDefault } from './rules.ts';

const old = `quay.example/os@sha256:${'1'.repeat(64)}`;
const image = `quay.example/os@sha256:${'2'.repeat(64)}`;
const mirrored = image.replace('quay.example', 'mirror.example');

function node(name: string, fields: Partial<RolloutNode> = {}): RolloutNode {
  return {
    name,
    controlPlane: name.startsWith('master'),
    pool: 'worker',
    ready: true,
    wantedImage: old,
    bootedImage: old,
    stagedImage: undefined,
    state: 'Steady',
    usesLock: true,
    failure: undefined,
    holds: [],
    ...fields,
  };
}

const updated = { wantedImage: image, bootedImage: image };
const told = { wantedImage: image };
const masters = [node('master-0', updated), node('master-1', updated), node('master-2', updated)];
const pool = (fields: Partial<PoolRule> = {}, lockHolds = false) => ({
  pools: new Map([['worker', { ...poolRuleDefault, ...fields }]]),
  lockHolds,
});
const causes = (plan: ReturnType<typeof planRollout>) => plan.waiting.map((wait) => [wait.node, wait.cause]);

test('the control plane is told first, one at a time; workers wait for all of it', () => {
  const plan = planRollout(image, [
    node('worker-0'),
    node('master-1'),
    node('master-2'),
    node('master-0', updated),
  ]);
  assert.deepEqual(plan.assign, ['master-1']);
  assert.deepEqual(plan.done, ['master-0']);
  assert.deepEqual(causes(plan), [
    ['master-1', 'Staging'],
    ['master-2', 'Turn'],
    ['worker-0', 'ControlPlaneFirst'],
  ]);
});

test('while a fleet lock lets nodes go one at a time, all of the control plane may stage ahead', () => {
  const plan = planRollout(image, [node('master-0'), node('master-1'), node('master-2')], pool({}, true));
  assert.deepEqual(plan.assign, ['master-0', 'master-1', 'master-2']);
});

test('a lock that exists holds only the nodes that ask it: one that does not keeps all of them in turn', () => {
  const nodes = [node('master-0'), node('master-1', { usesLock: false }), node('master-2')];
  assert.deepEqual(planRollout(image, nodes, pool({}, true)).assign, ['master-0']);
});

test('no control-plane node is told while another is down: etcd would lose its quorum', () => {
  for (const lockHolds of [false, true]) {
    const plan = planRollout(
      image,
      [node('master-0'), node('master-1'), node('master-2', { ready: false })],
      pool({}, lockHolds),
    );
    // The one that is down may go: the others are a quorum.
    assert.deepEqual(plan.assign, ['master-2']);
    assert.deepEqual(causes(plan).slice(0, 2), [
      ['master-0', 'Quorum'],
      ['master-1', 'Quorum'],
    ]);
  }
});

test('a single node and a pair go while nothing else is wrong', () => {
  assert.deepEqual(planRollout(image, [node('master-0')]).assign, ['master-0']);
  assert.deepEqual(planRollout(image, [node('master-0'), node('master-1')]).assign, ['master-0']);
  assert.deepEqual(planRollout(image, [node('master-0'), node('master-1', { ready: false })]).assign, [
    'master-1',
  ]);
});

test('workers follow once every control-plane node runs the image and is ready', () => {
  const away = planRollout(image, [node('master-0', { ...updated, ready: false }), node('worker-0')]);
  assert.deepEqual(away.assign, []);
  assert.equal(away.waiting[0]?.cause, 'NotReady');
  assert.deepEqual(planRollout(image, [node('master-0', updated), node('worker-0')]).assign, ['worker-0']);
});

test('canaries of a pool go before the others, and the others within its limit', () => {
  const workers = ['worker-0', 'worker-1', 'worker-2', 'worker-3'].map((name) => node(name));
  const rules = pool({ canaries: ['worker-2'], maxUnavailable: 2 });
  const first = planRollout(image, [...masters, ...workers], rules);
  assert.deepEqual(first.assign, ['worker-2']);
  assert.deepEqual(causes(first), [
    ['worker-2', 'Staging'],
    ['worker-0', 'CanariesFirst'],
    ['worker-1', 'CanariesFirst'],
    ['worker-3', 'CanariesFirst'],
  ]);
  const after = planRollout(
    image,
    [...masters, ...workers.map((each) => (each.name === 'worker-2' ? node('worker-2', updated) : each))],
    rules,
  );
  assert.deepEqual(after.assign, ['worker-0', 'worker-1']);
});

test('a worker that is down for its own reasons takes of the limit', () => {
  const workers = [node('worker-0', updated), node('worker-1'), node('worker-2', { ready: false })];
  assert.deepEqual(planRollout(image, [...masters, ...workers], pool({ canaries: 0 })).assign, []);
  assert.deepEqual(
    planRollout(image, [...masters, ...workers], pool({ canaries: 0, maxUnavailable: 2 })).assign,
    ['worker-1'],
  );
});

test('a percentage of a pool is at least one node', () => {
  const workers = [0, 1, 2, 3].map((index) => node(`worker-${index}`));
  const assigned = (maxUnavailable: PoolRule['maxUnavailable']) =>
    planRollout(image, [...masters, ...workers], pool({ maxUnavailable, canaries: 0 })).assign.length;
  assert.deepEqual([assigned('10%'), assigned('50%'), assigned('100%')], [1, 2, 4]);
});

test('pools go side by side; a paused one is given nothing', () => {
  const nodes = [...masters, node('worker-0'), node('edge-0', { pool: 'edge' })];
  assert.deepEqual(planRollout(image, nodes).assign, ['edge-0', 'worker-0']);
  const plan = planRollout(image, nodes, pool({ paused: true }));
  assert.deepEqual(plan.assign, ['edge-0']);
  assert.deepEqual(causes(plan), [
    ['edge-0', 'Staging'],
    ['worker-0', 'Paused'],
  ]);
});

test('a node that fails stops what was not begun; what was told goes on', () => {
  const nodes = [
    ...masters,
    node('worker-0', { ...told, failure: 'it booted the old image again' }),
    node('worker-1', told),
    node('worker-2'),
  ];
  const plan = planRollout(image, nodes, pool({ maxUnavailable: 3, canaries: 0 }));
  assert.deepEqual(plan.assign, []);
  assert.deepEqual(causes(plan), [
    ['worker-0', 'Failed'],
    ['worker-1', 'Staging'],
    ['worker-2', 'Stopped'],
  ]);
  const mended = nodes.map((each) => ({ ...each, failure: undefined }));
  assert.deepEqual(planRollout(image, mended, pool({ maxUnavailable: 3, canaries: 0 })).assign, ['worker-2']);
});

test('a node that was told is not told again, and is done only when it runs the image', () => {
  const plan = planRollout(image, [node('master-0', told)]);
  assert.deepEqual([plan.assign, plan.done], [[], []]);
});

test('P-90 the same digest by a mirror is the same image', () => {
  const plan = planRollout(image, [node('master-0', { wantedImage: mirrored, bootedImage: mirrored })]);
  assert.deepEqual([plan.assign, plan.done, plan.waiting], [[], ['master-0'], []]);
});

test('what holds a node is told in its own words', () => {
  const since = '2026-01-01T00:00:00Z';
  const holds = [{ gate: 'marker_file', reason: 'MarkerMissing', message: 'no marker file', since }];
  const plan = planRollout(image, [
    node('master-0', { ...told, stagedImage: image, state: 'Staged', holds }),
  ]);
  assert.deepEqual(plan.waiting, [
    {
      node: 'master-0',
      cause: 'Held',
      gate: 'marker_file',
      since,
      message: `staged and held since ${since}: no marker file`,
    },
  ]);
});

test('a node without an agent is waited for, not passed over', () => {
  const plan = planRollout(image, [node('master-0', { bootedImage: undefined, state: undefined })]);
  assert.equal(plan.waiting[0]?.cause, 'NoAgent');
});

test('property: whatever the nodes say, limits and quorum hold, and each node is done or waited for', () => {
  const anyNode = (name: string) =>
    fc
      .record({ ready: fc.boolean(), told: fc.boolean(), booted: fc.boolean(), failed: fc.boolean() })
      .map((state) =>
        node(name, {
          ready: state.ready,
          wantedImage: state.told || state.booted ? image : old,
          bootedImage: state.booted ? image : old,
          failure: state.failed ? 'failed' : undefined,
        }),
      );
  const names = ['master-0', 'master-1', 'master-2', 'worker-0', 'worker-1', 'worker-2', 'worker-3'];
  fc.assert(
    fc.property(fc.tuple(...names.map(anyNode)), fc.integer({ min: 1, max: 3 }), (nodes, limit) => {
      const plan = planRollout(image, nodes, pool({ maxUnavailable: limit, canaries: 0 }));
      assert.equal(plan.done.length + plan.waiting.length, nodes.length);
      const away = (prefix: string) =>
        nodes.filter(
          (each) =>
            each.name.startsWith(prefix) &&
            (plan.assign.includes(each.name) ||
              (each.wantedImage === image && !plan.done.includes(each.name))),
        ).length;
      if (plan.assign.some((name) => name.startsWith('master'))) assert.ok(away('master') <= 1);
      if (plan.assign.some((name) => name.startsWith('worker'))) {
        assert.ok(away('worker') <= limit);
        assert.ok(['master-0', 'master-1', 'master-2'].every((name) => plan.done.includes(name)));
      }
    }),
  );
});
