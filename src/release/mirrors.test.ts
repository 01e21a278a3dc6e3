import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addMirrors, type MirrorEntry, mirrorEntries } from './mirrors.ts';

const input = {
  images: [
    { source: 'registry.example/ops/web', repository: 'openshift/release' },
    { source: 'registry.example/os', repository: 'openshift/release' },
  ],
  addresses: ['127.22.62.11', '127.22.62.12'],
  registryPort: 22625,
  apiInt: 'api-int.sluice.internal',
};

test('each source and each api-int form leads to every control-plane node', () => {
  const entries = mirrorEntries(input);
  assert.deepEqual(
    entries.map((entry) => entry.source),
    [
      'api-int.sluice.internal:22625/openshift/release',
      'api-int.sluice.internal:22625/openshift/release-bundles',
      'api-int.sluice.internal:22625/openshift/release-images',
      'registry.example/ops/web',
      'registry.example/os',
    ],
  );
  assert.deepEqual(entries[3]?.mirrors, [
    '127.22.62.11:22625/openshift/release',
    '127.22.62.12:22625/openshift/release',
  ]);
});

test('a source that stands in several repositories lists them all', () => {
  const entries = mirrorEntries({
    ...input,
    images: [...input.images, { source: 'registry.example/os', repository: 'openshift/release-images' }],
  });
  assert.equal(entries.find((entry) => entry.source === 'registry.example/os')?.mirrors.length, 4);
});

test('entries are only ever added, and nothing new is no change at all', () => {
  const wanted = mirrorEntries(input);
  const first = addMirrors([], wanted);
  assert.equal(addMirrors(first, wanted), first);
  const later = addMirrors(first, mirrorEntries({ ...input, images: [], addresses: ['127.22.62.13'] }));
  assert.equal(later.length, first.length);
  assert.deepEqual(later.find((entry) => entry.source.endsWith('/release'))?.mirrors, [
    '127.22.62.11:22625/openshift/release',
    '127.22.62.12:22625/openshift/release',
    '127.22.62.13:22625/openshift/release',
  ]);
  assert.ok(later.some((entry) => entry.source === 'registry.example/os'));
});

test('property: adding never loses a mirror and is idempotent', () => {
  const entry = fc.record({
    source: fc.constantFrom('a', 'b', 'c'),
    mirrors: fc.uniqueArray(fc.constantFrom('m1', 'm2', 'm3'), { minLength: 1 }),
  });
  const entries = fc.uniqueArray(entry, { selector: (each) => each.source });
  fc.assert(
    fc.property(entries, entries, (current, wanted) => {
      const merged = addMirrors(current, wanted);
      const has = (each: MirrorEntry) =>
        each.mirrors.every((mirror) =>
          merged.find((other) => other.source === each.source)?.mirrors.includes(mirror),
        );
      assert.ok([...current, ...wanted].every(has));
      assert.equal(addMirrors(merged, wanted), merged);
    }),
  );
});
