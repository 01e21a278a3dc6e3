import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted } from './count.ts';

test('a number with its noun', () => {
  assert.deepEqual(
    [0, 1, 2].map((number) => counted(number, 'node')),
    ['0 nodes', '1 node', '2 nodes'],
  );
  assert.equal(counted(1, 'node is', 'nodes are'), '1 node is');
  assert.equal(counted(2, 'node is', 'nodes are'), '2 nodes are');
});
