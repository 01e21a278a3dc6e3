import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiDocument, openApiIndex, type ServedKind } from './openapi.ts';
import { isObject, type JsonObject, type JsonValue, valueAt } from './schema/json.ts';
import { allVerbs, builtInKinds } from './scope/kinds.ts';

const custom: ServedKind = {
  group: 'example.com',
  version: 'v1alpha1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
  verbs: allVerbs,
  subresources: [
    { name: 'status', verbs: ['get', 'patch', 'update'] },
    {
      name: 'scale',
      verbs: ['get', 'patch', 'update'],
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    },
  ],
  schema: {
    type: 'object',
    description: 'Thing is a thing.',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer', description: 'How large.' } } },
    },
  },
};

const scope: readonly ServedKind[] = [...builtInKinds, custom];

const documents = () =>
  Object.keys(openApiIndex(scope).paths as JsonObject).map((groupVersion) => {
    const text = openApiDocument(scope, groupVersion);
    assert.ok(text !== undefined);
    return { groupVersion, document: JSON.parse(text.json) as JsonObject };
  });

function referencesOf(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesOf);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesOf(inner),
  );
}

test('every reference leads somewhere', () => {
  for (const { groupVersion, document } of documents()) {
    const schemas = valueAt(document, 'components', 'schemas') as JsonObject;
    for (const reference of new Set(referencesOf(document))) {
      const name = reference.replace('#/components/schemas/', '');
      assert.ok(Object.hasOwn(schemas, name), `${reference} in ${groupVersion}`);
    }
  }
});

test('every kind is described, and says that it takes fieldValidation', () => {
  for (const kind of scope.filter(({ verbs }) => verbs.includes('patch'))) {
    const { group, version, plural, namespaced } = kind;
    const root = group === '' ? `api/${version}` : `apis/${group}/${version}`;
    const document = JSON.parse(openApiDocument(scope, root)?.json ?? '{}') as JsonObject;
    const path = namespaced
      ? `/${root}/namespaces/{namespace}/${plural}/{name}`
      : `/${root}/${plural}/{name}`;
    const patch = valueAt(document, 'paths', path, 'patch') as JsonObject;
    assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group, kind: kind.kind, version }, path);
    const names = (patch.parameters as JsonObject[]).map(({ name }) => name);
    assert.ok(names.includes('fieldValidation') && names.includes('dryRun'), path);
    const types = Object.keys(valueAt(patch, 'requestBody', 'content') as JsonObject);
    assert.equal(types.includes('application/strategic-merge-patch+json'), kind.schema === undefined, path);
    const schemas = Object.values(valueAt(document, 'components', 'schemas') as Record<string, JsonObject>);
    const described = schemas.filter((schema) => {
      const list = schema['x-kubernetes-group-version-kind'];
      return (
        Array.isArray(list) &&
        list.some((gvk) => isObject(gvk) && gvk.group === group && gvk.kind === kind.kind)
      );
    });
    assert.equal(described.length, 1, path);
  }
});

test('a custom kind has what every object has, and its own', () => {
  const document = JSON.parse(
    openApiDocument(scope, 'apis/example.com/v1alpha1')?.json ?? '{}',
  ) as JsonObject;
  const schema = valueAt(document, 'components', 'schemas', 'com.example.v1alpha1.Thing') as JsonObject;
  assert.deepEqual(Object.keys(schema.properties as JsonObject).sort(), [
    'apiVersion',
    'kind',
    'metadata',
    'spec',
  ]);
  assert.equal(valueAt(schema, 'properties', 'spec', 'properties', 'size', 'description'), 'How large.');
  assert.ok(
    Object.hasOwn(
      document.paths as JsonObject,
      '/apis/example.com/v1alpha1/namespaces/{namespace}/things/{name}/scale',
    ),
  );
  assert.ok(Object.hasOwn(document.paths as JsonObject, '/apis/example.com/v1alpha1/things'));
});

test('the hash changes with the document and with nothing else', () => {
  const hash = (kinds: readonly ServedKind[]) => openApiDocument(kinds, 'apis/example.com/v1alpha1')?.hash;
  const other: ServedKind = { ...custom, schema: { type: 'object', description: 'Another.' } };
  assert.equal(hash(scope), hash([...scope]));
  assert.notEqual(hash(scope), hash([...builtInKinds, other]));
  assert.equal(openApiDocument(scope, 'apis/nobody/v1'), undefined);
});
