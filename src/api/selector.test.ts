import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabelSelector } from './core.ts';
import { selects } from './selector.ts';

test('selectors: an empty one chooses everything, an absent one nothing', () => {
  const labels = { app: 'a', tier: 'front' };
  const table: [LabelSelector | null | undefined, boolean][] = [
    [undefined, false],
    [null, false],
    [{}, true],
    [{ matchLabels: { app: 'a' } }, true],
    [{ matchLabels: { app: 'b' } }, false],
    [{ matchLabels: { app: 'a', other: 'x' } }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['front', 'back'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['front'] }] }, false],
    [{ matchExpressions: [{ key: 'none', operator: 'NotIn', values: ['front'] }] }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
    [{ matchLabels: { app: 'a' }, matchExpressions: [{ key: 'none', operator: 'Exists' }] }, false],
  ];
  for (const [selector, wanted] of table) {
    assert.equal(selects(selector, labels), wanted, JSON.stringify(selector));
  }
  assert.equal(selects({ matchLabels: { app: 'a' } }), false);
});
