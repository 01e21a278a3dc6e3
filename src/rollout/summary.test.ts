import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RolloutWait } from './plan.ts';
import { rolloutSummary } from './summary.ts';

const held = (node: string, gate: string): RolloutWait => ({ node, cause: 'Held', gate, message: 'm' });

test('nodes are told by what holds them, not one by one', () => {
  assert.deepEqual(
    rolloutSummary(['master-0', 'master-1', 'master-2'].map((name) => held(name, 'marker_file'))),
    ['3 nodes that are held: marker_file (master-0, master-1, master-2)'],
  );
  assert.deepEqual(
    rolloutSummary([
      held('a', 'marker_file'),
      held('b', 'fleet_lock'),
      { node: 'c', cause: 'Turn', message: 'm' },
      { node: 'd', cause: 'Failed', message: 'no space' },
    ]),
    [
      '2 nodes that are held: marker_file (a), fleet_lock (b)',
      '1 node whose turn comes later (c)',
      '1 node that failed: d (no space)',
    ],
  );
});

test('of many nodes only some are named', () => {
  const waits = Array.from({ length: 300 }, (_, index) => held(`n${index}`, 'fleet_lock'));
  assert.deepEqual(rolloutSummary(waits), [
    '300 nodes that are held: fleet_lock (n0, n1, n2, n3, n4 and 295 more)',
  ]);
});
