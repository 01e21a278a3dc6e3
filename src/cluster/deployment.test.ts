import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Deployment, LooseCondition, Pod } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';
import { decideDeployment, rollingBounds, templateHash, templateHashLabel } from './deployment.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => start + seconds * 1000;

function deployment(spec: Partial<Deployment['spec']> = {}, image = 'new'): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'ns', uid: 'd', generation: 1 },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image }] } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
      progressDeadlineSeconds: 600,
      ...spec,
    },
  };
}

const hashOf = (image: string) => templateHash(deployment({}, image));

type State = 'pending' | 'running' | 'ready' | 'going' | 'failed';

function pod(name: string, image: 'new' | 'old', state: State, readyAt = 0): Pod {
  const ready = state === 'ready';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'ns',
      uid: name,
      creationTimestamp: rfc3339(at(readyAt)),
      labels: { app: 'web', [templateHashLabel]: hashOf(image) },
      ...(state === 'going' ? { deletionTimestamp: rfc3339(start) } : {}),
    },
    spec: { containers: [], ...(state === 'pending' ? {} : { nodeName: 'n' }) },
    status: {
      phase: state === 'pending' ? 'Pending' : state === 'failed' ? 'Failed' : 'Running',
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: rfc3339(at(readyAt)) },
      ],
    },
  };
}

/** 'new:ready,ready old:going' as Pods. */
function pods(text: string): Pod[] {
  return text.split(' ').flatMap((group) => {
    const [image, states] = group.split(':') as ['new' | 'old', string | undefined];
    return (states ?? '')
      .split(',')
      .filter((state) => state !== '')
      .map((state, n) => pod(`${image}-${n}`, image, state as State));
  });
}

test('the hash of a template: the same for the same, whatever its order; a label by its form', () => {
  const hash = hashOf('new');
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{10}$/);
  assert.notEqual(hash, hashOf('old'));
  const turned = deployment();
  turned.spec.template = JSON.parse(
    '{"spec":{"containers":[{"image":"new","name":"main"}]},"metadata":{"labels":{"app":"web"}}}',
  );
  assert.equal(templateHash(turned), hash);
});

test('the bounds of a rolling update', () => {
  const table: [number, number | string, number | string, [surge: number, unavailable: number]][] = [
    [3, '25%', '25%', [1, 0]],
    [10, '25%', '25%', [3, 2]],
    [1, '25%', '25%', [1, 0]],
    [3, 0, 1, [0, 1]],
    [3, 0, 0, [0, 1]],
    [0, 0, 0, [0, 0]],
    [2, '0%', '10%', [0, 1]],
    [2, 5, 5, [5, 2]],
  ];
  for (const [replicas, maxSurge, maxUnavailable, [surge, unavailable]] of table) {
    const given = deployment({
      replicas,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
    });
    assert.deepEqual(
      rollingBounds(given),
      { surge, unavailable },
      `${replicas} ${maxSurge} ${maxUnavailable}`,
    );
  }
});

