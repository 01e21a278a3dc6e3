import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noSuchNode } from './unknown-node.ts';

test('a node that is not there: those that are, sorted, and not a thousand of them', () => {
  const error = noSuchNode(['master-9'], new Set(['worker-1', 'master-0']));
  assert.equal(error.message, 'there is no node master-9');
  assert.equal(error.next, 'Use one of: master-0, worker-1.');
  const many = noSuchNode(
    ['a'],
    Array.from({ length: 25 }, (_, index) => `n-${index}`),
  );
  assert.match(many.next, / and 5 more\.$/);
  assert.match(noSuchNode(['a'], []).next, /No node reports here yet/);
});
