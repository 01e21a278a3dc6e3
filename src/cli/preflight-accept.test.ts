import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflight } from '../api/resources.ts';
import { acceptedHere } from './preflight-accept.ts';
import { exitCodeOf } from './preflight-report.ts';

const row = (name: string, result: string, component?: string) => ({
  name,
  result,
  severity: 'blocking',
  message: name,
  ...(component === undefined ? {} : { component }),
});

const report = (verdict: string, ...checks: object[]) =>
  ({ metadata: { name: 'update-1' }, spec: {}, status: { verdict, checks } }) as unknown as UpdatePreflight;

test('what is accepted in a dry run is judged there and passes there', () => {
  const blocked = report(
    'Blocked',
    row('EvictionPolicyRemoved', 'Risk', 'cache'),
    row('NodesReady', 'Passed'),
  );
  assert.equal(exitCodeOf(acceptedHere(blocked, []), true), 3);
  const passed = acceptedHere(blocked, ['EvictionPolicyRemoved']);
  assert.equal(passed.status?.verdict, 'Passed');
  assert.equal(exitCodeOf(passed, true), 4);
  assert.equal(passed.status?.checks?.[0]?.accepted, true);
  assert.equal(blocked.status?.checks?.[0]?.accepted, undefined, 'the report itself is not touched');
});

test('integrity, errors and runs in flight are not passed by a name', () => {
  const unsigned = report('Blocked', row('ReleaseSignature', 'Risk'));
  assert.equal(exitCodeOf(acceptedHere(unsigned, ['ReleaseSignature']), false), 6);
  const broken = report('Incomplete', row('CachePreflight', 'Error', 'cache'));
  assert.equal(exitCodeOf(acceptedHere(broken, ['CachePreflight']), false), 5);
  const running = report('Running', row('CachePreflight', 'Running', 'cache'));
  assert.equal(acceptedHere(running, ['CachePreflight']), running);
});
