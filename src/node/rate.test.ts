import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../tests/fake-clock.ts';
import { createRateMeter } from './rate.ts';

test('a copy that stands still has no rate of before', async () => {
  const clock = createFakeClock();
  const rate = createRateMeter(clock);
  rate.note(0, 'Copying');
  assert.equal(rate.bytesPerSecond(), undefined);
  await clock.advance(1_000);
  rate.note(284, 'Copying');
  assert.equal(rate.bytesPerSecond(), 284);
  await clock.advance(10_000);
  assert.equal(rate.bytesPerSecond(), 284, 'a slow disk may think for a while');
  await clock.advance(1);
  assert.equal(rate.bytesPerSecond(), undefined);
});
