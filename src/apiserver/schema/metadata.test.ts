import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText } from './field-error.ts';
import type { JsonObject } from './json.ts';
import { validateMetadata, validateMetadataUpdate } from './metadata.ts';

const of = (metadata: JsonObject, namespaced = true) =>
  validateMetadata({ metadata }, { namespaced }).map(errorText);

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

test('names', async (t) => {
  const cases: [JsonObject, string[]][] = [
    [{ name: 'a.b-c', namespace: 'n' }, []],
    [{ name: 'A', namespace: 'n' }, [`metadata.name: Invalid value: "A": ${subdomain}`]],
    [{ name: '', namespace: 'n' }, ['metadata.name: Required value: name or generateName is required']],
    [
      { name: 'a'.repeat(254), namespace: 'n' },
      [`metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`],
    ],
    [
      { name: '..', namespace: 'n' },
      [
        'metadata.name: Invalid value: "..": may not be \'..\'',
        `metadata.name: Invalid value: "..": ${subdomain}`,
      ],
    ],
    [{ name: 'a', generateName: 'a-', namespace: 'n' }, []],
    [
      { name: 'a', namespace: 'N_' },
      [
        `metadata.namespace: Invalid value: "N_": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
      ],
    ],
    [{ name: 'a' }, ['metadata.namespace: Required value']],
  ];
  for (const [metadata, expected] of cases) {
    await t.test(JSON.stringify(metadata).slice(0, 60), () => assert.deepEqual(of(metadata), expected));
  }
  assert.deepEqual(of({ name: 'a', namespace: 'n' }, false), [
    'metadata.namespace: Forbidden: not allowed on this type',
  ]);
  const role = { metadata: { name: 'system:node', namespace: 'n' } };
  assert.deepEqual(validateMetadata(role, { namespaced: true, name: 'pathSegment' }), []);
  assert.equal(
    validateMetadata({ metadata: { name: 'a/b' } }, { namespaced: false, name: 'pathSegment' }).length,
    1,
  );
});

test('labels, annotations, owners, finalizers', () => {
  const base = { name: 'a', namespace: 'n' };
  assert.deepEqual(
    of({
      ...base,
      labels: { 'example.com/a': 'b', c: '' },
      annotations: { 'Example.com/A': 'anything at all' },
    }),
    [],
  );
  assert.equal(of({ ...base, labels: { 'a b': 'x' } }).length, 1);
  assert.match(
    of({ ...base, labels: { a: 'x y' } })[0] ?? '',
    /^metadata.labels: Invalid value: "x y": a valid label must be an empty string/,
  );
  assert.deepEqual(of({ ...base, labels: { a: 1 } }), [
    'metadata.labels.a: Invalid value: "integer": labels.a in body must be of type string: "integer"',
  ]);
  assert.deepEqual(of({ ...base, annotations: { a: 'x'.repeat(256 * 1024) } }), [
    'metadata.annotations: Too long: may not be more than 262144 bytes',
  ]);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };
  assert.deepEqual(of({ ...base, ownerReferences: [owner] }), []);
  assert.deepEqual(of({ ...base, ownerReferences: [{ ...owner, uid: '' }] }), [
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  ]);
  assert.match(
    of({ ...base, ownerReferences: [owner, { ...owner, name: 'q' }] })[0] ?? '',
    /Only one reference can have Controller set to true/,
  );
  assert.deepEqual(of({ ...base, finalizers: ['example.com/keep'] }), []);
  assert.equal(of({ ...base, finalizers: ['not a name'] }).length, 1);
});

test('what an update cannot change', () => {
  const update = (metadata: JsonObject, old: JsonObject) =>
    validateMetadataUpdate({ metadata }, { metadata: old }).map(errorText);
  assert.deepEqual(update({ name: 'a', uid: 'u', labels: { a: 'b' } }, { name: 'a', uid: 'u' }), []);
  assert.deepEqual(update({ name: 'a', uid: 'v' }, { name: 'a', uid: 'u' }), [
    'metadata.uid: Invalid value: "v": field is immutable',
  ]);
  const going = { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] };
  assert.deepEqual(update({ ...going, finalizers: [] }, going), []);
  assert.deepEqual(update({ ...going, finalizers: ['x/y', 'x/z'] }, going), [
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/z"}',
  ]);
});
