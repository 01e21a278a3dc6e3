import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseWindow } from './config-keys.ts';
import {
  closesAt,
  isOpen,
  jitterMs,
  nextOpening,
  openSince,
  type Schedule,
  type WeeklyWindow,
} from './weekly.ts';
import { loadZone, localZoneName } from './zone.ts';

const minute = 60_000;
const at = (text: string) => Date.parse(text);

async function schedule(
  zone: string,
  days: string[],
  start_time: string,
  length_minutes: number,
): Promise<Schedule> {
  const windows = parseWindow({ days, start_time, length_minutes });
  assert.ok(typeof windows !== 'string', String(windows));
  return { windows, zone: await loadZone(zone) };
}

test('B02 a window reaches over the end of the week', async () => {
  const sunday = await schedule('UTC', ['Sun'], '23:45', 60);
  assert.ok(isOpen(sunday, at('2026-11-29T23:50:00Z')));
  assert.ok(isOpen(sunday, at('2026-11-30T00:30:00Z')));
  assert.ok(isOpen(sunday, at('2026-11-30T00:45:59Z')), 'the minute of its end belongs to it');
  assert.ok(!isOpen(sunday, at('2026-11-30T00:46:00Z')));
  assert.equal(closesAt(sunday, at('2026-11-29T23:50:00Z')), at('2026-11-30T00:46:00Z'));
});

test('daylight saving: the vectors of New York, Berlin and Lord Howe', async () => {
  const newYork = await schedule('America/New_York', ['Sun'], '01:30', 60);
  for (const [time, open] of [
    ['2026-11-01T05:29:00Z', false],
    ['2026-11-01T05:30:00Z', true],
    ['2026-11-01T06:00:00Z', false],
    ['2026-11-01T06:30:00Z', true],
    ['2026-11-01T07:30:00Z', true],
    ['2026-11-01T07:31:00Z', false],
    ['2026-03-08T06:30:00Z', true],
    ['2026-03-08T06:59:00Z', true],
    ['2026-03-08T07:00:00Z', false],
  ] as const) {
    assert.equal(isOpen(newYork, at(time)), open, time);
  }
  const berlin = await schedule('Europe/Berlin', ['Sunday'], '02:30', 1);
  assert.ok(isOpen(berlin, at('2026-10-25T00:30:00Z')) && isOpen(berlin, at('2026-10-25T01:30:00Z')));
  assert.equal(
    nextOpening(berlin, at('2026-03-29T00:00:00Z')),
    at('2026-04-05T00:30:00Z'),
    'the hour that the clock skips has no window',
  );
  const lordHowe = await schedule('Australia/Lord_Howe', ['Sun'], '02:30', 10);
  assert.ok(isOpen(lordHowe, at('2026-10-03T15:30:00Z')));
});

test('B06 a window of two minutes is met every week, whatever the interval of looks', async () => {
  const short = await schedule('UTC', ['Wed'], '03:17', 2);
  let now = at('2026-01-01T00:00:00Z');
  const end = at('2026-12-31T00:00:00Z');
  let met = 0;
  while (now < end) {
    const opens = nextOpening(short, now);
    if (opens === now) {
      met += 1;
      now += 5 * minute;
    } else now = Math.min(opens ?? end, now + 5 * minute);
  }
  assert.equal(met, 52);
});

test('B08 nodes spread inside the window, none before its start, all within a half of it', () => {
  const lengthMs = 121 * minute;
  const turns = Array.from({ length: 1000 }, (_, node) => jitterMs(10 * minute, lengthMs, node / 1000));
  assert.ok(turns.every((turn) => turn >= 0 && turn < 10 * minute));
  const busiest = Math.max(
    ...Array.from({ length: 10 }, (_, i) => turns.filter((turn) => Math.floor(turn / minute) === i).length),
  );
  assert.ok(busiest <= 101, `${busiest} nodes in one minute`);
  assert.ok(jitterMs(10 * minute, 3 * minute, 0.999) < 1.5 * minute);
});

test('B04 UTC needs no zone data, a name that is none is refused in words, a link-less localtime too', async () => {
  assert.equal((await loadZone('UTC')).offsetMs(0), 0);
  await assert.rejects(loadZone('Mars/Olympus'), /not a time zone/);
  assert.equal(await localZoneName('/nonexistent/localtime'), 'UTC');
  await assert.rejects(localZoneName('/etc/hostname'), /is not a link/);
});

test('days are taken in short and in full, Tuesday too', () => {
  for (const day of ['tue', 'Tuesday', 'TUE']) {
    assert.deepEqual(parseWindow({ days: [day], start_time: '07:05', length_minutes: 1 }), [
      { startMinute: 1440 + 7 * 60 + 5, lengthMinutes: 1 },
    ]);
  }
  for (const wrong of [
    { days: ['Someday'], start_time: '07:00', length_minutes: 1 },
    { days: ['Mon'], start_time: '24:00', length_minutes: 1 },
    { days: ['Mon'], start_time: '07:00', length_minutes: 0 },
    { days: ['Mon'], start_time: '07:00', length_minutes: 10081 },
    { days: ['Mon'], start_time: '07:00' },
    { days: ['Mon'], start_time: '07:00', length_minutes: 1, lenght: 1 },
  ]) {
    assert.equal(typeof parseWindow(wrong), 'string', JSON.stringify(wrong));
  }
});

