import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job, Pod } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';
import { decideJob, type JobDecision } from './job.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => start + seconds * 1000;

function job(spec: Partial<Job['spec']> = {}, status?: Job['status']): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'check', namespace: 'ns', uid: 'j' },
    spec: {
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main' }] } },
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

interface PodFacts {
  readonly exitCode?: number;
  readonly endedAt?: number;
  readonly going?: boolean;
  readonly restarts?: number;
  readonly disrupted?: boolean;
  readonly ready?: boolean;
}

function pod(name: string, phase: NonNullable<Pod['status']>['phase'], facts: PodFacts = {}): Pod {
  const { exitCode, endedAt = 0, going = false, restarts = 0, disrupted = false, ready = false } = facts;
  const ended = phase === 'Succeeded' || phase === 'Failed';
  const code = exitCode ?? (phase === 'Failed' ? 1 : 0);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ns', uid: name, ...(going ? { deletionTimestamp: rfc3339(start) } : {}) },
    spec: { containers: [{ name: 'main' }] },
    status: {
      ...(phase === undefined ? {} : { phase }),
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False' },
        ...(disrupted ? [{ type: 'DisruptionTarget', status: 'True' as const }] : []),
      ],
      containerStatuses: [
        {
          name: 'main',
          ready: false,
          restartCount: restarts,
          image: '',
          imageID: '',
          state: ended ? { terminated: { exitCode: code, finishedAt: rfc3339(at(endedAt)) } } : {},
        },
      ],
    },
  };
}

const running = (name: string) => pod(name, 'Running', { ready: true });
const started = { startTime: rfc3339(start) };

/** The conditions that hold, with their reasons. */
function holding({ status }: JobDecision): string[] {
  return (status.conditions ?? []).map(({ type, status: is, reason }) => `${type}=${is}/${reason}`);
}

