import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BundleImage } from '../bundle/document.ts';
import type { Digest } from '../oci/digest.ts';
import { catalogObjects } from './catalogs.ts';

const digest = `sha256:${'c'.repeat(64)}` as Digest;
const image = (role: BundleImage['role'], source: string): BundleImage => ({
  role,
  name: source,
  source,
  repository: 'x',
  tag: 'x',
  digest,
  size: 1,
  closureBytes: 1,
  attached: [],
});
const document = {
  version: '4.20.1',
  images: [
    image('component', 'quay.io/okd/web'),
    image('catalog', 'registry.example/redhat/Redhat.operator_index'),
  ],
};

test('a catalog becomes the objects of both kinds of OLM, by digest, under a name that the next release has too', () => {
  const objects = catalogObjects(document, {
    versions: ['v0', 'v1'],
    defaultSourcesOff: false,
    namespace: 'openshift-marketplace',
  });
  assert.deepEqual(
    objects.map((each) => [each.apiVersion, each.kind, each.metadata.name, each.metadata.namespace]),
    [
      [
        'operators.coreos.com/v1alpha1',
        'CatalogSource',
        'sluice-redhat-operator-index',
        'openshift-marketplace',
      ],
      ['olm.operatorframework.io/v1', 'ClusterCatalog', 'sluice-redhat-operator-index', undefined],
    ],
  );
  const ref = `registry.example/redhat/Redhat.operator_index@${digest}`;
  const specs = objects.map((each) => each.spec as Record<string, unknown>);
  assert.equal(specs[0]?.image, ref);
  assert.deepEqual(specs[1], {
    source: { type: 'Image', image: { ref } },
    availabilityMode: 'Available',
  });
});

test('the catalogs of the internet are turned off where that is asked for, and there is one to take their place', () => {
  const off = { versions: ['v1'], defaultSourcesOff: true, namespace: 'olm' } as const;
  assert.deepEqual(
    catalogObjects(document, off).map((each) => each.kind),
    ['OperatorHub', 'ClusterCatalog'],
  );
  assert.deepEqual(catalogObjects({ version: '1', images: [] }, off), []);
});

test('catalogs that would have one name are told apart, and keep their names in the next release', () => {
  const namesOf = (...images: BundleImage[]) =>
    catalogObjects(
      { version: '1', images },
      { versions: ['v1'], defaultSourcesOff: false, namespace: 'olm' },
    ).map((each) => each.metadata.name);
  const [a, b] = [image('catalog', 'a.example/x/index'), image('catalog', 'b.example/y/index')];
  const two = namesOf(a, b);
  assert.equal(new Set(two).size, 2);
  for (const name of two) assert.match(name, /^sluice-index-[0-9a-f]{8}$/);
  const next = `sha256:${'d'.repeat(64)}` as Digest;
  assert.deepEqual(namesOf({ ...b, digest: next }, { ...a, digest: next }), [...two].reverse());
  // Two of one repository have different tags in their names.
  const tagged = namesOf({ ...a, name: 'a.example/x/index:v1' }, { ...a, name: 'a.example/x/index:v2' });
  assert.equal(new Set(tagged).size, 2);
  // What is cut to its length must not become the same.
  const long = namesOf(
    image('catalog', `a.example/${'i'.repeat(80)}-a`),
    image('catalog', `a.example/${'i'.repeat(80)}-b`),
  );
  assert.equal(new Set(long).size, 2);
  for (const name of long) assert.ok(name.length <= 63);
});
