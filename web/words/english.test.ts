import assert from 'node:assert/strict';
import { test } from 'node:test';
import { words } from './english.ts';

test('one of a kind is told of as one', () => {
  const { overview, releases, update, preflight } = words;
  assert.deepEqual(
    [
      overview.stepWords.copied(1, 1),
      overview.stepWords.rebooted(1, 1),
      overview.operatorsBad(1, 1),
      `1 ${overview.nodeCounts.current(1, '1.1.0')}`,
      `1 ${overview.nodeCounts.degraded(1)}`,
      releases.detail.statement(1, 1),
      releases.detail.sizeOf('1.0 MiB', 1),
      update.content.some(0, 1),
      preflight.shown(1, 1),
    ],
    [
      'Whole on 1 of 1 node.',
      '1 of 1 node runs it.',
      '1 of 1 operator has trouble',
      '1 runs 1.1.0',
      '1 needs a person',
      'It is whole on 1 of 1 control-plane node',
      '1.0 MiB in 1 image',
      'on 0 of 1 node',
      '1 check',
    ],
  );
  assert.equal(overview.stepWords.rebooted(2, 3), '2 of 3 nodes run it.');
  assert.equal(preflight.shown(2, 3), '2 of 3 checks');
});
