import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '../api/core.ts';
import { conditionIs, findCondition, removeCondition, setCondition } from './conditions.ts';

const firstMs = Date.parse('2026-01-01T00:00:00Z');
const laterMs = firstMs + 60_000;
const available = { type: 'Available', status: 'True', reason: 'Done', message: 'done' } as const;

test('lastTransitionTime moves only when status does', () => {
  const first = setCondition<Condition>(undefined, available, firstMs);
  const reworded = setCondition(first, { ...available, message: 'still done' }, laterMs);
  assert.equal(reworded[0]?.lastTransitionTime, '2026-01-01T00:00:00Z');
  assert.equal(reworded[0]?.message, 'still done');
  const turned = setCondition(reworded, { ...available, status: 'False' }, laterMs);
  assert.equal(turned[0]?.lastTransitionTime, '2026-01-01T00:01:00Z');
});

test('D4 the same input again is the very same array: nothing to write', () => {
  const first = setCondition<Condition>([], available, firstMs);
  assert.equal(setCondition(first, available, laterMs), first);
  assert.equal(removeCondition(first, 'Other'), first);
});

test('others keep their place, and what was given is not changed', () => {
  const given: Condition[] = [
    { type: 'A', status: 'True', reason: 'R', message: '', lastTransitionTime: '2025-01-01T00:00:00Z' },
    { type: 'B', status: 'True', reason: 'R', message: '', lastTransitionTime: '2025-01-01T00:00:00Z' },
  ];
  const copy = structuredClone(given);
  const changed = setCondition(given, { type: 'A', status: 'False', reason: 'S', message: '' }, firstMs);
  assert.deepEqual(given, copy);
  assert.deepEqual(
    changed.map((condition) => condition.type),
    ['A', 'B'],
  );
  assert.deepEqual(
    removeCondition(changed, 'A').map((condition) => condition.type),
    ['B'],
  );
});

test('a condition of OpenShift without reason and message is the same as one with empty ones', () => {
  const given = [
    { type: 'Upgradeable', status: 'True' as const, lastTransitionTime: '2025-01-01T00:00:00Z' },
  ];
  const update = { type: 'Upgradeable', status: 'True', reason: '', message: '' } as const;
  assert.equal(setCondition(given, update, firstMs), given);
});

test('a condition that is not there is neither True nor False', () => {
  assert.equal(findCondition(undefined, 'Available'), undefined);
  assert.equal(conditionIs([], 'Available', 'False'), false);
});
