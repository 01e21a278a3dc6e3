import assert from 'node:assert/strict';
import { test } from 'node:test';
import { degradedToleratedMs, WaitTimes, waitText } from './wait.ts';

test('a degraded operator fails the update after forty minutes, and not before', () => {
  const times = new WaitTimes();
  const wait = {
    message: 'm',
    operator: 'a',
    failing: 'ClusterOperatorDegraded',
    toleratedMs: degradedToleratedMs,
  };
  assert.equal(times.note('t', wait, 0).failing, undefined);
  assert.equal(times.note('t', wait, degradedToleratedMs - 1).failing, undefined);
  assert.equal(times.note('t', wait, degradedToleratedMs).failing, 'ClusterOperatorDegraded');
});

test('a wait for something else begins anew; the same wait in other words does not', () => {
  const times = new WaitTimes();
  assert.equal(times.note('t', { message: '0 of 2' }, 0).since, 0);
  assert.equal(times.note('t', { message: '1 of 2' }, 1000).since, 0);
  assert.equal(times.note('t', { message: 'm', failing: 'X' }, 2000).since, 2000);
  times.done('t');
  assert.equal(times.note('t', { message: '0 of 2' }, 3000).since, 3000);
});

test('since when is told once a wait has become long', () => {
  assert.equal(waitText({ message: 'm', since: 0 }, 59_000), 'm');
  assert.equal(waitText({ message: 'm', since: 0 }, 61_000), 'm, since 1970-01-01T00:00Z');
  assert.equal(waitText({ message: 'm' }, 61_000), 'm');
});
