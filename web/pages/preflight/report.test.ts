import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflight, UpdatePreflightStatusCheck } from '../../../src/api/resources.ts';
import type { CheckState } from '../../data/checks.ts';
import { compareReports, filterChecks, newestReports, otherOf } from './report.ts';

const check = (
  name: string,
  result: UpdatePreflightStatusCheck['result'],
  more: Partial<UpdatePreflightStatusCheck> = {},
) => ({
  name,
  result,
  ...more,
});

const kind = { apiVersion: 'config.openshift.io/v1alpha1', kind: 'UpdatePreflight' };

function report(name: string, status: UpdatePreflight['status']): UpdatePreflight {
  return {
    ...kind,
    metadata: { name },
    spec: { version: '1.1.0' },
    ...(status === undefined ? {} : { status }),
  };
}

test('reports stand by when they were worked on, those that never were last', () => {
  const names = newestReports([
    report('old', { finishedAt: '2026-01-01T00:00:00Z' }),
    report('never', undefined),
    report('running', { startedAt: '2026-01-02T00:00:00Z' }),
  ]).map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['running', 'old', 'never']);
});

test('checks are found by result and by any word that is shown', () => {
  const checks = [
    check('LegacyMode', 'Risk', { message: 'mode is legacy', objects: ['ConfigMap/default/settings'] }),
    check('Etcd', 'Passed', { component: 'etcd' }),
    check('Lost', 'Error', { reason: 'ImagePullFailed' }),
  ];
  const names = (wanted: CheckState[], text: string) =>
    filterChecks(checks, new Set(wanted), text).map(({ name }) => name);
  assert.deepEqual(names([], ''), ['LegacyMode', 'Etcd', 'Lost']);
  assert.deepEqual(names(['risk', 'error'], ''), ['LegacyMode', 'Lost']);
  assert.deepEqual(names([], ' SETTINGS '), ['LegacyMode']);
  assert.deepEqual(names(['passed'], 'pull'), []);
});

test('two targets side by side: what differs first, what only one has is told', () => {
  const one = report('one', { checks: [check('A', 'Passed'), check('B', 'Risk')] });
  const two = report('two', { checks: [check('A', 'Passed'), check('B', 'Passed'), check('C', 'Error')] });
  const other = otherOf('two', one, [one, two]);
  assert.ok(other !== undefined);
  assert.deepEqual(
    compareReports(one, other).map(({ name, here, there, differs }) => [name, here, there, differs]),
    [
      ['B', 'risk', 'passed', true],
      ['C', undefined, 'error', true],
      ['A', 'passed', 'passed', false],
    ],
  );
});

test('an earlier run keeps what stood out: the rest was quiet, or is not known', () => {
  const history = [
    { runID: 'r1', verdict: 'Blocked', findings: [{ name: 'B', result: 'Risk' }] },
    { runID: 'r0', verdict: 'Blocked' },
  ];
  const object = report('one', {
    checks: [check('A', 'Error'), check('B', 'Passed'), check('C', 'Passed')],
    history,
  });
  const compared = (word: string) => {
    const other = otherOf(word, object, [object]);
    assert.ok(other !== undefined);
    return compareReports(object, other).map(({ name, there, differs }) => [name, there, differs]);
  };
  assert.deepEqual(compared('run:r1'), [
    ['A', 'quiet', true],
    ['B', 'risk', true],
    ['C', 'quiet', false],
  ]);
  assert.deepEqual(
    compared('run:r0').map(([, there]) => there),
    ['unknown', 'unknown', 'unknown'],
  );
  assert.equal(otherOf('run:r9', object, [object]), undefined);
  assert.equal(otherOf('gone', object, [object]), undefined);
});
