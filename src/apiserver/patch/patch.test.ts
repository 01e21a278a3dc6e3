import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../object.ts';
import { Resources } from '../resources.ts';
import { StatusError } from '../status.ts';
import { jsonPatch } from './json.ts';
import { mergePatch } from './merge.ts';
import { applyPatchBody, patchTypeOf } from './patch.ts';
import { strategicMergePatch } from './strategic.ts';

// RFC 7396 appendix A: target, patch, result.
const appendix: readonly [unknown, unknown, unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

for (const [target, patch, result] of appendix) {
  test(`RFC 7396 appendix A: ${JSON.stringify(target)} with ${JSON.stringify(patch)}`, () => {
    const before = structuredClone(target);
    assert.deepEqual(mergePatch(target, patch), result);
    assert.deepEqual(target, before);
  });
}

test('a merge patch cannot reach the prototype', () => {
  const result = mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}')) as Record<string, unknown>;
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  assert.deepEqual(Object.keys(result), ['__proto__']);
});

test('a JSON patch that fails in the middle leaves the target as it was', () => {
  const target = { a: 1, b: [1, 2] };
  const patch = [
    { op: 'remove', path: '/a' },
    { op: 'test', path: '/b/0', value: 9 },
    { op: 'add', path: '/c', value: 1 },
  ];
  assert.throws(
    () => jsonPatch(target, patch),
    (error) => error instanceof StatusError && error.code === 422,
  );
  assert.deepEqual(target, { a: 1, b: [1, 2] });
});

test('a JSON patch whose copies double an object again and again is refused before it fills the memory', () => {
  const patch = Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '/a', path: `/a/x${index}` }));
  assert.throws(
    () => jsonPatch({ a: { b: 'c'.repeat(100) } }, patch),
    (error) => error instanceof StatusError && error.code === 422 && /copies more than/.test(error.message),
  );
});

test('a JSON patch reaches nothing that objects inherit', () => {
  for (const path of [
    '/hasOwnProperty/call',
    '/constructor/prototype/x',
    '/__proto__/x',
    '/__proto__',
    '/a/at/x',
  ]) {
    for (const patch of [
      [{ op: 'add', path, value: 'x' }],
      [{ op: 'copy', from: '/a', path }],
      [{ op: 'copy', from: path, path: '/b' }],
      [{ op: 'move', from: path, path: '/b' }],
      [{ op: 'remove', path }],
    ]) {
      assert.throws(
        () => jsonPatch({ a: [1] }, patch),
        (error) => error instanceof StatusError && error.code === 422,
        JSON.stringify(patch),
      );
    }
  }
  assert.equal(typeof Object.prototype.hasOwnProperty.call, 'function');
  const named = [{ op: 'add', path: '/a/constructor', value: 1 }];
  assert.equal(JSON.stringify(jsonPatch({ a: {} }, named)), '{"a":{"constructor":1}}');
  assert.throws(
    () => jsonPatch({ constructor: {} }, [{ op: 'add', path: '/constructor/x', value: 1 }]),
    /does not exist/,
  );
});

test('a JSON patch may copy what is there', () => {
  const patch = [{ op: 'copy', from: '/a', path: '/b' }];
  assert.deepEqual(jsonPatch({ a: [1] }, patch), { a: [1], b: [1] });
  assert.throws(() => jsonPatch({}, patch), /copy \/b: /);
});

test('what is no JSON patch is refused', () => {
  for (const patch of [
    {},
    [1],
    [{ op: 'add' }],
    [{ op: 'copy', path: '/a' }],
    [{ op: 'add', path: 'a', value: 1 }],
    'x',
  ]) {
    assert.throws(
      () => jsonPatch({}, patch),
      (error) => error instanceof StatusError && error.code === 400,
    );
  }
});

const resources = new Resources();
const deployments = resources.builtIn('apps/v1', 'deployments');
const pods = resources.builtIn('v1', 'pods');

const pod = (): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', finalizers: ['a', 'b'] },
  spec: {
    containers: [
      { name: 'one', image: 'a', ports: [{ containerPort: 80 }] },
      { name: 'two', image: 'b' },
    ],
    tolerations: [{ key: 'x' }],
    volumes: [{ name: 'v', emptyDir: {} }],
  },
});

const specOf = (object: KubeObject) => object.spec as Record<string, unknown>;

const patched = (patch: Record<string, unknown>) =>
  strategicMergePatch(pods, pod(), patch) as ReturnType<typeof pod>;

test('strategic: lists with a merge key are merged, others are replaced', () => {
  const result = patched({
    spec: { containers: [{ name: 'two', image: 'c' }], tolerations: [{ key: 'y' }] },
  });
  assert.deepEqual(specOf(result).containers, [
    { name: 'one', image: 'a', ports: [{ containerPort: 80 }] },
    { name: 'two', image: 'c' },
  ]);
  assert.deepEqual(specOf(result).tolerations, [{ key: 'y' }]);
});

test('strategic: $retainKeys drops the other member of a union', () => {
  const result = patched({
    spec: { volumes: [{ name: 'v', configMap: { name: 'c' }, $retainKeys: ['name', 'configMap'] }] },
  });
  assert.deepEqual(specOf(result).volumes, [{ name: 'v', configMap: { name: 'c' } }]);
});

test('strategic: $patch replace takes the whole list', () => {
  const result = patched({ spec: { containers: [{ name: 'three' }, { $patch: 'replace' }] } });
  assert.deepEqual(specOf(result).containers, [{ name: 'three' }]);
});

test('strategic: plain values are merged as a set and deleted by $deleteFromPrimitiveList', () => {
  assert.deepEqual(patched({ metadata: { finalizers: ['c', 'a'] } }).metadata.finalizers, ['a', 'b', 'c']);
  const gone = patched({ metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } });
  assert.deepEqual(gone.metadata.finalizers, ['b']);
});

test('strategic: a member without the merge key is refused', () => {
  assert.throws(
    () => patched({ spec: { containers: [{ image: 'x' }] } }),
    /does not contain declared merge key: name/,
  );
});

test('strategic: null removes a member', () => {
  const result = patched({ spec: { tolerations: null } });
  assert.equal('tolerations' in specOf(result), false);
});

test('a patch that leaves no object is refused', () => {
  assert.throws(() => applyPatchBody(deployments, 'json', pod(), [{ op: 'replace', path: '', value: 1 }]));
});

test('server-side apply is answered 415 with a way out', () => {
  assert.throws(
    () => patchTypeOf(deployments, 'application/apply-patch+yaml'),
    (error) =>
      error instanceof StatusError && error.code === 415 && /without --server-side/.test(error.message),
  );
});
