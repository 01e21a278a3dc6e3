import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileSchema } from './compile.ts';
import { errorText } from './field-error.ts';
import type { JsonObject, JsonValue } from './json.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const string = { type: 'string' };
const integer = { type: 'integer' };
const preserve = { 'x-kubernetes-preserve-unknown-fields': true };

function of(spec: JsonObject) {
  return compileSchema(object({ spec }));
}

function texts(spec: JsonObject, value: JsonValue, old?: JsonValue): string[] {
  const schema = of(spec);
  assert.deepEqual(schema.problems, []);
  const errors = schema.validate({ spec: value }, old === undefined ? undefined : { spec: old });
  return errors.map(errorText).filter((text) => !text.includes('some validation rules were not checked'));
}

test('pruning keeps what the schema names', async (t) => {
  const cases: [string, JsonObject, JsonValue, JsonValue, string[]][] = [
    ['unknown field', object({ a: string }), { a: 'x', b: 1 }, { a: 'x' }, ['spec.b']],
    [
      'in lists',
      object({ l: { type: 'array', items: object({ a: string }) } }),
      { l: [{ a: 'x', b: 1 }] },
      { l: [{ a: 'x' }] },
      ['spec.l[0].b'],
    ],
    ['preserved', object({}, preserve), { b: { c: 1 } }, { b: { c: 1 } }, []],
    [
      'named below preserved',
      object({ a: object({ x: string }) }, preserve),
      { a: { x: 'x', y: 1 }, b: 1 },
      { a: { x: 'x' }, b: 1 },
      ['spec.a.y'],
    ],
    [
      'map values',
      { type: 'object', additionalProperties: object({ a: string }) },
      { k: { a: '1', b: 2 } },
      { k: { a: '1' } },
      ['spec.k.b'],
    ],
    ['any values', { type: 'object', additionalProperties: true }, { k: { b: 2 } }, { k: { b: 2 } }, []],
    ['object without properties', { type: 'object' }, { k: 1 }, {}, ['spec.k']],
    [
      'embedded resource',
      object({}, { 'x-kubernetes-embedded-resource': true, ...preserve }),
      { apiVersion: 'v1', kind: 'A', metadata: { name: 'x', no: 1 }, more: 1 },
      { apiVersion: 'v1', kind: 'A', metadata: { name: 'x' }, more: 1 },
      ['spec.metadata.no'],
    ],
    ['wrong type', object({ a: string }), 'text', 'text', []],
  ];
  for (const [name, spec, value, kept, paths] of cases) {
    await t.test(name, () => {
      const schema = of(spec);
      const given = structuredClone({ spec: value });
      assert.deepEqual(schema.unknownFields(given), paths);
      assert.deepEqual(given, { spec: value });
      assert.deepEqual(schema.prune(given), paths);
      assert.deepEqual(given, { spec: kept });
    });
  }
  await t.test('metadata is known for every object', () => {
    const given: JsonObject = {
      apiVersion: 'a/v1',
      kind: 'A',
      metadata: { name: 'x', labels: { a: 'b' }, nope: 1 },
      x: 1,
    };
    assert.deepEqual(compileSchema(object({})).prune(given), ['metadata.nope', 'x']);
    assert.deepEqual(given, { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'x', labels: { a: 'b' } } });
  });
});

test('defaults', async (t) => {
  const cases: [string, JsonObject, JsonValue, JsonValue][] = [
    ['absent', object({ a: { ...string, default: 'd' } }), {}, { a: 'd' }],
    ['present', object({ a: { ...string, default: 'd' } }), { a: 'x' }, { a: 'x' }],
    ['null', object({ a: { ...string, default: 'd' } }), { a: null }, { a: 'd' }],
    ['nullable null', object({ a: { ...string, default: 'd', nullable: true } }), { a: null }, { a: null }],
    [
      'nested in a default',
      object({ o: { ...object({ a: { ...integer, default: 1 } }), default: {} } }),
      {},
      { o: { a: 1 } },
    ],
    ['not nested without', object({ o: object({ a: { ...integer, default: 1 } }) }), {}, {}],
    [
      'in lists',
      object({ l: { type: 'array', items: object({ a: { ...integer, default: 1 } }) } }),
      { l: [{}, { a: 2 }] },
      { l: [{ a: 1 }, { a: 2 }] },
    ],
    [
      'in maps',
      object({ m: { type: 'object', additionalProperties: object({ a: { ...integer, default: 1 } }) } }),
      { m: { k: {} } },
      { m: { k: { a: 1 } } },
    ],
  ];
  for (const [name, spec, value, filled] of cases) {
    await t.test(name, () => {
      const given = structuredClone({ spec: value });
      of(spec).default(given);
      assert.deepEqual(given, { spec: filled });
    });
  }
});

