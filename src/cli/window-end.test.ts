import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { endOf, endWords, longWindowWarning } from './window-end.ts';

test('a window ends after a time, or at one that is still to come', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  assert.equal(endOf('1h30m', now), now + 5_400_000);
  assert.equal(endOf('2026-01-01T04:00:00Z', now), now + 4 * 3_600_000);
  assert.throws(() => endOf('2025-01-01T04:00:00Z', now), /in the past/);
  for (const none of ['0h', '0s', '0h0m']) assert.throws(() => endOf(none, now), /closed at once/, none);
  assert.equal(endOf('0h10m', now), now + 600_000);
});

test('a window may end at a time of the clock here, the next time that it shows it, told with its zone', (t) => {
  const zone = process.env.TZ;
  process.env.TZ = 'Europe/Berlin';
  t.after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  const noon = Date.parse('2026-11-30T11:00:00Z');
  const end = endOf('17:00', noon);
  assert.equal(new Date(end).toISOString(), '2026-11-30T16:00:00.000Z');
  assert.equal(endWords('17:00', end), '2026-11-30T16:00:00Z (Monday, 17:00 CET)');
  assert.equal(endWords('5h', end), '2026-11-30T16:00:00Z');
  // What is past, or now, is tomorrow's.
  for (const [text, at] of [
    ['12:00', '2026-12-01T11:00:00.000Z'],
    ['9:30', '2026-12-01T08:30:00.000Z'],
  ] as const) {
    assert.equal(new Date(endOf(text, noon)).toISOString(), at);
  }
  // The clock goes forward in between: an hour less.
  assert.equal(endOf('17:00', Date.parse('2027-03-27T17:00:00Z')), Date.parse('2027-03-28T15:00:00Z'));
  for (const none of ['24:00', '17:60', '17:0', 'at 17:00'])
    assert.throws(() => endOf(none, noon), /is not a time/);
  assert.throws(
    () => endOf('tonight', noon),
    (error) => isSluiceError(error, 'Usage') && /17:00, 2026-12-01T04:00:00Z/.test(error.next),
  );
});

test('a window of more than a week is opened with a warning that says how long, and how to close it', () => {
  const day = 86_400_000;
  assert.equal(longWindowWarning(7 * day, 0), undefined);
  assert.match(longWindowWarning(30 * day, 0) ?? '', /^warning: .*30d.*sluice window close/);
});
