import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeUpdate } from '../../../src/api/resources.ts';
import { isOpen } from '../../../src/finalize/weekly.ts';
import { loadZone } from '../../../src/finalize/zone.ts';
import { dayStarts, nextOpening, openings, weekRows } from './week.ts';

const hour = 3600_000;
const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16);

test('windows are set by the wall clock of their zone, over the end of the week too', () => {
  const calendar = {
    timeZone: 'Europe/Berlin',
    windows: [{ day: 'Sun', start: '23:00', minutes: 180 } as const],
  };
  const spans = openings(calendar, at('2026-11-29T00:00Z'), at('2026-12-06T00:00Z'));
  assert.deepEqual(
    spans.map(({ from, to }) => [iso(from), iso(to)]),
    [['2026-11-29T22:00', '2026-11-30T01:00']],
  );
  assert.equal(iso(nextOpening(calendar, at('2026-11-30T02:00Z')) ?? 0), '2026-12-06T22:00');
});

test('windows that touch are one, and those that began before are seen from now on', () => {
  const window = (day: 'Mon' | 'Tue', start: string, minutes: number) => ({ day, start, minutes });
  const calendar = { timeZone: 'UTC', windows: [window('Mon', '00:00', 1440), window('Tue', '00:00', 60)] };
  assert.deepEqual(openings(calendar, at('2026-11-30T12:00Z'), at('2026-12-03T00:00Z')), [
    { from: at('2026-11-30T12:00Z'), to: at('2026-12-01T01:00Z') },
  ]);
});

test('agrees with the agent over a year, daylight saving included', async () => {
  for (const timeZone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']) {
    const zone = await loadZone(timeZone);
    const windows = [
      { day: 'Sun', start: '01:30', minutes: 120 },
      { day: 'Wed', start: '22:15', minutes: 300 },
    ] as const;
    const schedule = {
      zone,
      windows: [
        { startMinute: 6 * 1440 + 90, lengthMinutes: 120 },
        { startMinute: 2 * 1440 + 22 * 60 + 15, lengthMinutes: 300 },
      ],
    };
    const [from, to] = [at('2026-01-01T00:00Z'), at('2027-01-01T00:00Z')];
    const spans = openings({ timeZone, windows: [...windows] }, from, to);
    let different = 0;
    for (let now = from; now < to; now += 15 * 60_000) {
      const ours = spans.some((span) => span.from <= now && now < span.to);
      // The minute in which a window ends belongs to it; a picture of a week does not show it.
      const edge = spans.some((span) => span.to === now);
      if (!edge && ours !== isOpen(schedule, now)) different += 1;
    }
    // In the hour that the clock repeats or leaves out an agent may see a window in two parts.
    assert.ok(different <= 8, `${timeZone}: ${different} quarters of an hour differ`);
  }
});

test('a week has seven days, also where one of them has 23 hours', () => {
  const starts = dayStarts('Europe/Berlin', at('2026-03-27T23:00Z'), at('2026-04-03T22:00Z'));
  assert.equal(starts.length, 7);
  const [first = 0, second = 0, third = 0] = starts;
  assert.deepEqual([(second - first) / hour, (third - second) / hour], [24, 23]);
});

test('nodes stand together by when they may reboot: opened windows, calendars, on demand, any time', () => {
  const now = at('2026-11-30T00:00Z');
  const update = (name: string, spec: NodeUpdate['spec'], status: NodeUpdate['status']): NodeUpdate => ({
    apiVersion: 'sluice.dev/v1',
    kind: 'NodeUpdate',
    metadata: { name },
    spec,
    ...(status === undefined ? {} : { status }),
  });
  const calendar = { timeZone: 'UTC', windows: [{ day: 'Sat' as const, start: '22:00', minutes: 60 }] };
  const rows = weekRows(
    [
      update('b', {}, { strategies: ['periodic'], calendar }),
      update('a', {}, { strategies: ['periodic', 'fleet_lock'], calendar }),
      update('c', { window: { notAfter: '2026-11-30T02:00:00Z' } }, { strategies: ['marker_file'] }),
      update('d', { window: { notAfter: '2026-11-29T02:00:00Z' } }, { strategies: ['immediate'] }),
      update('e', {}, undefined),
    ],
    now,
    now + 7 * 24 * hour,
    now,
  );
  assert.deepEqual(
    rows.map(({ kind, nodes, spans }) => [kind, nodes, spans.length]),
    [
      ['opened', ['c'], 1],
      ['weekly', ['a', 'b'], 1],
      ['asked', ['c'], 0],
      ['anytime', ['d'], 1],
    ],
  );
});
