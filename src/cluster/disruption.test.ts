import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment, Pod, PodDisruptionBudget } from '../api/core.ts';
import { decideBudget } from './disruption.ts';

const now = Date.parse('2026-01-01T00:10:00Z');
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString().replace('.000', '');

function pod(
  name: string,
  given: { ready?: boolean; going?: boolean; owner?: string; ended?: boolean } = {},
): Pod {
  const { ready = true, going = false, owner, ended = false } = given;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'ns',
      labels: { app: 'a' },
      ...(going ? { deletionTimestamp: at(0) } : {}),
      ...(owner === undefined
        ? {}
        : {
            ownerReferences: [
              {
                apiVersion: 'apps/v1',
                kind: owner.split('/')[0] ?? '',
                name: owner,
                uid: owner,
                controller: true,
              },
            ],
          }),
    },
    spec: { containers: [] },
    status: {
      phase: ended ? 'Succeeded' : 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

function deployment(uid: string, replicas: number): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: uid, uid },
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
  };
}

function budget(
  spec: PodDisruptionBudget['spec'],
  disruptedPods?: Record<string, string>,
): PodDisruptionBudget {
  const counts = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b', generation: 3 },
    spec: { selector: { matchLabels: { app: 'a' } }, ...spec },
    ...(disruptedPods === undefined ? {} : { status: { ...counts, disruptedPods } }),
  };
}

const three = [1, 2, 3].map((n) => pod(`p${n}`, { owner: 'Deployment/d' }));
const d = deployment('Deployment/d', 3);

test('how many Pods a budget lets go', () => {
  type Wanted = [allowed: number, healthy: number, desired: number, expected: number];
  const table: [string, PodDisruptionBudget, Pod[], Deployment[], Wanted][] = [
    ['minAvailable', budget({ minAvailable: 2 }), three, [d], [1, 3, 2, 3]],
    ['minAvailable that all are needed for', budget({ minAvailable: 3 }), three, [d], [0, 3, 3, 3]],
    ['minAvailable above all', budget({ minAvailable: 5 }), three, [d], [0, 3, 5, 3]],
    ['a percentage is rounded up', budget({ minAvailable: '50%' }), three, [d], [1, 3, 2, 3]],
    ['maxUnavailable', budget({ maxUnavailable: 1 }), three, [d], [1, 3, 2, 3]],
    ['maxUnavailable 0', budget({ maxUnavailable: 0 }), three, [d], [0, 3, 3, 3]],
    [
      'maxUnavailable of what is wanted, not of what is there',
      budget({ maxUnavailable: 1 }),
      three.slice(1),
      [d],
      [0, 2, 2, 3],
    ],
    [
      'one is not ready',
      budget({ maxUnavailable: 1 }),
      [...three.slice(1), pod('x', { ready: false, owner: 'Deployment/d' })],
      [d],
      [0, 2, 2, 3],
    ],
    [
      'one is going',
      budget({ maxUnavailable: 1 }),
      [...three, pod('x', { going: true, owner: 'Deployment/d' })],
      [d],
      [1, 3, 2, 3],
    ],
    ['nothing is chosen', budget({ maxUnavailable: 1 }), [], [d], [0, 0, 0, 0]],
    ['an empty selector chooses all', budget({ minAvailable: 1, selector: {} }), three, [d], [2, 3, 1, 3]],
    ['no selector chooses none', budget({ minAvailable: 1, selector: null }), three, [d], [0, 0, 1, 0]],
    ['Pods of nobody, counted', budget({ minAvailable: 1 }), [pod('x'), pod('y')], [], [1, 2, 1, 2]],
    [
      'ended Pods are not expected',
      budget({ minAvailable: 1 }),
      [pod('x'), pod('y', { ended: true, ready: false })],
      [],
      [0, 1, 1, 1],
    ],
    ['Pods of nobody have no scale', budget({ maxUnavailable: 1 }), [pod('x')], [], [0, 1, 0, 0]],
    ['let go and not gone yet', budget({ maxUnavailable: 1 }, { p1: at(-10) }), three, [d], [0, 2, 2, 3]],
    [
      'let go too long ago to be true',
      budget({ maxUnavailable: 1 }, { p1: at(-121) }),
      three,
      [d],
      [1, 3, 2, 3],
    ],
    ['let go and gone', budget({ maxUnavailable: 1 }, { p9: at(-10) }), three, [d], [1, 3, 2, 3]],
  ];
  for (const [what, given, pods, deployments, wanted] of table) {
    const { status } = decideBudget(given, pods, deployments, now);
    const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } = status;
    assert.deepEqual([disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods], wanted, what);
    assert.equal(status.observedGeneration, 3, what);
    const [condition] = status.conditions ?? [];
    assert.equal(condition?.reason, wanted[0] > 0 ? 'SufficientPods' : 'InsufficientPods', what);
  }
});

test('an eviction that is not confirmed is looked at again when it stops counting', () => {
  const { status, requeueAfterMs } = decideBudget(
    budget({ maxUnavailable: 1 }, { p1: at(-10) }),
    three,
    [d],
    now,
  );
  assert.deepEqual(status.disruptedPods, { p1: at(-10) });
  assert.equal(requeueAfterMs, 110_000);
  const gone = decideBudget(budget({ maxUnavailable: 1 }, { p9: at(-10) }), three, [d], now);
  assert.equal(gone.status.disruptedPods, undefined);
  assert.equal(gone.requeueAfterMs, undefined);
});

test('a budget that cannot be counted lets nobody go', () => {
  const { status } = decideBudget(budget({ maxUnavailable: 1 }), [pod('x', { owner: 'Job/j' })], [], now);
  assert.equal(status.disruptionsAllowed, 0);
  assert.equal(status.conditions?.[0]?.reason, 'SyncFailed');
  assert.match(status.conditions?.[0]?.message ?? '', /does not implement the scale subresource/);
});
