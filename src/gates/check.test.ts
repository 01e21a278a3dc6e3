import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type CheckObservation, checkOutcome, type JobView } from './check.ts';
import type { ContainerView, PodView } from './pod.ts';

const identity = { runID: 'r1', check: 'demo', targetDigest: `sha256:${'b'.repeat(64)}` };

function frame(fields: object): Uint8Array {
  const body = Buffer.from(JSON.stringify({ ...identity, ...fields }));
  const hash = createHash('sha256').update(body).digest('hex');
  return Buffer.concat([
    Buffer.from(`talk\nSLUICE-RESULT v1 ${body.length} ${hash}\n`),
    body,
    Buffer.from('\nmore\n'),
  ]);
}

const blockingRisk = { risks: [{ name: 'LegacyMode', severity: 'blocking', message: 'legacyMode is on' }] };

function job(...conditions: JobView['conditions'][number][]): JobView {
  return { name: 'demo-r1', createdAt: 0, conditions };
}

function pod(fields: Partial<PodView> & { containers?: ContainerView[] } = {}): PodView {
  return { name: 'demo-r1-x', createdAt: 0, scheduledAt: 0, phase: 'Pending', containers: [], ...fields };
}

function seen(fields: Partial<CheckObservation>): CheckObservation {
  return {
    identity,
    now: 1000,
    deadline: 600_000,
    jobWasSeen: true,
    job: job(),
    pods: [],
    events: [],
    ...fields,
  };
}

const waiting = (reason: string, message: string): ContainerView => ({
  name: 'check',
  init: false,
  waiting: { reason, message },
});
const ended = (exitCode: number, reason = 'Completed', init = false): ContainerView => ({
  name: 'check',
  init,
  terminated: { exitCode, reason, message: '' },
});
const complete = { type: 'Complete', status: 'True' };

