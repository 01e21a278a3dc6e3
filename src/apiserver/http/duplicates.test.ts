import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { duplicateMembers } from './duplicates.ts';

test('a member that stands twice is told by its path', () => {
  assert.deepEqual(duplicateMembers('{"a":1,"b":{"c":1,"c":2},"a":3}'), ['b.c', 'a']);
  assert.deepEqual(duplicateMembers('{"l":[{"x":1},{"x":1,"x" : 2}]}'), ['l[1].x']);
  assert.deepEqual(duplicateMembers('{"a":"\\"a\\":","b":["a","a"],"\\u0061":0}'), ['a']);
  assert.deepEqual(duplicateMembers('"text"'), []);
});

test('what JSON.stringify writes has no member twice', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(duplicateMembers(JSON.stringify(JSON.parse(text))), []);
    }),
  );
});
