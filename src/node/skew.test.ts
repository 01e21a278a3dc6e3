import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../tests/fake-clock.ts';
import { createSkewMeter } from './finalization.ts';

test('B12 the skew is measured anew when time has passed, and when somebody has set the clock', async () => {
  const clock = createFakeClock();
  const serverTime = clock.now();
  let asked = 0;
  const skew = createSkewMeter(async () => {
    asked += 1;
    return Math.floor((serverTime + clock.monotonic()) / 1000) * 1000;
  }, clock);
  assert.equal((await skew()).skewMs, 0);
  await clock.advance(30_000);
  assert.equal((await skew()).skewMs, 0);
  assert.equal(asked, 1);
  clock.jump(-3600_000);
  assert.equal((await skew()).skewMs, -3600_000, 'set back: what was measured before means nothing now');
  clock.jump(3600_000);
  assert.equal((await skew()).skewMs, 0, 'and forward');
  await clock.advance(61_000);
  assert.ok(Math.abs((await skew()).skewMs ?? Infinity) < 1000);
  assert.equal(asked, 4);
});
