import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mergeManifest } from './merge.ts';

test('what the manifest does not name keeps its value, what it names is set', () => {
  const live = {
    metadata: { name: 'a', uid: '1', labels: { mine: 'x', theirs: 'y' } },
    spec: { replicas: 3 },
  };
  const manifest = { metadata: { name: 'a', labels: { mine: 'z' } }, spec: { paused: true } };
  assert.deepEqual(mergeManifest(live, manifest), {
    metadata: { name: 'a', uid: '1', labels: { mine: 'z', theirs: 'y' } },
    spec: { replicas: 3, paused: true },
  });
});

test('containers merge by name, and what the server defaulted in them stays', () => {
  const live = {
    spec: {
      containers: [
        { name: 'main', image: 'a@sha256:1', terminationMessagePath: '/dev/termination-log' },
        { name: 'injected', image: 'proxy' },
      ],
    },
  };
  const manifest = {
    spec: {
      containers: [
        { name: 'main', image: 'a@sha256:2' },
        { name: 'new', image: 'n' },
      ],
    },
  };
  assert.deepEqual(mergeManifest(live, manifest), {
    spec: {
      containers: [
        { name: 'main', image: 'a@sha256:2', terminationMessagePath: '/dev/termination-log' },
        { name: 'injected', image: 'proxy' },
        { name: 'new', image: 'n' },
      ],
    },
  });
});

test('environment merges by name; arguments and rules are replaced as a whole', () => {
  const live = {
    spec: {
      containers: [
        {
          name: 'a',
          args: ['x', 'y'],
          env: [
            { name: 'A', value: '1' },
            { name: 'B', value: '2' },
          ],
        },
      ],
    },
  };
  const manifest = { spec: { containers: [{ name: 'a', args: ['z'], env: [{ name: 'B', value: '3' }] }] } };
  assert.deepEqual(mergeManifest(live, manifest), {
    spec: {
      containers: [
        {
          name: 'a',
          args: ['z'],
          env: [
            { name: 'A', value: '1' },
            { name: 'B', value: '3' },
          ],
        },
      ],
    },
  });
  assert.deepEqual(
    mergeManifest({ rules: [{ verbs: ['get', 'list'] }] }, { rules: [{ verbs: ['get'] }] }),
    { rules: [{ verbs: ['get'] }] },
    'a rule that is gone from the manifest must not go on granting',
  );
});

test('a field called containers elsewhere is no list of containers', () => {
  assert.deepEqual(
    mergeManifest({ data: { containers: [{ name: 'a', x: 1 }] } }, { data: { containers: [{ name: 'a' }] } }),
    {
      data: { containers: [{ name: 'a' }] },
    },
  );
});

test('a key __proto__ is data', () => {
  const merged = mergeManifest({ data: {} }, JSON.parse('{"data":{"__proto__":{"polluted":true}}}'));
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  assert.ok(Object.hasOwn((merged as { data: object }).data, '__proto__'));
});

test('merging again changes nothing more, and the input is not changed', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (live, manifest) => {
      const before = structuredClone([live, manifest]);
      const once = mergeManifest(live, manifest);
      assert.deepEqual(mergeManifest(once, manifest), once);
      assert.deepEqual([live, manifest], before);
    }),
    { numRuns: 300 },
  );
});
