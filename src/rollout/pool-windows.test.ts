import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadZone } from '../finalize/zone.ts';
import { type PoolWindow, poolAct, poolWindow, poolWish } from './pool-windows.ts';

const wish = (windows?: string, zone?: string, until?: string) =>
  poolWish({
    ...(windows === undefined ? {} : { 'sluice.dev/windows': windows }),
    ...(zone === undefined ? {} : { 'sluice.dev/window-time-zone': zone }),
    ...(until === undefined ? {} : { 'sluice.dev/window-until': until }),
  });

async function windowAt(time: string, words: string, zone = 'UTC', until?: string): Promise<string> {
  const read = wish(words, zone, until);
  assert.ok(read.kind === 'windows', JSON.stringify(read));
  const schedule = { windows: read.windows, zone: await loadZone(read.timeZone) };
  const window = poolWindow(schedule, read.until, Date.parse(time));
  assert.ok(window.kind !== 'free');
  return `${window.kind}${window.at === undefined ? '' : ` ${new Date(window.at).toISOString()}`}`;
}

test('what is done with a pool: a pause of a person is never lifted, a pool without windows never paused', () => {
  const table: [PoolWindow['kind'], boolean, boolean, string][] = [
    // window, paused, our mark
    ['free', false, false, 'keep'],
    ['free', true, false, 'keep'],
    ['free', true, true, 'release'], // Its windows were taken away.
    ['free', false, true, 'release'],
    ['closed', false, false, 'pause'],
    ['closed', true, false, 'keep'],
    ['closed', true, true, 'keep'],
    ['closed', false, true, 'pause'], // Somebody let go of it by hand.
    ['open', false, false, 'keep'],
    ['open', true, false, 'keep'],
    ['open', true, true, 'release'],
    ['open', false, true, 'release'],
  ];
  for (const [kind, paused, isOurs, act] of table) {
    assert.equal(poolAct({ kind }, { paused, isOurs }), act, `${kind}, paused ${paused}, ours ${isOurs}`);
  }
});

test('windows of the week last exactly as long as they say, and follow the clock on the wall', async () => {
  const weekend = 'Sat 22:00 4h; Sun 01:00 2h';
  // 2026-01-03 is a Saturday; Berlin is an hour before UTC in winter.
  const table: [string, string, string][] = [
    ['2026-01-03T20:59:59Z', 'Europe/Berlin', 'closed 2026-01-03T21:00:00.000Z'],
    ['2026-01-03T21:00:00Z', 'Europe/Berlin', 'open 2026-01-04T02:00:00.000Z'], // The second goes on after the first.
    ['2026-01-04T01:59:59Z', 'Europe/Berlin', 'open 2026-01-04T02:00:00.000Z'],
    ['2026-01-04T02:00:00Z', 'Europe/Berlin', 'closed 2026-01-10T21:00:00.000Z'],
    // The clocks go forward at 2026-03-29 01:00 UTC: the window opens at 22:00 of the other offset a week later.
    ['2026-03-29T12:00:00Z', 'Europe/Berlin', 'closed 2026-04-04T20:00:00.000Z'],
    // The window of that night ends at 03:00 of the wall, an hour earlier than it would.
    ['2026-03-28T21:30:00Z', 'Europe/Berlin', 'open 2026-03-29T01:00:00.000Z'],
    ['2026-01-03T21:30:00Z', 'UTC', 'closed 2026-01-03T22:00:00.000Z'],
  ];
  for (const [time, zone, expected] of table)
    assert.equal(await windowAt(time, weekend, zone), expected, time);
  assert.equal(
    await windowAt('2026-01-01T00:00:00Z', 'Mon,Tue 01:00 90m'),
    'closed 2026-01-05T01:00:00.000Z',
  );
  assert.equal(await windowAt('2026-01-01T00:00:00Z', 'mon 00:00 7d'), 'open', 'for ever');
});

test('a person opens a window until a time; without weekly windows it is the only one', async () => {
  const until = '2026-01-01T02:00:00+01:00';
  assert.equal(await windowAt('2026-01-01T00:00:00Z', 'none', 'UTC', until), 'open 2026-01-01T01:00:00.000Z');
  assert.equal(await windowAt('2026-01-01T01:00:00Z', 'none', 'UTC', until), 'closed');
  const weekly = 'Thu 00:30 2h'; // 2026-01-01 is a Thursday.
  assert.equal(await windowAt('2026-01-01T00:45:00Z', weekly, 'UTC', until), 'open 2026-01-01T02:30:00.000Z');
});

test('words that cannot be read are told by what is wrong with them', () => {
  assert.deepEqual(poolWish(undefined), { kind: 'free' });
  assert.deepEqual(poolWish({ 'example.com/windows': 'x' }), { kind: 'free' });
  const table: [ReturnType<typeof wish>, RegExp][] = [
    [wish(''), /sluice\.dev\/windows: '' is no window/],
    [wish('Sat 22:00'), /'Sat 22:00' is no window such as/],
    [wish('Sat 22:00 4h;'), /'' is no window/],
    [wish('Sut 22:00 4h'), /'Sut' is no day/],
    [wish('Sat 25:00 4h'), /'Sat 25:00 4h': start_time/],
    [wish('Sat 22:00 4'), /"4" is not a duration/],
    [wish('Sat 22:00 90s'), /length_minutes must be/],
    [wish('Sat 22:00 8d'), /length_minutes must be/],
    [wish('Sat 22:00 4h extra'), /is no window/],
    [wish(Array(65).fill('Sat 22:00 4h').join(';')), /more than 64/],
    [wish('x'.repeat(2001)), /longer than 2000/],
    [wish('none', 'UTC', 'tomorrow'), /window-until: 'tomorrow' is no time/],
    [wish('none', 'UTC', '2026-13-01T00:00:00Z'), /is no time/],
    [wish(undefined, undefined, '2026-01-01T00:00:00Z'), /window-until says nothing without/],
    [wish(undefined, 'UTC'), /window-time-zone says nothing without/],
  ];
  for (const [read, problem] of table) {
    assert.ok(read.kind === 'unreadable', JSON.stringify(read));
    assert.match(read.problem, problem);
  }
});