test('values are judged in the words of the real server', async (t) => {
  const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });
  const cases: [JsonObject, JsonValue, string[]][] = [
    [integer, 'x', ['spec: Invalid value: "string": spec in body must be of type integer: "string"']],
    [integer, 1.5, ['spec: Invalid value: "number": spec in body must be of type integer: "number"']],
    [{ type: 'number' }, 1, []],
    [string, null, ['spec: Invalid value: "null": spec in body must be of type string: "null"']],
    [{ ...string, nullable: true }, null, []],
    [object({ a: string }, { required: ['a', 'b'] }), { a: 'x' }, ['spec.b: Required value']],
    [{ ...string, enum: ['A', 'B'] }, 'C', ['spec: Unsupported value: "C": supported values: "A", "B"']],
    [{ ...string, pattern: '^a+$' }, 'b', [`spec: Invalid value: "b": spec in body should match '^a+$'`]],
    [
      { ...string, minLength: 2 },
      'é',
      ['spec: Invalid value: "é": spec in body should be at least 2 chars long'],
    ],
    [{ ...string, maxLength: 1 }, '😀', []],
    [{ ...string, maxLength: 1 }, 'ab', ['spec: Too long: may not be more than 1 byte']],
    [
      { ...integer, minimum: 1 },
      0,
      ['spec: Invalid value: 0: spec in body should be greater than or equal to 1'],
    ],
    [
      { ...integer, maximum: 1, exclusiveMaximum: true },
      1,
      ['spec: Invalid value: 1: spec in body should be less than 1'],
    ],
    [{ ...integer, multipleOf: 3 }, 4, ['spec: Invalid value: 4: spec in body should be a multiple of 3']],
    [{ 'x-kubernetes-int-or-string': true }, '10%', []],
    [{ 'x-kubernetes-int-or-string': true }, 10, []],
    [
      { 'x-kubernetes-int-or-string': true },
      true,
      ['spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean"'],
    ],
    [list(string, { maxItems: 1 }), ['a', 'b'], ['spec: Too many: 2: must have at most 1 item']],
    [
      list(string, { minItems: 1 }),
      [],
      ['spec: Invalid value: 0: spec in body should have at least 1 items'],
    ],
    [list(string, { 'x-kubernetes-list-type': 'set' }), ['a', 'b', 'a'], ['spec[2]: Duplicate value: "a"']],
    [
      list(object({ k: string, v: integer }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      }),
      [{ k: 'a', v: 1 }, { k: 'b' }, { k: 'a', v: 2 }],
      ['spec[2]: Duplicate value: {"k":"a"}'],
    ],
    [
      { type: 'object', additionalProperties: integer, maxProperties: 1 },
      { a: 1, b: 2 },
      ['spec: Too many: 2: must have at most 1 item'],
    ],
    [
      { type: 'object', additionalProperties: integer },
      { a: 'x' },
      ['spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'],
    ],
    [
      { ...string, format: 'date-time' },
      'yesterday',
      ['spec: Invalid value: "yesterday": spec in body must be of type date-time: "yesterday"'],
    ],
    [{ ...string, format: 'date-time' }, '2024-02-29T12:00:00Z', []],
    [
      { ...string, format: 'ipv4' },
      '1.2.3',
      ['spec: Invalid value: "1.2.3": spec in body must be of type ipv4: "1.2.3"'],
    ],
    [{ ...string, format: 'nobody-knows' }, 'x', []],
    [
      object({ a: string, b: string }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] }),
      { a: 'x', b: 'y' },
      [
        '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    ],
    [
      object({ a: string }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
      {},
      [
        '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
        'spec.a: Required value',
      ],
    ],
    [
      object({ a: string }, { not: { required: ['a'] } }),
      { a: 'x' },
      ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
    ],
    [
      object({ a: integer }, { allOf: [{ properties: { a: { minimum: 3 } } }] }),
      { a: 2 },
      [
        'spec.a: Invalid value: 2: spec.a in body should be greater than or equal to 3',
        '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated',
      ],
    ],
  ];
  for (const [spec, value, expected] of cases) {
    await t.test(`${JSON.stringify(spec)} ${JSON.stringify(value)}`, () =>
      assert.deepEqual(texts(spec, value), expected),
    );
  }
});

