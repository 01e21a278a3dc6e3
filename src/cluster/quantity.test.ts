import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity, scaled } from './quantity.ts';

test('quantities are numbers of their base unit', () => {
  const table: [string | number, number | undefined][] = [
    ['1', 1],
    [2, 2],
    ['500m', 0.5],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['1k', 1000],
    ['1Ki', 1024],
    ['4028416Ki', 4028416 * 1024],
    ['2Gi', 2 ** 31],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1E', 1e18],
    [' 1 ', 1],
    ['-1', -1],
    ['', undefined],
    ['1KB', undefined],
    ['one', undefined],
    [Number.NaN, undefined],
  ];
  for (const [text, wanted] of table) assert.equal(parseQuantity(text), wanted, String(text));
});

test('counts and percentages', () => {
  assert.equal(scaled(3, 10, 'up'), 3);
  assert.equal(scaled('25%', 3, 'up'), 1);
  assert.equal(scaled('25%', 3, 'down'), 0);
  assert.equal(scaled('100%', 7, 'down'), 7);
  assert.equal(scaled('0%', 7, 'up'), 0);
  assert.equal(scaled('25', 7, 'up'), undefined);
  assert.equal(scaled('x%', 7, 'up'), undefined);
});
