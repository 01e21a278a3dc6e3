import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bareName } from './arguments.ts';

test('what -o name prints is a name where it is given back, and nothing else is cut', () => {
  assert.equal(bareName('updatepreflight/a', 'updatepreflight'), 'a');
  assert.equal(bareName('node/a', 'nodeupdate', 'node'), 'a');
  for (const word of ['a', 'other/a', 'node-role/a=b', 'nodes/a']) assert.equal(bareName(word, 'node'), word);
});