test('rules', async (t) => {
  const rule = (text: string, more: JsonObject = {}): JsonObject => ({
    'x-kubernetes-validations': [{ rule: text, ...more }],
  });
  await t.test('message, messageExpression, reason and fieldPath', () => {
    const spec = (more: JsonObject) => object({ a: integer }, rule('self.a > 1', more));
    assert.deepEqual(texts(spec({}), { a: 1 }), ['spec: Invalid value: "object": failed rule: self.a > 1']);
    assert.deepEqual(texts(spec({ message: 'too small' }), { a: 1 }), [
      'spec: Invalid value: "object": too small',
    ]);
    assert.deepEqual(texts(spec({ messageExpression: "'a is ' + string(self.a)" }), { a: 1 }), [
      'spec: Invalid value: "object": a is 1',
    ]);
    assert.deepEqual(
      texts(spec({ messageExpression: "'x' + string(1 / (self.a - 1))", message: 'm' }), { a: 1 }),
      ['spec: Invalid value: "object": m'],
    );
    assert.deepEqual(
      texts(spec({ reason: 'FieldValueForbidden', fieldPath: '.a', message: 'no' }), { a: 1 }),
      ['spec.a: Forbidden: no'],
    );
  });
  await t.test('transition rules need an old value', () => {
    const spec = object({ a: { ...integer, ...rule('self >= oldSelf', { message: 'must grow' }) } });
    assert.deepEqual(texts(spec, { a: 1 }), []);
    assert.deepEqual(texts(spec, { a: 1 }, {}), []);
    assert.deepEqual(texts(spec, { a: 1 }, { a: 1 }), []);
    assert.deepEqual(texts(spec, { a: 1 }, { a: 2 }), ['spec.a: Invalid value: "integer": must grow']);
  });
  await t.test('optionalOldSelf runs on creation too', () => {
    const spec = object({
      a: {
        ...integer,
        ...rule('oldSelf.hasValue() || self == 1', { optionalOldSelf: true, message: 'starts at 1' }),
      },
    });
    assert.deepEqual(texts(spec, { a: 2 }), ['spec.a: Invalid value: "integer": starts at 1']);
    assert.deepEqual(texts(spec, { a: 2 }, { a: 1 }), []);
  });
  await t.test('items of map lists are compared with their own', () => {
    const spec = {
      type: 'array',
      items: object({ k: string, v: { ...integer, ...rule('self >= oldSelf', { message: 'grow' }) } }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    };
    assert.deepEqual(
      texts(
        spec,
        [
          { k: 'b', v: 1 },
          { k: 'a', v: 1 },
        ],
        [
          { k: 'a', v: 2 },
          { k: 'b', v: 1 },
        ],
      ),
      ['spec[1].v: Invalid value: "integer": grow'],
    );
  });
  await t.test('the root sees its name', () => {
    const schema = compileSchema(
      object({}, rule("self.metadata.name == 'cluster' && self.kind == 'A'", { message: 'must be cluster' })),
    );
    assert.deepEqual(schema.validate({ apiVersion: 'a/v1', kind: 'A', metadata: { name: 'cluster' } }), []);
    assert.deepEqual(
      schema.validate({ apiVersion: 'a/v1', kind: 'A', metadata: { name: 'x' } }).map(errorText),
      ['<nil>: Invalid value: "object": must be cluster'],
    );
  });
  await t.test('names that are no identifiers are escaped', () => {
    const spec = object(
      { 'a-b': integer, namespace: string, x__y: integer },
      rule("self.a__dash__b == 1 && self.__namespace__ == 'n' && self.x__underscores__y == 2"),
    );
    assert.deepEqual(texts(spec, { 'a-b': 1, namespace: 'n', x__y: 2 }), []);
  });
  await t.test('errors of evaluation name the rule', () => {
    const spec = object({ a: string, b: integer }, rule('self.b > 1'));
    assert.deepEqual(texts(spec, { a: 'x' }), [
      'spec: Invalid value: "object": no such key: b evaluating rule: self.b > 1',
    ]);
  });
  await t.test('an unchanged part is not judged again', () => {
    const spec = object({ a: { ...string, maxLength: 1 }, b: integer }, rule('self.b > 1', { message: 'b' }));
    assert.deepEqual(texts(spec, { a: 'long', b: 2 }, { a: 'long', b: 3 }), []);
    assert.deepEqual(texts(spec, { a: 'longer', b: 2 }, { a: 'long', b: 3 }), [
      'spec.a: Too long: may not be more than 1 byte',
    ]);
    assert.deepEqual(texts(spec, { a: 'x', b: 1 }, { a: 'x', b: 1 }), []);
  });
  await t.test('rules wait for a sound object', () => {
    const schema = of(object({ a: integer }, { required: ['a'], ...rule('self.a > 1') }));
    assert.deepEqual(schema.validate({ spec: {} }).map(errorText), [
      'spec.a: Required value',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });
  await t.test('a rule that does not compile is a problem of the schema', () => {
    const { problems } = of(object({ a: integer }, rule('self.nope > 1')));
    assert.match(
      errorText(problems[0] as never),
      /^properties\[spec\]\.x-kubernetes-validations\[0\]\.rule: Invalid value: .*undefined field 'nope'/,
    );
  });
  await t.test('all rules of an object share what they may spend', () => {
    const spec = {
      type: 'array',
      items: {
        type: 'array',
        items: {
          ...integer,
          ...rule('[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, a + b + self > 0))'),
        },
      },
    };
    const value = Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => 1));
    const errors = texts(spec as JsonObject, value);
    assert.equal(errors.length, 1);
    assert.match(errors[0] as string, /cost/);
  });
});

test('recursive definitions', () => {
  const node: JsonObject = object({ value: integer, next: { $ref: '#/components/schemas/Node' } });
  const schema = compileSchema(
    object({ spec: { allOf: [{ $ref: '#/components/schemas/Node' }], default: {} } }),
    {
      resolve: (name) => (name === 'Node' ? node : undefined),
    },
  );
  const given = { spec: { value: 1, next: { value: 2, nope: 1, next: { value: 'x' } } } };
  assert.deepEqual(schema.unknownFields(given), ['spec.next.nope']);
  assert.deepEqual(
    schema.validate(given).map((error) => error.field),
    ['spec.next.next.value'],
  );
  let deep: JsonObject = { value: 1 };
  for (let depth = 0; depth < 10_000; depth++) deep = { next: deep };
  schema.prune({ spec: deep });
  schema.default({ spec: deep });
  assert.match(errorText(schema.validate({ spec: deep })[0] as never), /nested more than/);
});

const anyJson = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, 0, 1.5, -1, 'a', '', '2024-01-01T00:00:00Z'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'metadata', '__proto__x', 'constructor'), tie('value'), {
      maxKeys: 3,
    }),
  ),
})).value;

