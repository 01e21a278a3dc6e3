import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { needs, repository, sharedData } from '../../../tests/tier.ts';
import { builtinSchema } from './builtin.ts';
import {
  customResourceSchema,
  defaultCustomResourceDefinition,
  validateCustomResourceDefinition,
} from './custom-resource.ts';
import { errorText } from './field-error.ts';
import type { JsonObject } from './json.ts';

/** Where the real server says that a schema stands which all versions have in common. */
const at = 'spec.validation.openAPIV3Schema';

function definition(schema: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      ...more,
    },
  };
}

function problems(crd: JsonObject, old?: JsonObject): string[] {
  defaultCustomResourceDefinition(crd);
  return validateCustomResourceDefinition(crd, old).map(errorText);
}

const string = { type: 'string' };
const spec = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
});

test('names are filled in', () => {
  const crd = definition({ type: 'object' });
  assert.deepEqual(problems(crd), []);
  assert.deepEqual((crd.spec as JsonObject).names, {
    plural: 'things',
    kind: 'Thing',
    singular: 'thing',
    listKind: 'ThingList',
  });
});

test('what is no good definition', async (t) => {
  const version = (more: JsonObject): JsonObject => ({
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object' } },
    ...more,
  });
  const cases: [string, JsonObject, string[]][] = [
    [
      'name',
      { ...definition({ type: 'object' }), metadata: { name: 'x' } },
      ['metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group'],
    ],
    [
      'scope',
      definition({ type: 'object' }, { scope: 'World' }),
      ['spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    ],
    [
      'no storage version',
      definition({}, { versions: [version({ storage: false })] }),
      ['spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version'],
    ],
    [
      'no schema',
      definition({}, { versions: [version({ schema: null })] }),
      ['spec.versions[0].schema.openAPIV3Schema: Required value'],
    ],
    [
      'webhook conversion',
      definition({ type: 'object' }, { conversion: { strategy: 'Webhook' } }),
      ['spec.conversion.strategy: Invalid value: "Webhook": conversion webhooks are not served here'],
    ],
    ['root type', definition({}), [`${at}.type: Required value: must not be empty at the root`]],
    [
      'no type',
      definition(spec({ a: {} })),
      [
        `${at}.properties[spec].properties[a].type: Required value: must not be empty for specified object fields`,
      ],
    ],
    [
      'no items',
      definition(spec({ a: { type: 'array' } })),
      [`${at}.properties[spec].properties[a].items: Required value: must be specified`],
    ],
    [
      'map without keys',
      definition(spec({ a: { type: 'array', items: string, 'x-kubernetes-list-type': 'map' } })),
      [
        `${at}.properties[spec].properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
        `${at}.properties[spec].properties[a].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`,
      ],
    ],
    [
      'key that may be absent',
      definition(
        spec({
          a: {
            type: 'array',
            items: { type: 'object', properties: { k: string } },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k'],
          },
        }),
      ),
      [
        `${at}.properties[spec].properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
      ],
    ],
    [
      'both kinds of properties',
      definition(spec({ a: { type: 'object', properties: { b: string }, additionalProperties: string } })),
      [
        `${at}.properties[spec].properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
      ],
    ],
    [
      'type in anyOf',
      definition(spec({ a: { type: 'object', anyOf: [{ type: 'object' }] } })),
      [`${at}.properties[spec].properties[a].anyOf[0].type: Forbidden: must be empty to be structural`],
    ],
    [
      'reference',
      definition(spec({ a: { $ref: '#/x', type: 'object' } })),
      [`${at}.properties[spec].properties[a].$ref: Forbidden: $ref is not supported`],
    ],
    [
      'default of another type',
      definition(spec({ a: { type: 'integer', default: 'x' } })),
      [
        `${at}.properties[spec].properties[a].default: Invalid value: "string":  in body must be of type integer: "string"`,
      ],
    ],
    [
      'default with more',
      definition(spec({ a: { type: 'object', default: { x: 1 } } })),
      [`${at}.properties[spec].properties[a].default: Invalid value: {"x":1}: must not have unknown fields`],
    ],
    [
      'pattern',
      definition(spec({ a: { ...string, pattern: '(?=a)' } })),
      [
        `${at}.properties[spec].properties[a].pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: \`(?=\``,
      ],
    ],
  ];
  for (const [name, crd, expected] of cases) {
    await t.test(name, () => assert.deepEqual(problems(crd), expected));
  }
  await t.test('rule', () => {
    const crd = definition(spec({ a: { ...string, 'x-kubernetes-validations': [{ rule: 'self.nope()' }] } }));
    assert.match(
      problems(crd)[0] ?? '',
      /x-kubernetes-validations\[0\]\.rule: Invalid value: .*undeclared reference to 'nope'/,
    );
  });
});

test('what an update of a definition cannot change', () => {
  const old = definition(spec({ a: {} }));
  assert.deepEqual(
    problems(definition(spec({ a: {} })), old),
    [],
    'a schema that stands is not judged again',
  );
  const moved = definition({ type: 'object' }, { scope: 'Namespaced' });
  assert.deepEqual(problems(moved, old), ['spec.scope: Invalid value: "Namespaced": field is immutable']);
  const dropped = { ...definition({ type: 'object' }), status: { storedVersions: ['v1', 'v0'] } };
  assert.match(
    problems(dropped).join(),
    /status.storedVersions\[1\]: Invalid value: "v0": missing from spec.versions/,
  );
});

test('a definition is compiled once', () => {
  const stored = (generation: number, properties: JsonObject): JsonObject => ({
    ...definition(spec(properties)),
    metadata: { name: 'things.example.com', uid: 'u', generation },
  });
  const schema = customResourceSchema(stored(1, { a: string }), 'v1');
  assert.equal(customResourceSchema(stored(1, { a: string }), 'v1'), schema);
  assert.deepEqual(
    customResourceSchema(stored(2, { b: string }), 'v1').unknownFields({ spec: { b: 'x' } }),
    [],
  );
  assert.deepEqual(schema.unknownFields({ spec: { a: 'x', b: 1 } }), ['spec.b']);
});

async function judgeFiles(
  t: { test: (name: string, run: () => void) => Promise<void> },
  folder: string,
): Promise<number> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  for (const file of files) {
    await t.test(file, () => {
      const crd = parse(readFileSync(join(folder, file), 'utf8')) as JsonObject;
      assert.deepEqual(
        builtinSchema('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition')?.unknownFields(crd),
        [],
      );
      assert.deepEqual(problems(crd), []);
    });
  }
  return files.length;
}

test('our own definitions are good', async (t) => {
  assert.ok((await judgeFiles(t, join(repository, 'crds'))) > 0);
});

test('definitions of upstream are good', needs('shared-data'), async (t) => {
  assert.ok((await judgeFiles(t, join(sharedData, 'crds'))) > 0);
});
