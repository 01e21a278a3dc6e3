import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../tests/fake-clock.ts';
import { clockHold, clockSkewMsMax, createSyncMeter } from './clock-trust.ts';
import { createBus } from './dbus/bus.ts';
import { createPulse } from './notify.ts';

test('B12 a known skew holds whatever the host says of its clock; one evidence is enough, none is no', () => {
  const reason = (evidence: Parameters<typeof clockHold>[0]) => clockHold(evidence)?.reason;
  assert.equal(reason({ declared: false }), 'ClockUntrusted');
  assert.equal(reason({ declared: false, synchronized: false }), 'ClockUntrusted');
  assert.equal(reason({ declared: false, synchronized: true }), undefined);
  assert.equal(reason({ declared: false, skewMs: clockSkewMsMax }), undefined);
  assert.equal(reason({ declared: false, synchronized: false, skewMs: 5_000 }), undefined);
  for (const skewMs of [clockSkewMsMax + 1, -3600_000]) {
    assert.equal(reason({ declared: false, skewMs }), 'ClockSkewed');
    assert.equal(reason({ declared: false, synchronized: true, skewMs }), 'ClockSkewed', 'the host is wrong');
    assert.equal(reason({ declared: true, synchronized: true, skewMs }), undefined, 'a person has said so');
  }
});

test('what timedated says is asked anew by elapsed time, wherever the wall clock went', async () => {
  const clock = createFakeClock();
  let asked = 0;
  const bus = createBus('/nonexistent/bus', async () => {});
  const counted = {
    ...bus,
    connection() {
      asked += 1;
      return bus.connection();
    },
  };
  const synchronized = createSyncMeter(counted, clock);
  await synchronized();
  clock.jump(-86_400_000);
  await synchronized();
  assert.equal(asked, 1, 'a clock that was set back makes nothing young again');
  await clock.advance(60_001);
  await synchronized();
  assert.equal(asked, 2);
});

test('a loop that does not say in time that it goes on has no pulse, whatever the wall clock shows', async () => {
  const clock = createFakeClock();
  const pulse = createPulse(clock);
  assert.ok(pulse.beats(), 'before the loop began there is nothing to be late');
  pulse.expect(60_000);
  clock.jump(86_400_000);
  await clock.advance(59_000);
  assert.ok(pulse.beats());
  await clock.advance(2_000);
  assert.ok(!pulse.beats(), 'stuck');
  pulse.expect(60_000);
  assert.ok(pulse.beats());
});