/** The wall clock by another way: what Intl prints. */
function oracleMinute(zone: string): (now: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
  return (now) => {
    const part = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
    return days.indexOf(part.weekday ?? '') * 1440 + Number(part.hour) * 60 + Number(part.minute);
  };
}

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'America/St_Johns',
];
const windowOf = fc.record({
  startMinute: fc.integer({ min: 0, max: 10_079 }),
  lengthMinutes: fc.oneof(fc.integer({ min: 1, max: 180 }), fc.integer({ min: 1, max: 10_080 })),
});
const start = at('2026-01-01T00:00:00Z');
const inTwoYears = fc.integer({ min: 0, max: 2 * 365 * 1440 }).map((minutes) => start + minutes * minute);

function oracleOpen(windows: readonly WeeklyWindow[], wall: number): boolean {
  return windows.some(({ startMinute, lengthMinutes }) => {
    for (const week of [0, 10_080]) {
      if (wall + week >= startMinute && wall + week <= startMinute + lengthMinutes) return true;
    }
    return false;
  });
}

test('property: open now and the next opening agree with a minute-by-minute oracle over two years', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...zones),
      fc.array(windowOf, { minLength: 1, maxLength: 4 }),
      inTwoYears,
      fc.integer({ min: 0, max: 59_999 }),
      async (zoneName, windows, base, extra) => {
        const now = base + extra;
        const made = { windows, zone: await loadZone(zoneName) };
        const wallOf = oracleMinute(zoneName);
        assert.equal(isOpen(made, now), oracleOpen(windows, wallOf(now)));
        let expected = now;
        for (let steps = 0; !oracleOpen(windows, wallOf(expected)); steps += 1) {
          expected = Math.floor(expected / minute) * minute + minute;
          assert.ok(steps < 3 * 10_080);
        }
        assert.equal(nextOpening(made, now), expected);
        const since = openSince(made, expected);
        assert.ok(since !== undefined && since.sinceMs >= 0 && since.sinceMs < since.lengthMs);
        const closes = closesAt(made, expected);
        if (closes !== undefined) {
          assert.ok(!oracleOpen(windows, wallOf(closes)) && oracleOpen(windows, wallOf(closes - 1)));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('the whole of the days on which the clocks change, minute by minute', async () => {
  for (const [zoneName, day] of [
    ['Europe/Berlin', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    ['America/New_York', '2027-03-14'],
    ['America/New_York', '2027-11-07'],
    ['Australia/Lord_Howe', '2026-10-04'],
    ['Australia/Lord_Howe', '2027-04-04'],
  ] as const) {
    const windows = [{ startMinute: 6 * 1440 + 90, lengthMinutes: 61 }];
    const made = { windows, zone: await loadZone(zoneName) };
    const wallOf = oracleMinute(zoneName);
    const begin = at(`${day}T00:00:00Z`) - 1440 * minute;
    for (let now = begin; now < begin + 3 * 1440 * minute; now += minute) {
      assert.equal(
        isOpen(made, now),
        oracleOpen(windows, wallOf(now)),
        `${zoneName} ${new Date(now).toISOString()}`,
      );
    }
  }
});

test('every minute of two years: open now and the next opening, in zones with all kinds of changes', async () => {
  const minutes = 2 * 365 * 1440;
  const quarter = 15;
  for (const zoneName of ['Europe/Berlin', 'Australia/Lord_Howe', 'Africa/Casablanca']) {
    const wallOf = oracleMinute(zoneName);
    const [windows] = fc.sample(fc.array(windowOf, { minLength: 1, maxLength: 3 }), 1) as [WeeklyWindow[]];
    const made = { windows, zone: await loadZone(zoneName) };
    // Offsets change on a quarter of an hour, so the oracle is asked there and counts on by itself.
    const open = new Uint8Array(minutes);
    for (let base = 0; base < minutes; base += quarter) {
      const wall = wallOf(start + base * minute);
      for (let more = 0; more < quarter; more += 1) {
        open[base + more] = oracleOpen(windows, (wall + more) % 10_080) ? 1 : 0;
      }
    }
    const nextOpen = new Int32Array(minutes + 1).fill(-1);
    for (let at = minutes - 1; at >= 0; at -= 1)
      nextOpen[at] = open[at] === 1 ? at : (nextOpen[at + 1] ?? -1);
    for (let at = 0; at < minutes; at += 1) {
      const now = start + at * minute;
      const what = () => `${zoneName} ${new Date(now).toISOString()} ${JSON.stringify(windows)}`;
      if (isOpen(made, now) !== (open[at] === 1)) assert.fail(`open: ${what()}`);
      const next = nextOpen[at] ?? -1;
      if (next >= 0 && at % 5 === 0 && nextOpening(made, now) !== start + next * minute)
        assert.fail(`next: ${what()}`);
    }
  }
});
