import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from './finding.ts';
import { verdictOf } from './verdict.ts';

function finding(result: Finding['result'], fields: Partial<Finding> = {}): Finding {
  return {
    name: `F${result}`,
    gate: 'preflight',
    severity: 'blocking',
    result,
    message: 'm',
    component: 'c',
    ...fields,
  };
}

const none = new Set<string>();

// docs/preflight.md shows the same table.
for (const [name, findings, accepted, wanted] of [
  ['all passed', [finding('Passed')], none, 'Passed AllPassed'],
  ['a blocking risk', [finding('Risk'), finding('Passed')], none, 'Blocked RisksFound'],
  [
    'a blocking risk that is accepted',
    [finding('Risk'), finding('Passed')],
    new Set(['FRisk']),
    'Passed RisksAccepted',
  ],
  ['a warning', [finding('Risk', { severity: 'warning' }), finding('Passed')], none, 'Passed Warnings'],
  ['an error', [finding('Error'), finding('Passed')], none, 'Incomplete ChecksFailed'],
  ['an error cannot be accepted', [finding('Error')], new Set(['FError']), 'Incomplete ChecksFailed'],
  ['a risk outweighs an error', [finding('Error'), finding('Risk')], none, 'Blocked RisksFound'],
  ['one still runs', [finding('Running'), finding('Risk')], none, 'Running ChecksRunning'],
] as const) {
  test(name, () => {
    const judged = verdictOf(findings, accepted);
    assert.equal(`${judged.verdict} ${judged.reason}`, wanted);
  });
}

test('integrity cannot be accepted', () => {
  const { component: _, ...signature } = finding('Risk', { name: 'ReleaseSignature' });
  assert.equal(verdictOf([signature], new Set(['ReleaseSignature'])).verdict, 'Blocked');
});

test('a release without checks of its own passes, and says so', () => {
  const { component: _, ...builtin } = finding('Passed');
  assert.equal(verdictOf([builtin], none).reason, 'NoChecks');
});

test('what was found and what was not looked at are told together', () => {
  assert.equal(
    verdictOf([finding('Risk'), finding('Error')], none).message,
    '1 unaccepted risk: FRisk; 1 check did not run: FError',
  );
});
