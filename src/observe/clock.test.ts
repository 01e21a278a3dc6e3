import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from './clock.ts';

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
