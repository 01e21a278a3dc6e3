import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Digest } from '../oci/digest.ts';
import { defaultConfig } from './config.ts';
import { decide, type Facts, type Intent } from './decide.ts';

const v1: Digest = `sha256:${'1'.repeat(64)}`;
const v2: Digest = `sha256:${'2'.repeat(64)}`;
const v3: Digest = `sha256:${'3'.repeat(64)}`;
const desired = { image: `node@${v2}`, digest: v2 };
const lock = { baseUrl: 'http://l/', id: 'a', group: 'default' };
const intent: Intent = { ...desired, bootID: 'boot-1', phase: 'locking', lock, since: 0 };
const open = { kind: 'allowed', marker: { notAfter: 5000, once: false } } as const;
const closed = { kind: 'denied', reason: 'NoMarker', message: 'none' } as const;

function facts(changes: Partial<Facts> = {}): Facts {
  const made = {
    config: {
      config: {
        ...defaultConfig,
        strategies: ['marker_file', 'fleet_lock'],
        fleetLock: { baseUrl: 'http://l/', minReadyMs: 0 },
      },
      problems: [],
      values: [],
      warnings: [],
    },
    desired,
    os: {
      booted: { image: `node@${v1}`, digest: v1 },
      staged: { image: desired.image, digest: v2, version: '1.1.0' },
    },
    bootID: 'boot-1',
    failures: 0,
    marker: open,
    clock: { declared: false, synchronized: true },
    blockers: [],
    users: { kind: 'none' },
    share: 0,
    now: 1_000_000,
    ...changes,
  };
  return made as Facts;
}

const reasons = (step: ReturnType<typeof decide>) =>
  step.kind === 'hold' ? step.holds.map((hold) => `${hold.gate}/${hold.reason}`) : step.kind;

test('the way of one update', () => {
  const nothing = facts({ os: { booted: { image: 'x', digest: v2 } } });
  assert.equal(decide(nothing).kind, 'idle');
  assert.equal(decide(facts({ os: { booted: { image: 'x', digest: v1 } } })).kind, 'stage');
  assert.deepEqual(reasons(decide(facts({ marker: closed }))), ['marker_file/NoMarker']);
  assert.equal(decide(facts()).kind, 'lock');
  const waiting = facts({ intent, lock: { kind: 'wait', reason: 'SlotTaken', message: 'by b' } });
  assert.deepEqual(reasons(decide(waiting)), ['fleet_lock/SlotTaken']);
  assert.deepEqual(decide(facts({ intent, lock: { kind: 'granted' } })), {
    kind: 'finalize',
    ...desired,
    consumeMarker: false,
  });
  const booted = facts({
    bootID: 'boot-2',
    intent: { ...intent, phase: 'finalizing' },
    os: { booted: { image: 'x', digest: v2 } },
  });
  assert.deepEqual(decide(booted), {
    kind: 'confirm',
    intent: { ...intent, phase: 'finalizing' },
    booted: true,
  });
});

test('B20 local gates come first, and close again with the slot in hand: it is given back', () => {
  const held = { gate: 'inhibitors', reason: 'BlockInhibitor', message: 'dnf' } as const;
  assert.deepEqual(reasons(decide(facts({ blockers: [held] }))), ['inhibitors/BlockInhibitor']);
  assert.equal(decide(facts({ blockers: [held], intent, lock: { kind: 'granted' } })).kind, 'release');
  assert.equal(decide(facts({ marker: closed, intent, lock: { kind: 'granted' } })).kind, 'release');
});

test('B22 a recorded slot is given back when it is not wanted any more', () => {
  const { desired: _, ...none } = facts({ intent });
  assert.equal(decide(none).kind, 'release');
  const other = { image: `node@${v1}`, digest: v1 };
  assert.equal(decide(facts({ intent, desired: other })).kind, 'release');
  assert.equal(
    decide(facts({ intent, bootID: 'boot-2' })).kind,
    'release',
    'rebooted by somebody else meanwhile',
  );
});

test('B12 time gives no permission while the clock is not trusted', () => {
  assert.deepEqual(reasons(decide(facts({ clock: { declared: false } }))), ['clock/ClockUntrusted']);
  assert.equal(decide(facts({ clock: { declared: false, skewMs: 500 } })).kind, 'lock');
  assert.deepEqual(reasons(decide(facts({ clock: { declared: false, skewMs: 90_000 } }))), [
    'clock/ClockSkewed',
  ]);
  const endless = { kind: 'allowed', marker: { once: false } } as const;
  assert.equal(decide(facts({ clock: { declared: false }, marker: endless })).kind, 'lock');
});

test('B64 what somebody else staged is shown and left alone; what we staged before is replaced', () => {
  const staged = { image: 'other', digest: v3 };
  const os = { booted: { image: 'x', digest: v1 }, staged };
  assert.deepEqual(reasons(decide(facts({ os }))), ['staged/StagedByOther']);
  assert.equal(decide(facts({ os, stagedByUs: v3 })).kind, 'stage');
});

test('B62 a rollback is respected until another release is asked for', () => {
  assert.deepEqual(reasons(decide(facts({ confirmed: v2 }))), ['staged/RolledBack']);
  assert.equal(decide(facts({ confirmed: v3 })).kind, 'lock');
});

test('B66 a broken configuration holds, and says where', () => {
  const broken = facts();
  const step = decide({ ...broken, config: { ...broken.config, problems: ['/etc/x.toml:3: bad'] } });
  assert.deepEqual(reasons(step), ['config/ConfigInvalid']);
});

test('a release that failed to boot twice is not tried again', () => {
  const failed = facts({ bootID: 'boot-2', intent: { ...intent, phase: 'finalizing' } });
  assert.deepEqual(decide(failed), {
    kind: 'confirm',
    intent: { ...intent, phase: 'finalizing' },
    booted: false,
  });
  assert.deepEqual(reasons(decide(facts({ failures: 2 }))), ['staged/FailedToBoot']);
});

test('B50 a reboot that does not come is ordered again after a while, not at once', () => {
  const ordered = { ...intent, phase: 'finalizing', since: 1_000_000 } as const;
  const granted = { intent: ordered, lock: { kind: 'granted' } } as const;
  assert.deepEqual(reasons(decide(facts({ ...granted, now: 1_001_000 }))), ['finalize/Rebooting']);
  const later = {
    ...facts(granted),
    now: 1_000_000 + 31 * 60_000,
    marker: { kind: 'allowed', marker: { once: true } },
  } as const;
  assert.deepEqual(decide(later), { kind: 'finalize', ...desired, consumeMarker: true });
  const twice = { ...later, intent: { ...ordered, orders: 2 } };
  assert.equal(decide(twice).kind, 'release', 'and then the slot goes back');
  const shut = { ...later, marker: closed };
  assert.deepEqual(
    decide(shut),
    { kind: 'release', intent: ordered, failed: true },
    'no permission any more',
  );
});