test('what a Job needs next', () => {
  const onFailure = { spec: { restartPolicy: 'OnFailure' as const, containers: [{ name: 'main' }] } };
  type Wanted = Partial<{ create: number; remove: string[]; holds: string[]; again: number }>;
  const table: [what: string, Job, Pod[], seconds: number, Wanted][] = [
    ['a new one', job(), [], 0, { create: 1 }],
    ['one that runs', job({}, started), [running('a')], 5, {}],
    ['one that waits for its Pod to start', job({}, started), [pod('a', 'Pending')], 500, {}],
    ['P-40 after a restart the Pod is found again', job(), [running('a')], 0, {}],
    ['three at once', job({ completions: 5, parallelism: 3 }, started), [running('a')], 0, { create: 2 }],
    [
      'only as many as are left',
      job({ completions: 3, parallelism: 3 }, started),
      [pod('a', 'Succeeded'), pod('b', 'Succeeded')],
      1,
      { create: 1 },
    ],
    [
      'too many',
      job({ completions: 5, parallelism: 1 }, started),
      [running('a'), pod('b', 'Pending')],
      1,
      { remove: ['b'] },
    ],
    [
      'a Pod that is going is replaced at once',
      job({}, started),
      [pod('a', 'Running', { going: true })],
      1,
      { create: 1 },
    ],
    [
      'or once it has gone, if asked',
      job({ podReplacementPolicy: 'Failed' } as Partial<Job['spec']>, started),
      [pod('a', 'Running', { going: true })],
      1,
      {},
    ],
    [
      'after a failure it waits 10 s',
      job({}, started),
      [pod('a', 'Failed', { endedAt: 5 })],
      7,
      { again: 8_000 },
    ],
    ['and then goes on', job({}, started), [pod('a', 'Failed', { endedAt: 5 })], 15, { create: 1 }],
    [
      'after the second 20 s',
      job({}, started),
      [pod('a', 'Failed', { endedAt: 5 }), pod('b', 'Failed', { endedAt: 20 })],
      35,
      { again: 5_000 },
    ],
    [
      'at most six minutes',
      job({ backoffLimit: 20 }, started),
      Array.from({ length: 12 }, (_, n) => pod(`p${n}`, 'Failed', { endedAt: 100 })),
      101,
      { again: 359_000 },
    ],
    [
      'a success forgives',
      job({ completions: 2 }, started),
      [pod('a', 'Failed', { endedAt: 5 }), pod('b', 'Succeeded', { endedAt: 20 })],
      21,
      { create: 1 },
    ],
    [
      'its end: first the verdict',
      job({}, started),
      [pod('a', 'Succeeded')],
      9,
      { holds: ['SuccessCriteriaMet=True/CompletionsReached'], again: 0 },
    ],
    [
      'too many failures: first the verdict',
      job({ backoffLimit: 0 }, started),
      [pod('a', 'Failed')],
      9,
      { holds: ['FailureTarget=True/BackoffLimitExceeded'], again: 0 },
    ],
    [
      'failures within the limit',
      job({ backoffLimit: 1 }, started),
      [pod('a', 'Failed')],
      9,
      { again: 1_000 },
    ],
    [
      'restarts count where Pods try again themselves',
      job({ backoffLimit: 2, template: onFailure }, started),
      [pod('a', 'Running', { restarts: 2 })],
      9,
      { holds: ['FailureTarget=True/BackoffLimitExceeded'], again: 0 },
    ],
    [
      'P-02 the deadline counts from the start, Pending included',
      job({ activeDeadlineSeconds: 60 }, started),
      [pod('a', 'Pending')],
      60,
      { holds: ['FailureTarget=True/DeadlineExceeded'], again: 0 },
    ],
    [
      'the deadline is looked at when it comes',
      job({ activeDeadlineSeconds: 60 }, started),
      [pod('a', 'Pending')],
      20,
      { again: 40_000 },
    ],
    [
      'the deadline comes before another try',
      job({ activeDeadlineSeconds: 12 }, started),
      [pod('a', 'Failed', { endedAt: 5 })],
      7,
      { again: 5_000 },
    ],
    [
      'a deadline beats a retry',
      job({ activeDeadlineSeconds: 60, backoffLimit: 6 }, started),
      [],
      61,
      { holds: ['FailureTarget=True/DeadlineExceeded'], again: 0 },
    ],
    [
      'suspended: nothing runs',
      job({ suspend: true }, started),
      [running('a')],
      3,
      { remove: ['a'], holds: ['Suspended=True/JobSuspended'] },
    ],
    [
      'no number of completions: the first success stops the making',
      job({ completions: undefined, parallelism: 2 } as unknown as Partial<Job['spec']>, started),
      [pod('a', 'Succeeded'), running('b')],
      3,
      {},
    ],
    [
      'no number of completions: done when all have ended',
      job({ completions: undefined, parallelism: 2 } as unknown as Partial<Job['spec']>, started),
      [pod('a', 'Succeeded')],
      3,
      { holds: ['SuccessCriteriaMet=True/CompletionsReached'], again: 0 },
    ],
    [
      'indexed Jobs are refused, not run wrongly',
      job({ completionMode: 'Indexed' }),
      [],
      0,
      { holds: ['FailureTarget=True/NotSupported'], again: 0 },
    ],
  ];
  for (const [what, given, pods, seconds, wanted] of table) {
    const decision = decideJob(given, pods, at(seconds));
    const { create = 0, remove = [], holds = [], again } = wanted;
    assert.equal(decision.create, create, what);
    assert.deepEqual(decision.remove, remove, what);
    assert.deepEqual(holding(decision), holds, what);
    if (again === undefined) assert.equal(decision.requeueAfterMs, undefined, what);
    else
      assert.ok(
        Math.abs((decision.requeueAfterMs ?? Number.NaN) - again) <= 50,
        `${what}: ${decision.requeueAfterMs}`,
      );
    assert.equal(decision.expired, false, what);
  }
});

