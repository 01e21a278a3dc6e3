import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { explainFleet, explainNode, type ShownNode } from './node-explain.ts';

const now = Date.parse('2026-12-03T12:00:00Z');
const shown = (changes: Partial<ShownNode>): ShownNode => ({
  node: 'master-0',
  state: 'Held',
  driver: 'rpm-ostree',
  bootID: 'b',
  booted: '41.1',
  staged: '41.2',
  message: '',
  strategies: ['periodic', 'fleet_lock'],
  holds: [],
  notes: [],
  local: true,
  whole: {},
  ...changes,
});
const hold = (gate: string, reason: string, message = 'words') => ({
  gate,
  reason,
  message,
  since: '2026-12-03T11:58:00Z',
});
const text = (changes: Partial<ShownNode>) => stripVTControlCharacters(explainNode(shown(changes), now));

test('what holds, since when, the next moment, and what each thing that does not open by itself waits for', () => {
  const holds = [
    hold('periodic', 'WindowClosed', 'the window opens at 2026-12-05T22:30:00Z (Europe/Berlin)'),
    hold('inhibitors', 'BlockInhibitor', 'dnf holds a block lock on shutdown: upgrade (uid 0, pid 812)'),
    hold('hooks', 'HookDenied', 'the hook 20-backup says no: a backup runs'),
  ];
  assert.equal(
    text({ holds, nextPossible: '2026-12-05T22:34:10Z' }),
    `master-0 runs 41.1 (rpm-ostree driver), 41.2 is staged, and it is held (periodic and fleet_lock must all allow):
  periodic     the window opens at 2026-12-05T22:30:00Z (Europe/Berlin)   (WindowClosed, for 2m)
  inhibitors   dnf holds a block lock on shutdown: upgrade (uid 0, pid 812)   (BlockInhibitor, for 2m)
  hooks        the hook 20-backup says no: a backup runs   (HookDenied, for 2m)
  next         not before in 2d, 2026-12-05T22:34:10Z, and when this has happened too:
  to do        end the program that is named, or wait for it: it goes on at once
  to do        the program that is named decides; its directory is agent.hooks.directory`,
  );
});

test('what is not held is said as it is: at rest, staging, ordered', () => {
  assert.match(text({ state: 'Idle', staged: '' }), /nothing holds it; no update is staged$/);
  assert.match(text({ state: 'Staging', staged: '' }), /downloads and stages/);
  const { booted: _, ...bare } = shown({ state: 'Idle', staged: '' });
  assert.equal(
    stripVTControlCharacters(explainNode(bare, now)),
    'master-0 runs no OS image of a release (rpm-ostree driver): nothing holds it; a release that has none reboots no node',
  );
  assert.match(
    stripVTControlCharacters(explainNode({ ...bare, state: 'Unknown' }, now)),
    /runs an unknown system \(rpm-ostree driver\): its agent has not reported yet$/,
  );
  const ordered = text({
    state: 'Finalizing',
    holds: [hold('finalize', 'Rebooting', 'the reboot was ordered')],
    nextPossible: '2026-12-03T12:28:00Z',
  });
  assert.match(ordered, /where it does not come, it is ordered again in 28m/);
  assert.doesNotMatch(ordered, /held/);
});

test('one screen: notes are few, and each gate of a person has its advice once', () => {
  const notes = Array.from({ length: 9 }, (_, index) => `key ${index} has no effect`);
  const lines = text({
    holds: [hold('config', 'ConfigInvalid', 'a'), hold('config', 'ConfigInvalid', 'b')],
    notes,
  }).split('\n');
  assert.equal(lines.filter((line) => line.startsWith('  note')).length, 5);
  assert.equal(lines.filter((line) => line.startsWith('  to do')).length, 1);
  assert.ok(lines.length <= 24);
  for (const [gate, reason, words] of [
    ['fleet_lock', 'SlotTaken', /by itself when the slot is free$/m],
    ['fleet_lock', 'DuplicateId', /identity\.node_uuid/],
    ['staged', 'StageFailed', /tried again by itself/],
    ['staged', 'FailedToBoot', /another release/],
    ['marker_file', 'NoMarker', /sluice window open --until 2h$/m],
    ['users', 'UsersUnknown', /goes on by itself/],
  ] as const) {
    assert.match(text({ holds: [hold(gate, reason)] }), words, `${gate}/${reason}`);
  }
  assert.match(text({ local: false, holds: [hold('marker_file', 'NoMarker')] }), /--nodes master-0/);
});

test('a fleet is told by what holds it, the most frequent first, with the node that it has held longest', () => {
  const marker = (minutes: number) => ({
    ...hold('marker_file', 'MarkerMissing', 'no marker file'),
    since: new Date(now - minutes * 60_000).toISOString(),
  });
  const nodes = [
    ...Array.from({ length: 20 }, (_, index) => shown({ node: `idle-${index}`, state: 'Idle', staged: '' })),
    ...Array.from({ length: 10 }, (_, index) =>
      shown({ node: `worker-${index}`, local: false, holds: [marker(index === 9 ? 300 : index + 1)] }),
    ),
    shown({ node: 'last', holds: [hold('inhibitors', 'BlockInhibitor'), marker(1)] }),
  ];
  assert.equal(
    stripVTControlCharacters(explainFleet(nodes, now)),
    `31 nodes: 20 Idle, 11 Held. Each one in full: sluice node why NODE, or all with -o wide

marker_file (MarkerMissing): 11 nodes, longest worker-9, worker-8, worker-7, worker-6, worker-5, worker-4, worker-3, worker-2 and 3 more
worker-9 runs 41.1 (rpm-ostree driver), 41.2 is staged, and it is held (periodic and fleet_lock must all allow):
  marker_file  no marker file   (MarkerMissing, for 5h)
  to do        open a window: sluice window open --until 2h --nodes worker-9

inhibitors (BlockInhibitor): 1 node, longest last
last runs 41.1 (rpm-ostree driver), 41.2 is staged, and it is held (periodic and fleet_lock must all allow):
  inhibitors   words   (BlockInhibitor, for 2m)
  marker_file  no marker file   (MarkerMissing, for 60s)
  to do        end the program that is named, or wait for it: it goes on at once
  to do        open a window: sluice window open --until 2h`,
  );
});
