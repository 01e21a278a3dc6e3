import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsSeen } from './rows-seen.ts';

test('only what can be seen is drawn, and the rest stands as space', () => {
  for (const top of [0, 1, 5_000, 111_000, 1_000_000]) {
    const { first, end, before, after } = rowsSeen(2_000, 56, { top, height: 800 });
    assert.ok(end - first <= 32, `${end - first} rows`);
    assert.equal(before + (end - first) * 56 + after, 2_000 * 56);
  }
  assert.deepEqual(rowsSeen(3, 56, { top: 0, height: 800 }), { first: 0, end: 3, before: 0, after: 0 });
  assert.deepEqual(rowsSeen(0, 56, { top: 900, height: 800 }), { first: 0, end: 0, before: 0, after: 0 });
});