test('what a Deployment needs next', () => {
  const recreate = { strategy: { type: 'Recreate' as const } };
  const oneByOne = {
    strategy: { type: 'RollingUpdate' as const, rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
  };
  const table: [what: string, Partial<Deployment['spec']>, Pod[], create: number, remove: string[]][] = [
    ['a new one', {}, [], 3, []],
    ['all there', {}, pods('new:ready,ready,ready'), 0, []],
    ['one evicted: another at once', {}, pods('new:ready,ready,going'), 1, []],
    ['scaled up', { replicas: 5 }, pods('new:ready,ready,ready'), 2, []],
    [
      'scaled down: what is least of use goes',
      { replicas: 1 },
      pods('new:ready,pending,running'),
      0,
      ['new-1', 'new-2'],
    ],
    ['scaled to nothing', { replicas: 0 }, pods('new:ready,ready'), 0, ['new-0', 'new-1']],
    ['a rolling update begins within its surge', {}, pods('old:ready,ready,ready'), 1, []],
    ['it waits for the new Pod', {}, pods('new:running old:ready,ready,ready'), 0, []],
    ['an old one goes for the new one', {}, pods('new:ready old:ready,ready,ready'), 0, ['old-0']],
    ['and on', {}, pods('new:ready old:ready,ready'), 1, []],
    ['the last old one', {}, pods('new:ready,ready,ready old:ready'), 0, ['old-0']],
    [
      'old Pods that are of no use go first',
      {},
      pods('new:running old:ready,running,ready,ready'),
      0,
      ['old-1'],
    ],
    ['without a surge old ones go first', oneByOne, pods('old:ready,ready,ready'), 0, ['old-0']],
    ['without a surge: then a new one', oneByOne, pods('old:ready,ready'), 1, []],
    ['without a surge: and it is waited for', oneByOne, pods('new:running old:ready,ready'), 0, []],
    ['Recreate: all old ones first', recreate, pods('old:ready,ready,ready'), 0, ['old-0', 'old-1', 'old-2']],
    ['Recreate: until they are gone', recreate, pods('old:going'), 0, []],
    ['Recreate: then all new ones', recreate, [], 3, []],
    ['Recreate: its own going Pods hold nothing up', recreate, pods('new:ready,ready,going'), 1, []],
    ['paused: nothing is updated', { paused: true }, pods('old:ready,ready,ready'), 0, []],
    [
      'paused: scaled all the same',
      { paused: true, replicas: 2 },
      pods('old:ready,ready,running'),
      0,
      ['old-2'],
    ],
    ['paused: and kept in number', { paused: true }, pods('old:ready,ready,going'), 1, []],
    ['failed Pods are replaced', {}, pods('new:ready,ready,failed').map((one) => ({ ...one })), 1, []],
  ];
  for (const [what, spec, there, create, remove] of table) {
    const decision = decideDeployment(deployment(spec), there, at(1000));
    assert.equal(decision.create, create, what);
    assert.deepEqual(decision.remove.map(({ metadata }) => metadata.name).sort(), remove, what);
  }
});

test('Pods that fail again and again are made ever slower, and not all of them are kept', () => {
  const failed = [0, 1, 2, 3, 4].map((n) => pod(`f${n}`, 'new', 'failed', 100 + n));
  const decision = decideDeployment(deployment({ replicas: 1 }), failed, at(105));
  assert.equal(decision.create, 0);
  assert.deepEqual(
    decision.remove.map(({ metadata }) => metadata.name),
    ['f0', 'f1'],
  );
  assert.ok((decision.requeueAfterMs ?? 0) > 1_000 && (decision.requeueAfterMs ?? 0) < 9_000);
  assert.equal(decideDeployment(deployment({ replicas: 1 }), failed, at(120)).create, 1);
});

test('minReadySeconds: a Pod counts when it has been ready for that long', () => {
  const given = deployment({ replicas: 1, minReadySeconds: 10 });
  const early = decideDeployment(given, [pod('a', 'new', 'ready', 100)], at(104));
  assert.deepEqual([early.status.readyReplicas, early.status.availableReplicas], [1, 0]);
  assert.equal(early.requeueAfterMs, 6_050);
  const late = decideDeployment(given, [pod('a', 'new', 'ready', 100)], at(110));
  assert.equal(late.status.availableReplicas, 1);
});

/** `type=status/reason` of all conditions. */
const shown = (conditions: readonly LooseCondition[] = []) =>
  conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`);

test('status and conditions of a rollout, from its beginning to its end and past its deadline', () => {
  const given = deployment({ progressDeadlineSeconds: 60 });
  const step = (there: string, seconds: number) => {
    const { status, requeueAfterMs } = decideDeployment(given, pods(there), at(seconds));
    given.status = status;
    return { says: shown(status.conditions), status, requeueAfterMs };
  };
  const first = step('new:', 0);
  assert.deepEqual(first.says, [
    'Available=False/MinimumReplicasUnavailable',
    'Progressing=True/ReplicaSetUpdated',
  ]);
  assert.equal(first.status.observedGeneration, 1);
  assert.equal(first.requeueAfterMs, 60_050);
  const moving = step('new:ready,running,running', 30);
  assert.deepEqual(
    [
      moving.status.replicas,
      moving.status.updatedReplicas,
      moving.status.readyReplicas,
      moving.status.unavailableReplicas,
    ],
    [3, 3, 1, 2],
  );
  assert.equal(moving.requeueAfterMs, 60_050, 'what moves has its time again');
  assert.equal(step('new:ready,running,running', 50).says[1], 'Progressing=True/ReplicaSetUpdated');
  assert.equal(step('new:ready,running,running', 90).says[1], 'Progressing=False/ProgressDeadlineExceeded');
  assert.equal(step('new:ready,running,running', 99).says[1], 'Progressing=False/ProgressDeadlineExceeded');
  assert.equal(
    step('new:ready,ready,running', 100).says[1],
    'Progressing=True/ReplicaSetUpdated',
    'late, but it moves',
  );
  const done = step('new:ready,ready,ready', 110);
  assert.deepEqual(done.says, [
    'Available=True/MinimumReplicasAvailable',
    'Progressing=True/NewReplicaSetAvailable',
  ]);
  assert.equal(done.requeueAfterMs, undefined);
  const lost = step('new:ready,ready,going', 9000);
  assert.equal(lost.says[1], 'Progressing=True/NewReplicaSetAvailable', 'a Pod that is lost is no rollout');
  assert.equal(lost.says[0], 'Available=False/MinimumReplicasUnavailable');
  step('new:ready,ready,ready', 9001);
  given.spec.template.spec.containers = [{ name: 'main', image: 'newer' }];
  given.metadata.generation = 2;
  const next = step('new:ready,ready,ready', 9100);
  assert.equal(next.says[1], 'Progressing=True/ReplicaSetUpdated');
  assert.deepEqual([next.status.observedGeneration, next.status.updatedReplicas], [2, 0]);
  given.spec.paused = true;
  assert.equal(step('new:ready,ready,ready', 9101).says[1], 'Progressing=Unknown/DeploymentPaused');
  given.spec.paused = false;
  assert.equal(step('new:ready,ready,ready', 9999).says[1], 'Progressing=Unknown/DeploymentResumed');
});

test('a failure to create is taken back when all Pods are there', () => {
  const failure: LooseCondition = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' };
  const given = deployment();
  given.status = { conditions: [failure] };
  assert.ok(
    shown(decideDeployment(given, [], at(0)).status.conditions).includes('ReplicaFailure=True/FailedCreate'),
  );
  const there = decideDeployment(given, pods('new:running,running,running'), at(0)).status.conditions;
  assert.equal(
    there?.some(({ type }) => type === 'ReplicaFailure'),
    false,
  );
});

test('whatever happens to Pods, a rolling update keeps its bounds and comes to its end', () => {
  const bound = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('0%', '25%', '50%', '100%'));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 7 }),
      bound,
      bound,
      fc.array(fc.nat(), { maxLength: 40 }),
      (replicas, maxSurge, maxUnavailable, events) => {
        const given = deployment({
          replicas,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
        });
        const { surge, unavailable } = rollingBounds(given);
        const world = new Map(
          Array.from({ length: replicas }, (_, n) => [`old-${n}`, pod(`old-${n}`, 'old', 'ready')]),
        );
        let names = 0;
        const becomes = (name: string, state: State) => {
          const image = name.startsWith('old') ? 'old' : 'new';
          world.set(name, pod(name, image, state));
        };
        const isReady = (one: Pod) => one.status?.conditions?.[0]?.status === 'True';
        const settle = () => {
          for (let round = 0; round < 30; round += 1) {
            const before = [...world.values()].filter(isReady).length;
            const { create, remove } = decideDeployment(given, [...world.values()], at(0));
            if (create === 0 && remove.length === 0) return;
            for (const { metadata } of remove) world.delete(metadata.name);
            for (let n = 0; n < create; n += 1) becomes(`new-${names++}`, 'pending');
            const ready = [...world.values()].filter(isReady).length;
            assert.ok(world.size <= replicas + surge, `${world.size} Pods are too many`);
            assert.ok(
              ready >= Math.min(before, replicas - unavailable),
              `only ${ready} of ${before} are left`,
            );
          }
          assert.fail('it never comes to rest');
        };
        settle();
        for (const event of events) {
          const all = [...world.keys()];
          const name = all[event % all.length];
          if (name === undefined) continue;
          const kinds: (State | 'gone')[] = ['ready', 'ready', 'running', 'gone'];
          const what = kinds[Math.floor(event / 64) % kinds.length] ?? 'ready';
          if (what === 'gone') world.delete(name);
          else becomes(name, what);
          settle();
        }
        for (let round = 0; round < 4 * replicas + 4; round += 1) {
          for (const name of world.keys()) becomes(name, 'ready');
          settle();
        }
        assert.equal(world.size, replicas);
        assert.ok(
          [...world.keys()].every((name) => name.startsWith('new')),
          [...world.keys()].join(),
        );
      },
    ),
  );
});
