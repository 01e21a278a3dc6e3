import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, unixSeconds } from './clock.ts';

test('a sleep of a month is not over at once, and ends when it is interrupted', async () => {
  const stop = new AbortController();
  let over = false;
  const slept = systemClock.sleep(40 * 24 * 3600_000, stop.signal).then(() => {
    over = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.ok(!over, 'a timer of the runtime would have overflowed');
  stop.abort();
  await slept;
});

test('the monotonic clock grows', async () => {
  const before = systemClock.monotonic();
  await systemClock.sleep(20);
  assert.ok(systemClock.monotonic() - before >= 15);
});

test('seconds of a time that is told, and of one that is not', () => {
  assert.equal(unixSeconds('2026-01-01T00:00:00.500Z'), Date.UTC(2026, 0, 1) / 1000 + 0.5);
  assert.equal(unixSeconds(undefined), undefined);
  assert.equal(unixSeconds('soon'), undefined);
});
