import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflight } from '../api/resources.ts';
import { decideRun, withHistory } from './run.ts';

const a = `sha256:${'a'.repeat(64)}`;
const b = `sha256:${'b'.repeat(64)}`;
const c = `sha256:${'c'.repeat(64)}`;
const finishedAt = '2026-01-01T00:00:00Z';
const now = Date.parse(finishedAt) + 3_600_000;

function object(fields: {
  status?: UpdatePreflight['status'];
  spec?: UpdatePreflight['spec'];
  annotations?: Record<string, string>;
  generation?: number;
}): UpdatePreflight {
  return {
    apiVersion: 'config.openshift.io/v1alpha1',
    kind: 'UpdatePreflight',
    metadata: { name: 'x', generation: fields.generation ?? 1, annotations: fields.annotations ?? {} },
    spec: fields.spec ?? { version: '1.1.0' },
    ...(fields.status === undefined ? {} : { status: fields.status }),
  };
}

const done = {
  runID: 'r1r1',
  verdict: 'Passed',
  target: { digest: b },
  source: { digest: a },
  finishedAt,
  observedGeneration: 1,
} as const;
const running = { ...done, verdict: 'Running' } as const;
const facts = { now, target: b, source: a };
const request = { 'sluice.dev/preflight-request': 'r2r2' };

for (const [name, each, given, wanted] of [
  ['a new object runs', object({}), facts, 'start'],
  ['a finished one rests', object({ status: done }), facts, 'rest'],
  ['a running one is advanced', object({ status: running }), facts, 'advance'],
  [
    'a run in flight whose release cannot be read for now goes on',
    object({ status: running }),
    { ...facts, target: undefined },
    'advance',
  ],
  [
    'a retarget supersedes the run in flight',
    object({ status: running }),
    { ...facts, target: c },
    'supersede',
  ],
  [
    'another release of the cluster supersedes the run in flight',
    object({ status: running }),
    { ...facts, source: c },
    'supersede',
  ],
  [
    'another release of the cluster supersedes a report',
    object({ status: done }),
    { ...facts, source: c },
    'supersede',
  ],
  [
    'what is superseded rests',
    object({ status: { ...done, verdict: 'Superseded' } }),
    { ...facts, source: c },
    'rest',
  ],
  ['a retarget starts a new run', object({ status: done }), { ...facts, target: c }, 'start'],
  ['a request starts a run', object({ status: done, annotations: request }), facts, 'start'],
  ['a request joins the run in flight', object({ status: running, annotations: request }), facts, 'advance'],
  [
    'a request that had its run is answered',
    object({ status: { ...done, runID: 'r2r2' }, annotations: request }),
    facts,
    'rest',
  ],
  [
    'a request of the history is answered',
    object({ status: { ...done, history: [{ runID: 'r2r2', verdict: 'Passed' }] }, annotations: request }),
    facts,
    'rest',
  ],
  [
    'a request that is no id is none',
    object({ status: done, annotations: { 'sluice.dev/preflight-request': '../x' } }),
    facts,
    'rest',
  ],
  [
    'a cancellation of this run',
    object({ status: running, annotations: { 'sluice.dev/preflight-cancel': 'r1r1' } }),
    facts,
    'supersede',
  ],
  [
    'a cancellation of another run',
    object({ status: running, annotations: { 'sluice.dev/preflight-cancel': 'r0r0' } }),
    facts,
    'advance',
  ],
  [
    'frequency not reached',
    object({ status: done, spec: { version: '1.1.0', frequency: '1h1s' } }),
    facts,
    'rest',
  ],
  [
    'frequency reached',
    object({ status: done, spec: { version: '1.1.0', frequency: '60m' } }),
    facts,
    'start',
  ],
  ['newly accepted risks are judged without a run', object({ status: done, generation: 2 }), facts, 'judge'],
] as const) {
  test(name, () => assert.equal(decideRun(each, given).act, wanted));
}

test('P-40 a requested run has the id that was asked for', () => {
  const decision = decideRun(object({ status: done, annotations: request }), facts);
  assert.deepEqual(decision, { act: 'start', runID: 'r2r2' });
});

test('the history keeps a run once, the newest first', () => {
  const history = withHistory({ ...done, history: [{ runID: 'r0r0', verdict: 'Blocked' }] });
  assert.deepEqual(
    history.map((run) => run.runID),
    ['r1r1', 'r0r0'],
  );
  assert.deepEqual(
    withHistory({ ...done, history }).map((run) => run.runID),
    ['r1r1', 'r0r0'],
  );
});

test('the history keeps what stood out in a run, or nothing of it where that was too much', () => {
  const risk = (index: number) => ({ name: `Risk${index}`, result: 'Risk' as const });
  const checks = [
    risk(0),
    { name: 'Fine', result: 'Passed' as const },
    { name: 'Lost', result: 'Error' as const },
  ];
  const [kept] = withHistory({ ...done, checks });
  assert.deepEqual(kept?.findings, [
    { name: 'Risk0', result: 'Risk' },
    { name: 'Lost', result: 'Error' },
  ]);
  const many = Array.from({ length: 11 }, (_, index) => risk(index));
  assert.equal(withHistory({ ...done, checks: many })[0]?.findings, undefined);
});
