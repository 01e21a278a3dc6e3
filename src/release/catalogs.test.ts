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
  const objects = catalogObjects(document, { versions: ['v0', 'v1'], defaultSourcesOff: false });
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
  assert.ok(objects[0] !== undefined && 'image' in objects[0].spec);
  assert.equal(objects[0].spec.image, ref);
  assert.deepEqual(objects[1]?.spec, {
    source: { type: 'Image', image: { ref } },
    availabilityMode: 'Available',
  });
});

test('the catalogs of the internet are turned off where that is asked for, and there is one to take their place', () => {
  const off = { versions: ['v1'], defaultSourcesOff: true } as const;
  assert.deepEqual(
    catalogObjects(document, off).map((each) => each.kind),
    ['OperatorHub', 'ClusterCatalog'],
  );
  assert.deepEqual(catalogObjects({ version: '1', images: [] }, off), []);
});