test('a Job ends in steps: verdict, Pods gone, last word', () => {
  const given = job({ completions: 1, parallelism: 2, ttlSecondsAfterFinished: 30 }, started);
  const first = decideJob(given, [pod('a', 'Succeeded'), running('b')], at(9));
  assert.deepEqual(first.remove, [], 'the verdict is on record before anything is removed');
  given.status = first.status;
  const second = decideJob(given, [pod('a', 'Succeeded'), running('b')], at(9));
  assert.deepEqual(second.remove, ['b']);
  const third = decideJob(given, [pod('a', 'Succeeded'), pod('b', 'Running', { going: true })], at(9));
  assert.deepEqual([third.remove, holding(third)], [[], ['SuccessCriteriaMet=True/CompletionsReached']]);
  const last = decideJob(given, [pod('a', 'Succeeded')], at(12));
  assert.deepEqual(holding(last), [
    'SuccessCriteriaMet=True/CompletionsReached',
    'Complete=True/CompletionsReached',
  ]);
  assert.equal(last.status.completionTime, rfc3339(at(12)));
  assert.deepEqual([last.status.active, last.status.succeeded], [0, 1]);
  assert.deepEqual(
    last.events.map(({ reason }) => reason),
    ['Completed'],
  );
  given.status = last.status;
  const waits = decideJob(given, [pod('a', 'Succeeded')], at(20));
  assert.deepEqual([waits.expired, waits.requeueAfterMs, waits.status], [false, 22_050, last.status]);
  assert.equal(decideJob(given, [pod('a', 'Succeeded')], at(42)).expired, true);
  assert.equal(decideJob(given, [], at(12)).status, last.status, 'what has ended does not change any more');
});

test('P-08 a failed Job says why, and no Pod of it is left running', () => {
  const given = job({ backoffLimit: 0, completions: 2, parallelism: 2 }, started);
  given.status = decideJob(given, [pod('a', 'Failed'), running('b')], at(9)).status;
  assert.deepEqual(decideJob(given, [pod('a', 'Failed'), running('b')], at(9)).remove, ['b']);
  const last = decideJob(given, [pod('a', 'Failed')], at(10));
  assert.equal(holding(last).at(-1), 'Failed=True/BackoffLimitExceeded');
  assert.deepEqual(last.events, [
    {
      type: 'Warning',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    },
  ]);
});

test('P-26 podFailurePolicy tells a check that found something from one that was disturbed', () => {
  const podFailurePolicy: Job['spec']['podFailurePolicy'] = {
    rules: [
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [3] } },
      { action: 'Count', onExitCodes: { operator: 'NotIn', values: [3] } },
    ],
  };
  const given = job({ backoffLimit: 0, podFailurePolicy }, started);
  const found = decideJob(given, [pod('a', 'Failed', { exitCode: 3 })], at(1));
  assert.deepEqual(holding(found), ['FailureTarget=True/PodFailurePolicy']);
  assert.equal(
    found.status.conditions?.[0]?.message,
    'Container main for pod ns/a failed with exit code 3 matching FailJob rule at index 1',
  );
  const disturbed = decideJob(given, [pod('a', 'Failed', { exitCode: 143, disrupted: true })], at(1));
  assert.deepEqual([disturbed.create, disturbed.status.failed, holding(disturbed)], [1, 0, []]);
  const counted = decideJob(given, [pod('a', 'Failed', { exitCode: 1 })], at(1));
  assert.deepEqual(holding(counted), ['FailureTarget=True/BackoffLimitExceeded']);
});

test('suspend and resume: the clock of the deadline starts anew', () => {
  const given = job({ suspend: true, activeDeadlineSeconds: 60 }, started);
  const suspended = decideJob(given, [], at(50));
  assert.equal(suspended.status.startTime, undefined);
  assert.deepEqual(
    suspended.events.map(({ reason }) => reason),
    ['Suspended'],
  );
  given.status = suspended.status;
  assert.deepEqual(decideJob(given, [], at(55)).events, [], 'said once');
  given.spec.suspend = false;
  const resumed = decideJob(given, [], at(100));
  assert.deepEqual([resumed.create, resumed.status.startTime], [1, rfc3339(at(100))]);
  assert.deepEqual(holding(resumed), ['Suspended=False/JobResumed']);
  assert.ok(Math.abs((resumed.requeueAfterMs ?? 0) - 60_000) <= 50);
});

test('Pods that were counted stay counted, though somebody has removed them', () => {
  const given = job({ completions: 3 }, { ...started, succeeded: 2, failed: 1 });
  const { create, status } = decideJob(given, [], at(60));
  assert.deepEqual([create, status.succeeded, status.failed], [1, 2, 1]);
});
