import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../../errors/error.ts';
import { compileSchema } from './compile.ts';
import type { JsonObject } from './json.ts';

/** Schemas and objects that are made to stop the process; each ends, and what was given up is refused. */

const schemaOf = (properties: JsonObject) =>
  compileSchema({ type: 'object', properties: { spec: { type: 'object', properties } } });

const evil = 'a'.repeat(40_000);

test('many patterns share what they may spend', () => {
  const patterns = Array.from({ length: 2_000 }, (_, n) => ({ pattern: `(a+)+${n}$` }));
  const schema = schemaOf({ s: { type: 'string', anyOf: patterns } });
  const errors = schema.validate({ spec: { s: evil } });
  assert.match(errors[0]?.detail ?? '', /take too long/);
});

test('a pattern that was given up does not pass a `not`', () => {
  const patterns = Array.from({ length: 500 }, (_, n) => ({ not: { pattern: `(a|b|ab)*${n}x$` } }));
  const schema = schemaOf({ s: { type: 'string', allOf: patterns } });
  assert.ok(schema.validate({ spec: { s: evil } }).length > 0);
  assert.deepEqual(schema.validate({ spec: { s: 'short' } }), []);
});

test('defaults do not make an object larger without end', () => {
  const item = {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`f${n}`, { type: 'string', default: 'x'.repeat(1_000) }]),
    ),
  };
  const schema = schemaOf({ l: { type: 'array', items: item } });
  const small: JsonObject = { spec: { l: [{}, {}] } };
  schema.default(small);
  assert.equal(JSON.stringify(small).length > 200_000, true);
  assert.throws(
    () => schema.default({ spec: { l: Array.from({ length: 30_000 }, () => ({})) } }),
    (error) => isSluiceError(error, 'InputTooLarge') && /defaults of its schema/.test(error.message),
  );
});

test('two lists of many items are compared by their keys, not each item with each', () => {
  const schema = schemaOf({
    l: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['n'],
      items: {
        type: 'object',
        required: ['n'],
        properties: { n: { type: 'string' }, v: { type: 'integer' } },
      },
    },
  });
  const listOf = (v: number): JsonObject => ({
    spec: { l: Array.from({ length: 50_000 }, (_, n) => ({ n: `k${n}`, v })) },
  });
  assert.deepEqual(schema.validate(listOf(1), listOf(2)), []);
});
