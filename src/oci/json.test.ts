import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseStrictJson } from './json.ts';

const parse = (text: string) => parseStrictJson(Buffer.from(text), 'a document');

test('what was written is read', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      assert.deepEqual(parse(text), JSON.parse(text));
    }),
  );
  assert.deepEqual(parse('{"a\\"b":"\\\\","\\\\":"\\""}'), { 'a"b': '\\', '\\': '"' });
});

test('a text of any length is read, or refused, and never ends the program', () => {
  const long = 'x'.repeat(16 * 1024 * 1024);
  assert.equal((parse(`{"a":"${long}"}`) as { a: string }).a.length, long.length);
  const escapes = '\\n'.repeat(8 * 1024 * 1024);
  assert.equal((parse(`["${escapes}"]`) as string[])[0]?.length, escapes.length / 2);
  for (const open of [`{"a":"${long}`, `{"a":"${escapes}\\`, '"', '"\\"', '"\\']) {
    assert.throws(() => parse(open), { code: 'InputInvalid', message: /does not end/ });
  }
});
