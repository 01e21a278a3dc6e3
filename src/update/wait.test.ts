import assert from 'node:assert/strict';
import { test } from 'node:test';
import { degradedToleratedMs, slowOperators, WaitTimes, waitText } from './wait.ts';

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

test('what an object tells survives a restart; what stood before the update was not waited for', () => {
  const minute = 60_000;
  const wait = { message: 'm', operator: 'a', failing: 'X', toleratedMs: 40 * minute, since: 10 * minute };
  const before = new WaitTimes();
  assert.equal(before.note('t', wait, 30 * minute, 5 * minute).since, 10 * minute);
  const after = new WaitTimes().note('t', wait, 51 * minute, 5 * minute);
  assert.deepEqual([after.since, after.failing], [10 * minute, 'X'], 'another controller counts on');
  assert.equal(new WaitTimes().note('t', wait, 51 * minute, 20 * minute).since, 20 * minute);
  assert.equal(new WaitTimes().note('t', { ...wait, since: 90 * minute }, 51 * minute).since, 51 * minute);
  const times = new WaitTimes();
  times.note('t', wait, 30 * minute);
  assert.equal(times.note('t', { ...wait, since: 20 * minute }, 31 * minute).since, 10 * minute);
});

test('what no object tells is recalled from what was told of it before the restart', () => {
  const minute = 60_000;
  const waits = [
    { message: 'cluster operator a to report 1.1.0 (reports none)', operator: 'a' },
    { message: 'x (1 of 2)' },
  ];
  const before = new WaitTimes();
  const noted = waits.map((wait, index) => before.note(`t${index}`, wait, 10 * minute));
  const told = `Working towards 1.1.0: 1 of 9 done (11% complete), waiting on ${noted.map((wait) => waitText(wait, 50 * minute)).join('; ')}`;
  const after = new WaitTimes(told);
  const again = waits.map((wait, index) => after.note(`t${index}`, wait, 50 * minute).since);
  assert.deepEqual(again, [10 * minute, 10 * minute]);
  assert.equal(after.note('t3', { message: 'y' }, 50 * minute).since, 50 * minute);
  assert.deepEqual(slowOperators([{ ...noted[0], message: '', operator: 'a' }], 50 * minute), ['a']);
});

test('since when is told once a wait has become long', () => {
  assert.equal(waitText({ message: 'm', since: 0 }, 59_000), 'm');
  assert.equal(waitText({ message: 'm', since: 0 }, 61_000), 'm, since 1970-01-01T00:00Z');
  assert.equal(waitText({ message: 'm' }, 61_000), 'm');
});
