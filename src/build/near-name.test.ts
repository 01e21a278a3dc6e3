import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearName } from './near-name.ts';

test('a slip of two letters leads to the name that was meant, anything else to none', () => {
  const names = ['my-operator', 'my-operators', 'web'];
  assert.equal(nearName('my-operatr', names), 'my-operator');
  assert.equal(nearName('my-opreator', names), 'my-operator');
  assert.equal(nearName('wbe', names), 'web');
  assert.equal(nearName('helper', names), undefined);
  assert.equal(nearName('x', ['a']), undefined);
});
