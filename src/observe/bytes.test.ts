import assert from 'node:assert/strict';
import { test } from 'node:test';
import { humanBytes } from './bytes.ts';

test('sizes in words', () => {
  const gib = 1024 ** 3;
  assert.deepEqual([0, 1023, 1024, 150 * 1024, 1.25 * gib].map(humanBytes), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '150 KiB',
    '1.3 GiB',
  ]);
});
