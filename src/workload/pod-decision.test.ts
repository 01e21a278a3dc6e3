import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../api/core.ts';
import { decidePod, type PodFacts, type SeenContainer } from './pod-decision.ts';
import { podStatus } from './pod-status.ts';

const second = 1000;
const t0 = Date.parse('2026-01-01T00:00:00Z');

function pod(spec: Partial<PodSpec>, more: Partial<Pod> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { containers: [{ name: 'main', image: 'i' }], restartPolicy: 'Never', ...spec },
    ...more,
  };
}

function facts(containers: SeenContainer[], more: Partial<PodFacts> = {}): PodFacts {
  const running = containers.filter(({ state }) => state.phase === 'running');
  return {
    now: t0,
    containers,
    images: new Map(),
    blocked: new Map(),
    startedAt: t0,
    ready: new Set(running.map(({ id }) => id)),
    unhealthy: new Set(),
    ...more,
  };
}

function running(container: string, attempt = 0): SeenContainer {
  return {
    id: `${container}-${attempt}`,
    container,
    attempt,
    state: { phase: 'running', startedAt: t0 - second },
  };
}

function exited(container: string, exitCode: number, attempt = 0, ago = second, ran = second): SeenContainer {
  return {
    id: `${container}-${attempt}`,
    container,
    attempt,
    state: {
      phase: 'exited',
      startedAt: t0 - ago - ran,
      finishedAt: t0 - ago,
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      message: '',
    },
  };
}

function look(of: Pod, known: PodFacts) {
  const decision = decidePod(of, known);
  const status = podStatus(of, known, decision, { address: '10.0.0.1', runner: 'podman' });
  return { decision, status, starts: decision.start.map((one) => `${one.container.name}/${one.attempt}`) };
}

const withInit: Partial<PodSpec> = {
  initContainers: [
    { name: 'a', image: 'i' },
    { name: 'b', image: 'i' },
  ],
};

test('init containers run one after another, then all others', () => {
  const of = pod({ ...withInit, containers: [{ name: 'x' }, { name: 'y' }] });
  assert.deepEqual(look(of, facts([])).starts, ['a/0']);
  assert.deepEqual(look(of, facts([running('a')])).starts, []);
  assert.deepEqual(look(of, facts([exited('a', 0)])).starts, ['b/0']);
  const both = look(of, facts([exited('a', 0), exited('b', 0)]));
  assert.deepEqual(both.starts, ['x/0', 'y/0']);
  assert.equal(both.status.phase, 'Pending');
  const first = look(of, facts([exited('a', 0), running('b')]));
  assert.equal(first.status.containerStatuses?.[0]?.state?.waiting?.reason, 'PodInitializing');
  assert.equal(
    first.status.conditions?.find(({ type }) => type === 'Initialized')?.message,
    'containers with incomplete status: [b]',
  );
});

test('a failed init container fails a Pod that never restarts', () => {
  const never = look(pod(withInit), facts([exited('a', 1)]));
  assert.deepEqual(never.starts, []);
  assert.equal(never.status.phase, 'Failed');
  const always = look(pod({ ...withInit, restartPolicy: 'Always' }), facts([exited('a', 1)]));
  assert.deepEqual(always.starts, ['a/1']);
  assert.equal(always.status.phase, 'Pending');
});

test('restart policy × exit code', () => {
  const table: [PodSpec['restartPolicy'], number, string[], string][] = [
    ['Never', 0, [], 'Succeeded'],
    ['Never', 1, [], 'Failed'],
    ['OnFailure', 0, [], 'Succeeded'],
    ['OnFailure', 1, ['main/1'], 'Running'],
    ['Always', 0, ['main/1'], 'Running'],
    ['Always', 1, ['main/1'], 'Running'],
  ];
  for (const [policy, code, starts, phase] of table) {
    const seen = look(pod({ restartPolicy: policy ?? 'Always' }), facts([exited('main', code)]));
    assert.deepEqual(seen.starts, starts, `${policy} ${code}`);
    assert.equal(seen.status.phase, phase, `${policy} ${code}`);
  }
});

test('restarts wait 0, 10, 20, 40 … at most 300 s, and not after ten good minutes', () => {
  const of = pod({ restartPolicy: 'Always' });
  const waits = [0, 1, 2, 3, 4, 5, 6, 7, 20].map((attempt) => {
    const { decision } = look(of, facts([exited('main', 1, attempt, 0)]));
    return ((decision.nextAt ?? t0) - t0) / second;
  });
  assert.deepEqual(waits, [0, 10, 20, 40, 80, 160, 300, 300, 300]);
  const long = look(of, facts([exited('main', 1, 5, 0, 601 * second)]));
  assert.deepEqual(long.starts, ['main/6']);
  const off = look(of, facts([exited('main', 1, 1, 0)])).status.containerStatuses?.[0];
  assert.equal(off?.state?.waiting?.reason, 'CrashLoopBackOff');
  assert.equal(off?.restartCount, 1);
  assert.equal(off?.lastState?.terminated?.exitCode, 1);
});

