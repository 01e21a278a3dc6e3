import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImageDigestMirrorSet } from '../api/resources.ts';
import { resolveImage } from './images.ts';

const digest = `sha256:${'1'.repeat(64)}`;

type Mirror = NonNullable<ImageDigestMirrorSet['spec']['imageDigestMirrors']>[number];

function set(...imageDigestMirrors: Mirror[]): ImageDigestMirrorSet {
  return {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ImageDigestMirrorSet',
    metadata: { name: 'set' },
    spec: { imageDigestMirrors },
  };
}

function places(image: string, sets: ImageDigestMirrorSet[], own = 'own:22625'): string[] {
  const resolved = resolveImage(image, sets, own);
  assert.ok('locations' in resolved, JSON.stringify(resolved));
  assert.ok(resolved.locations.every((location) => location.digest === digest));
  return resolved.locations.map(({ host, repository }) => `${host}/${repository}`);
}

test('without a mirror an image comes from where its name says', () => {
  assert.deepEqual(places(`quay.io/a/b@${digest}`, []), ['quay.io/a/b']);
});

test('the longest source decides, and ends only where a path component does', () => {
  const sets = [
    set(
      { source: 'quay.io/a', mirrors: ['short:1/x'] },
      { source: 'quay.io/a/b', mirrors: ['long:1/y'], mirrorSourcePolicy: 'NeverContactSource' },
    ),
  ];
  assert.deepEqual(places(`quay.io/a/b@${digest}`, sets), ['long:1/y']);
  assert.deepEqual(places(`quay.io/a/b/c@${digest}`, sets), ['long:1/y/c']);
  assert.deepEqual(places(`quay.io/a/bc@${digest}`, sets), ['short:1/x/bc', 'quay.io/a/bc']);
  assert.deepEqual(places(`quay.io/ab/c@${digest}`, sets), ['quay.io/ab/c']);
});

test("the node's own registry comes first, the others in their order, none twice", () => {
  const sets = [
    set({
      source: 'quay.io/a',
      mirrors: ['127.0.0.1:22625/m', '127.0.0.2:22625/m', '127.0.0.3:22625/m', '127.0.0.2:22625/m'],
      mirrorSourcePolicy: 'NeverContactSource',
    }),
  ];
  assert.deepEqual(places(`quay.io/a/b@${digest}`, sets, '127.0.0.2:22625'), [
    '127.0.0.2:22625/m/b',
    '127.0.0.1:22625/m/b',
    '127.0.0.3:22625/m/b',
  ]);
});

test('the name of the cluster itself leads to every node, and a whole domain to its mirror', () => {
  const sets = [
    set({
      source: 'api-int.sluice.internal:22625',
      mirrors: ['127.0.0.1:22625', '127.0.0.2:22625'],
      mirrorSourcePolicy: 'NeverContactSource',
    }),
    set({ source: '*.example.org', mirrors: ['mirror:5000/org'] }),
  ];
  assert.deepEqual(places(`api-int.sluice.internal:22625/openshift/release@${digest}`, sets), [
    '127.0.0.1:22625/openshift/release',
    '127.0.0.2:22625/openshift/release',
  ]);
  assert.deepEqual(places(`eu.example.org/a@${digest}`, sets), ['mirror:5000/org/a', 'eu.example.org/a']);
});

test('a name without a digest, and no name at all, are refused in words of a kubelet', () => {
  for (const image of ['quay.io/a/b:1', 'quay.io/a/b', 'B@d', '', `quay.io/a/b@sha256:12`]) {
    const resolved = resolveImage(image, [], 'own');
    assert.ok('refused' in resolved, image);
    assert.equal(resolved.refused, 'InvalidImageName');
  }
});