const anySchema = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonObject>(
      string,
      { ...integer, minimum: 0, default: 1 },
      { type: 'number' },
      { type: 'boolean', nullable: true },
      { 'x-kubernetes-int-or-string': true },
      { ...string, enum: ['a'] },
      { ...string, format: 'date-time' },
      preserve,
    ),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'metadata', 'constructor'), tie('schema'), {
        maxKeys: 3,
      }),
      required: fc.subarray(['a', 'b']),
    }),
    fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
    fc.record({
      type: fc.constant('array'),
      items: tie('schema'),
      'x-kubernetes-list-type': fc.constantFrom('atomic', 'set'),
    }),
  ) as fc.Arbitrary<JsonObject>,
})).schema;

test('property: any object against any schema', () => {
  fc.assert(
    fc.property(anySchema, anyJson, (spec, value) => {
      const schema = of(spec);
      const given = structuredClone({ spec: value });
      const unknown = schema.unknownFields(given);
      assert.deepEqual(schema.prune(given), unknown, 'pruning drops what is listed');
      assert.deepEqual(schema.unknownFields(given), [], 'and nothing unknown is left');
      assert.deepEqual(schema.prune(given), [], 'pruning again drops nothing');
      schema.default(given);
      const once = structuredClone(given);
      schema.default(given);
      assert.deepEqual(given, once, 'defaults are filled in once');
      schema.prune(given);
      assert.deepEqual(given, once, 'what is filled in is known');
      schema.validate(given);
      assert.deepEqual(given, once, 'judging changes nothing');
      assert.deepEqual(
        schema.validate(given, structuredClone(given)),
        [],
        'what stays as it is, is not judged again',
      );
    }),
    { numRuns: 1000 },
  );
});