test('a Pod that is deleted is stopped with its grace, and ended when nothing runs', () => {
  const metadata = {
    name: 'p',
    namespace: 'n',
    uid: 'u',
    deletionTimestamp: '2026-01-01T00:00:10Z',
    deletionGracePeriodSeconds: 7,
  };
  const of = pod({ restartPolicy: 'Always' }, { metadata });
  const alive = look(of, facts([running('main')]));
  assert.deepEqual(
    alive.decision.stop.map(({ id, graceMs }) => [id, graceMs]),
    [['main-0', 7000]],
  );
  assert.equal(alive.decision.ended, false);
  const ended = look(of, facts([exited('main', 143)]));
  assert.equal(ended.decision.ended, true);
  assert.deepEqual(ended.starts, []);
  assert.equal(ended.status.phase, 'Failed');
  assert.equal(look(of, facts([exited('main', 0)])).status.phase, 'Succeeded');
});

test('a deadline counts from the start of the Pod, waiting included; the Pod fails when its containers have ended', () => {
  const of = pod({ activeDeadlineSeconds: 5 });
  assert.equal(look(of, facts([])).decision.nextAt, t0 + 5 * second);
  const late = { now: t0 + 5 * second };
  const alive = look(of, facts([running('main')], late));
  assert.equal(alive.decision.failed?.reason, 'DeadlineExceeded');
  assert.equal(alive.decision.stop.length, 1);
  assert.equal(alive.status.phase, 'Pending');
  const ended = look(of, facts([exited('main', 143)], late));
  assert.equal(ended.status.phase, 'Failed');
  assert.equal(ended.status.reason, 'DeadlineExceeded');
});

test('an ended Pod stays ended: nothing is started, its reason is kept', () => {
  const status = { phase: 'Failed' as const, reason: 'DeadlineExceeded', message: 'm' };
  const seen = look(pod({ restartPolicy: 'Always' }, { status }), facts([]));
  assert.deepEqual(seen.starts, []);
  assert.equal(seen.status.phase, 'Failed');
  assert.equal(seen.status.reason, 'DeadlineExceeded');
});

test('a failed pull is shown as itself first, then as the wait', () => {
  const failed = (failedAgo: number) =>
    new Map([
      [
        'main',
        {
          state: 'failed' as const,
          reason: 'ErrImagePull' as const,
          message: 'manifest unknown',
          failedAt: t0 - failedAgo,
          retryAt: t0 + 10 * second,
        },
      ],
    ]);
  const waiting = (ago: number) =>
    look(pod({}), facts([], { images: failed(ago) })).status.containerStatuses?.[0]?.state?.waiting;
  assert.deepEqual(waiting(0), { reason: 'ErrImagePull', message: 'manifest unknown' });
  assert.deepEqual(waiting(3 * second), {
    reason: 'ImagePullBackOff',
    message: 'Back-off pulling image "i": ErrImagePull: manifest unknown',
  });
});

test('readiness: all containers, and the conditions say which are not', () => {
  const of = pod({ containers: [{ name: 'x' }, { name: 'y' }], restartPolicy: 'Always' });
  const ready = (ids: string[]) =>
    look(of, facts([running('x'), running('y')], { ready: new Set(ids) })).status.conditions?.find(
      ({ type }) => type === 'Ready',
    );
  assert.equal(ready(['x-0', 'y-0'])?.status, 'True');
  assert.equal(ready(['x-0'])?.message, 'containers with unready status: [y]');
});

test('conditions of others are kept, and a time moves only with its status', () => {
  const old = '2025-12-31T00:00:00Z';
  const status = {
    phase: 'Running' as const,
    conditions: [
      { type: 'PodScheduled', status: 'True' as const, lastTransitionTime: old },
      { type: 'Initialized', status: 'True' as const, lastTransitionTime: old },
      { type: 'Ready', status: 'False' as const, lastTransitionTime: old },
    ],
  };
  const { conditions } = look(pod({ restartPolicy: 'Always' }, { status }), facts([running('main')])).status;
  const time = (type: string) => conditions?.find((one) => one.type === type)?.lastTransitionTime;
  assert.equal(time('PodScheduled'), old);
  assert.equal(time('Initialized'), old);
  assert.equal(time('Ready'), '2026-01-01T00:00:00Z');
});
