import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflightStatusCheck } from '../../src/api/resources.ts';
import { checkStateOf, countStates, isAcceptable, isBlocking, sortChecks } from './checks.ts';

const check = (more: Partial<UpdatePreflightStatusCheck>): UpdatePreflightStatusCheck => ({
  name: 'Some',
  result: 'Risk',
  component: 'cache',
  ...more,
});

test('a risk without a severity blocks; an accepted one does not', () => {
  assert.equal(checkStateOf(check({})), 'risk');
  assert.ok(isBlocking(check({})));
  assert.equal(checkStateOf(check({ accepted: true })), 'accepted');
  assert.ok(!isBlocking(check({ accepted: true })));
  assert.ok(!isBlocking(check({ severity: 'warning' })));
});

test('a risk that only informs counts as such, worst states first', () => {
  const checks = [
    check({ name: 'Content', severity: 'info' }),
    check({}),
    check({ result: 'Error' }),
    check({}),
  ];
  assert.deepEqual(
    [...countStates(checks)],
    [
      ['error', 1],
      ['risk', 2],
      ['info', 1],
    ],
  );
});

test('what could not be found out, and what is not signed or whole, cannot be accepted', () => {
  assert.ok(isAcceptable(check({})));
  assert.ok(!isAcceptable(check({ result: 'Error' })));
  const { component: _, ...builtIn } = check({ name: 'ReleaseSignature' });
  assert.ok(!isAcceptable(builtIn));
  assert.ok(!isAcceptable({ ...builtIn, name: 'ReleaseOpenPGPSignature' }), 'force alone goes through it');
  assert.ok(isAcceptable(check({ name: 'ReleaseSignature' })), 'a check of a release may have the name');
});

test('what stands in the way comes first', () => {
  const sorted = sortChecks([
    check({ name: 'Fine', result: 'Passed' }),
    check({ name: 'Note', severity: 'info' }),
    check({ name: 'B' }),
    check({ name: 'A' }),
    check({ name: 'Broken', result: 'Error' }),
  ]);
  assert.deepEqual(
    sorted.map(({ name }) => name),
    ['Broken', 'A', 'B', 'Note', 'Fine'],
  );
});
