import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflight } from '../api/resources.ts';
import { exitCodeOf, refusedBy, reportView } from './preflight-report.ts';

const finishedAt = '2026-01-01T14:01:40Z';
const now = Date.parse('2026-01-01T14:03:00Z');

function object(status: UpdatePreflight['status']): UpdatePreflight {
  return {
    apiVersion: 'config.openshift.io/v1alpha1',
    kind: 'UpdatePreflight',
    metadata: { name: 'update-bbbbbbbbbbbb' },
    spec: { version: '5.2.0' },
    ...(status === undefined ? {} : { status }),
  };
}

const blocked = object({
  verdict: 'Blocked',
  reason: 'RisksFound',
  message: '1 unaccepted risk: DualStackIncompatible; 1 check did not run: CloudCredential',
  runID: '7f3c7f3c7f',
  startedAt: '2026-01-01T14:00:00Z',
  finishedAt,
  target: { version: '5.2.0', digest: `sha256:${'b'.repeat(64)}` },
  source: { version: '5.0.3' },
  checks: [
    {
      name: 'DualStackIncompatible',
      component: 'network',
      result: 'Risk',
      severity: 'blocking',
      message: 'node subnet\nis single',
      next: 'Choose one family.',
      since: '2025-12-30T14:03:00Z',
    },
    {
      name: 'CloudCredential',
      component: 'cco',
      result: 'Error',
      reason: 'ImagePullFailed',
      severity: 'blocking',
      message: 'manifest unknown',
      since: finishedAt,
    },
    { name: 'Old', component: 'dns', result: 'Risk', severity: 'warning', message: 'old', since: finishedAt },
    {
      name: 'ReleaseSignature',
      result: 'Passed',
      severity: 'blocking',
      message: 'signed',
      since: finishedAt,
    },
    {
      name: 'NoCheck',
      component: 'release',
      result: 'Skipped',
      reason: 'NoCheck',
      message: '1 component ships no check: ingress',
    },
  ],
});

test('the report says what, from where, how old, and the verdict in one line', () => {
  const view = reportView(blocked, now);
  assert.equal(
    view.heading,
    'Preflight update-bbbbbbbbbbbb for 5.2.0 (sha256:bbbbbbbbbbbb…) from 5.0.3  run 7f3c7f3c7f, took 100s, valid for 23h',
  );
  assert.equal(
    view.verdict.text,
    'BLOCKED: 1 unaccepted risk: DualStackIncompatible; 1 check did not run: CloudCredential',
  );
});

test('each row names the culprit, since when, and in whose words', () => {
  assert.deepEqual(reportView(blocked, now).rows, [
    ['DualStackIncompatible', 'network', 'Risk', '2d', 'node subnet is single'],
    ['CloudCredential', 'cco', 'Error', '80s', 'ImagePullFailed: manifest unknown'],
    ['Old', 'dns', 'Warning', '80s', 'old'],
    ['ReleaseSignature', '-', 'Passed', '80s', 'signed'],
  ]);
});

test('the next step is told, with the words to type; what was not checked is counted, and listed when asked', () => {
  const view = reportView(blocked, now);
  assert.equal(view.note, '1 component ships no check (-o wide names them).');
  assert.deepEqual(view.next, [
    'DualStackIncompatible: Choose one family.',
    'Then look again: sluice preflight run --to 5.2.0',
    'Accept what you know to be harmless: sluice upgrade accept DualStackIncompatible --to 5.2.0 --reason WHY',
  ]);
  assert.equal(reportView(blocked, now, { wide: true }).rows.at(-1)?.[0], 'NoCheck');
});

test('where a release may be reached from is not offered as harmless, also in a report', () => {
  const risk = (name: string) => ({ name, result: 'Risk' as const, severity: 'blocking' as const });
  const found = object({
    verdict: 'Blocked',
    target: { version: '5.2.0', digest: '' },
    checks: [risk('UpdatePath'), risk('ClusterVersionRollback')],
  });
  assert.deepEqual(reportView(found, now).next, ['Then look again: sluice preflight run --to 5.2.0']);
});

test('what passed says how to go on', () => {
  const passed = object({ verdict: 'Passed', reason: 'AllPassed', target: { version: '5.2.0' } });
  assert.deepEqual(reportView(passed, now).next, ['Update: sluice upgrade --to 5.2.0']);
  const nothingFollows = true;
  const past = { ...blocked, status: { ...blocked.status, verdict: 'Superseded' } } as UpdatePreflight;
  assert.deepEqual(reportView(past, now, { nothingFollows }).next, [], 'what is past is nobody’s to do');
  assert.deepEqual(reportView(passed, now, { nothingFollows }).next, []);
  assert.deepEqual(reportView(blocked, now, { nothingFollows }).next, [
    'DualStackIncompatible: Choose one family.',
    'Then look again: sluice preflight run --to 5.2.0',
  ]);
});

test('who refuses: risks and errors that block, accepted ones not', () => {
  assert.deepEqual(refusedBy(blocked), ['CloudCredential', 'DualStackIncompatible']);
  const accepted = object({ checks: [{ name: 'A', result: 'Risk', severity: 'blocking', accepted: true }] });
  assert.deepEqual(refusedBy(accepted), []);
});

for (const [status, detailed, wanted] of [
  [{ verdict: 'Passed', reason: 'AllPassed' }, true, 0],
  [{ verdict: 'Passed', reason: 'RisksAccepted' }, false, 0],
  [{ verdict: 'Passed', reason: 'RisksAccepted' }, true, 4],
  [{ verdict: 'Passed', reason: 'Warnings' }, true, 4],
  [{ verdict: 'Blocked' }, false, 3],
  [{ verdict: 'Blocked', checks: [{ name: 'ReleaseSignature', result: 'Risk' }] }, false, 6],
  [{ verdict: 'Blocked', checks: [{ name: 'ReleaseOpenPGPSignature', result: 'Risk' }] }, false, 6],
  [{ verdict: 'Blocked', checks: [{ name: 'ReleaseSignature', component: 'x', result: 'Risk' }] }, false, 3],
  [{ verdict: 'Incomplete' }, false, 5],
  [{ verdict: 'Superseded' }, false, 5],
] as [UpdatePreflight['status'], boolean, number][]) {
  test(`exit code of ${JSON.stringify(status)}${detailed ? ', detailed' : ''}: ${wanted}`, () => {
    assert.equal(exitCodeOf(object(status), detailed), wanted);
  });
}
