import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfig } from './config.ts';
import { nextLookMs } from './hold.ts';
import type { MarkerLook } from './marker.ts';
import { graceFor, graceMs, usersHold } from './users.ts';
import { judgeWindows, nextPossible, type WindowFacts } from './windows.ts';
import { loadZone } from './zone.ts';

const noMarker: MarkerLook = { kind: 'denied', reason: 'NoMarker', message: 'none' };
const monday = Date.parse('2026-11-30T00:00:00Z');
const hour = 3_600_000;

async function facts(changes: Partial<WindowFacts> = {}, override = false): Promise<WindowFacts> {
  return {
    config: {
      ...defaultConfig,
      strategies: ['periodic'],
      marker: { ...defaultConfig.marker, overridesWindow: override },
      periodic: { ...defaultConfig.periodic, jitterMs: 600_000 },
    },
    schedule: { windows: [{ startMinute: 120, lengthMinutes: 60 }], zone: await loadZone('UTC') },
    share: 0,
    marker: noMarker,
    clock: { declared: true },
    now: monday,
    ...changes,
  };
}

const reasons = (made: WindowFacts) =>
  judgeWindows(made).holds.map(({ gate, reason }) => `${gate}/${reason}`);

test('closed, open, this node’s turn, closed again', async () => {
  assert.deepEqual(reasons(await facts()), ['periodic/WindowClosed']);
  assert.deepEqual(reasons(await facts({ now: monday + 2 * hour })), []);
  const late = await facts({ now: monday + 2 * hour, share: 0.5 });
  assert.deepEqual(reasons(late), ['periodic/Jitter']);
  assert.equal(judgeWindows(late).holds[0]?.opensAt, monday + 2 * hour + 300_000);
  assert.deepEqual(reasons(await facts({ now: monday + 2 * hour + 300_000, share: 0.5 })), []);
  assert.deepEqual(reasons(await facts({ now: monday + 3 * hour + 60_000 })), ['periodic/WindowClosed']);
  assert.equal(judgeWindows(await facts({ now: monday + 2 * hour })).endsAt, monday + 3 * hour + 60_000);
});

test('the marker opens a closed window where it may, and never the other way round', async () => {
  const marker: MarkerLook = { kind: 'allowed', marker: { notAfter: monday / 1000 + 600, once: true } };
  assert.deepEqual(reasons(await facts({ marker })), ['periodic/WindowClosed']);
  const overridden = judgeWindows(await facts({ marker }, true));
  assert.deepEqual([overridden.holds, overridden.usesMarker], [[], true]);
  const open = judgeWindows(await facts({ marker, now: monday + 2 * hour }, true));
  assert.equal(open.usesMarker, false, 'an open window uses no marker up');
  const both = await facts({ marker: noMarker, now: monday + 2 * hour });
  const composed = { ...both, config: { ...both.config, strategies: ['periodic', 'marker_file'] as const } };
  assert.deepEqual(reasons(composed), ['marker_file/NoMarker'], 'composed: all must allow');
});

test('B12 B14 no window while the clock is not trusted; after a jump the present counts, never what was missed', async () => {
  const epoch = await facts({ clock: { declared: false }, now: 2 * hour });
  assert.ok(reasons(epoch).includes('clock/ClockUntrusted'));
  const jumped = await facts({ now: monday + 12 * hour });
  assert.deepEqual(reasons(jumped), ['periodic/WindowClosed']);
  assert.deepEqual(reasons(await facts({ now: monday + 2 * hour - 1 })), ['periodic/WindowClosed']);
  assert.equal(nextLookMs([], 0), 60_000, 'looked at each minute, whatever a timer says');
  assert.equal(nextLookMs([{ gate: 'periodic', reason: 'x', message: '', opensAt: 5_000 }], 0), 5_000, 'B06');
});

test('the next possible moment is in a window, after every gate that knows its time', async () => {
  const made = await facts({ share: 0.5 });
  const { holds } = judgeWindows(made);
  assert.equal(nextPossible(holds, made), monday + 2 * hour + 300_000);
  const young = { gate: 'uptime', reason: 'FirstBoot', message: '', opensAt: monday + 5 * hour } as const;
  assert.equal(nextPossible([...holds, young], made), monday + 7 * 24 * hour + 2 * hour + 300_000);
  assert.equal(
    nextPossible([{ gate: 'inhibitors', reason: 'BlockInhibitor', message: '' }], made),
    undefined,
  );
});

test('B58 users: the grace begins when nothing else holds, ends, and is clipped to what is left of a window (B06)', () => {
  const users = { kind: 'some', sessions: [{ user: 'core', tty: 'pts/0' }] } as const;
  assert.equal(usersHold(users, undefined, undefined, 0)?.opensAt, undefined);
  const begun = usersHold(users, 0, undefined, 1000);
  assert.deepEqual([begun?.reason, begun?.opensAt], ['UsersLoggedIn', graceMs]);
  assert.equal(usersHold(users, 0, undefined, graceMs), undefined);
  assert.equal(graceFor(0, 120_000), 60_000);
  assert.equal(usersHold({ kind: 'none' }, undefined, undefined, 0), undefined);
  const unknown = usersHold({ kind: 'unknown', why: 'no bus' }, undefined, undefined, 0);
  assert.equal(unknown?.reason, 'UsersUnknown', 'B57: not to know is not nobody');
});