const cases: [string, Partial<CheckObservation>, string, RegExp][] = [
  [
    'P-08 a Job that was given up on ends it at once',
    { job: job({ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'm' }) },
    'Error BackoffLimitExceeded',
    /m/,
  ],
  [
    'P-12 CreateContainerConfigError fails fast',
    {
      pods: [
        pod({
          containers: [
            waiting('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root'),
          ],
        }),
      ],
    },
    'Error CreateContainerConfigError',
    /runAsNonRoot/,
  ],
  [
    'P-16 a first pull back-off is waited out',
    { now: 20_000, pods: [pod({ containers: [waiting('ErrImagePull', 'connection refused')] })] },
    'Running Running',
    /connection refused/,
  ],
  [
    'P-16 pulls that fail for longer are an error',
    { now: 61_000, pods: [pod({ containers: [waiting('ImagePullBackOff', 'Back-off pulling image')] })] },
    'Error ImagePullFailed',
    /Back-off/,
  ],
  [
    'P-16 manifest unknown is fatal at once',
    { pods: [pod({ containers: [waiting('ErrImagePull', 'reading manifest: manifest unknown')] })] },
    'Error ImagePullFailed',
    /manifest unknown/,
  ],
  [
    'P-16 unknown to one mirror, while another did not answer, is waited out',
    {
      pods: [pod({ containers: [waiting('ErrImagePull', 'a: manifest unknown; b: connection refused')] })],
    },
    'Running Running',
    /connection refused/,
  ],
  [
    'P-02 the init container counts too',
    {
      pods: [
        pod({
          containers: [
            { name: 'payload', init: true, waiting: { reason: 'ErrImagePull', message: 'manifest unknown' } },
          ],
        }),
      ],
    },
    'Error ImagePullFailed',
    /container payload/,
  ],
  [
    'P-18 quota shows in the events only',
    {
      now: 16_000,
      events: [{ reason: 'FailedCreate', message: 'pods "x" is forbidden: exceeded quota: q' }],
    },
    'Error QuotaExceeded',
    /exceeded quota/,
  ],
  [
    'P-18 refused creation has its grace',
    { now: 5_000, events: [{ reason: 'FailedCreate', message: 'serviceaccount not found' }] },
    'Running Running',
    /no pod yet/,
  ],
  [
    'P-24 admission that refuses the pod',
    {
      now: 16_000,
      events: [{ reason: 'FailedCreate', message: 'violates PodSecurity "restricted:latest"' }],
    },
    'Error PodRefused',
    /PodSecurity/,
  ],
  ['P-20 a Job without pods and events', { now: 61_000 }, 'Error NotStarted', /no pod after 61 s/],
  [
    'P-06 no node takes the pod',
    {
      now: 61_000,
      pods: [
        {
          name: 'p',
          createdAt: 0,
          phase: 'Pending',
          unschedulable: '0/1 nodes are available',
          containers: [],
        },
      ],
    },
    'Error Unschedulable',
    /0\/1 nodes/,
  ],
  [
    'P-26 exit code 143 is no verdict',
    { pods: [pod({ containers: [ended(143, 'Error')] })] },
    'Error Terminated',
    /143/,
  ],
  [
    'P-26 137 with OOMKilled',
    { pods: [pod({ containers: [ended(137, 'OOMKilled')] })] },
    'Error OOMKilled',
    /memory/,
  ],
  [
    'P-26 137 without a reason',
    { pods: [pod({ containers: [ended(137, 'Error')] })] },
    'Error Killed',
    /137/,
  ],
  [
    'an evicted pod',
    { pods: [pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' })] },
    'Error Evicted',
    /low on resource/,
  ],
  [
    'the payload could not be copied',
    { pods: [pod({ containers: [ended(127, 'Error', true)] })] },
    'Error InitFailed',
    /127/,
  ],
  [
    'any other exit code',
    { pods: [pod({ containers: [ended(1, 'Error')] })], log: { bytes: frame({}) } },
    'Error CheckFailed',
    /exit code 1/,
  ],
  [
    'DeadlineExceeded of the Job',
    {
      job: job({
        type: 'Failed',
        status: 'True',
        reason: 'DeadlineExceeded',
        message: 'Job was active longer than specified deadline',
      }),
    },
    'Error DeadlineExceeded',
    /longer than/,
  ],
  [
    'P-126 our own deadline tells the last state',
    {
      now: 700_000,
      pods: [pod({ phase: 'Running', containers: [{ name: 'check', init: false, running: true }] })],
    },
    'Error DeadlineExceeded',
    /is Running/,
  ],
  ['a Job that somebody deleted', { job: undefined }, 'Error JobVanished', /deleted/],
  ['a Job that is not created yet', { job: undefined, jobWasSeen: false }, 'Running Running', /not created/],
  [
    'garbage instead of a result',
    { job: job(complete), pods: [pod({ containers: [ended(0)] })], log: { bytes: Buffer.from('hello') } },
    'Error ResultInvalid',
    /no line/,
  ],
  [
    'exit 0 and nothing found',
    {
      job: job(complete),
      pods: [pod({ containers: [ended(0)] })],
      log: { bytes: frame({ message: '3 maps' }) },
    },
    'Passed Passed',
    /3 maps/,
  ],
  [
    'exit 0, but the Job is not complete yet',
    { pods: [pod({ containers: [ended(0)] })], log: { bytes: frame({}) } },
    'Running Completing',
    /not complete/,
  ],
  [
    'exit 0 with a warning',
    {
      job: job(complete),
      pods: [pod({ containers: [ended(0)] })],
      log: { bytes: frame({ risks: [{ name: 'Old', severity: 'warning', message: 'old' }] }) },
    },
    'Risk RisksFound',
    /old/,
  ],
  [
    'exit 3 with a blocking risk',
    { pods: [pod({ containers: [ended(3, 'Error')] })], log: { bytes: frame(blockingRisk) } },
    'Risk RisksFound',
    /legacyMode is on/,
  ],
  [
    'exit 3 without a blocking risk',
    { pods: [pod({ containers: [ended(3, 'Error')] })], log: { bytes: frame({}) } },
    'Error ResultContradicts',
    /names no blocking/,
  ],
  [
    'exit 0 with a blocking risk',
    { pods: [pod({ containers: [ended(0)] })], log: { bytes: frame(blockingRisk) } },
    'Error ResultContradicts',
    /names a blocking/,
  ],
  [
    'the log is not read yet',
    { pods: [pod({ containers: [ended(0)] })] },
    'Running ReadingResult',
    /being read/,
  ],
  [
    'P-126 a log that stays unreadable is an error',
    { now: 700_000, pods: [pod({ containers: [ended(0)] })], log: { unreadable: 'node gone' } },
    'Error ResultUnreadable',
    /node gone/,
  ],
];

for (const [name, fields, wanted, words] of cases) {
  test(name, () => {
    const outcome = checkOutcome(seen(fields));
    assert.equal(`${outcome.result} ${outcome.reason}`, wanted, outcome.message);
    assert.match(outcome.message, words);
  });
}
