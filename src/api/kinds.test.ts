import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiVersionOf, type KindTable, kindTable, ownKinds, platforms, resourceName } from './kinds.ts';
import { names } from './names.ts';

test('the groups of our kinds by platform', () => {
  const table = ownKinds.map((name) => [
    name,
    apiVersionOf(kindTable('standalone')[name]),
    apiVersionOf(kindTable('openshift')[name]),
    apiVersionOf(kindTable('openshift', { machineConfigOperatorServes: true })[name]),
    apiVersionOf(kindTable('kubernetes')[name]),
  ]);
  const config = 'config.openshift.io/v1';
  const content = 'machineconfiguration.openshift.io/v1';
  const alpha = 'config.openshift.io/v1alpha1';
  const ours = 'sluice.dev/v1';
  assert.deepEqual(table, [
    ['ClusterVersion', config, config, config, ours],
    ['ClusterOperator', config, config, config, ours],
    ['ImageDigestMirrorSet', config, config, config, ours],
    ['InternalReleaseImage', content, content, ours, ours],
    ['MachineConfigNode', content, ours, ours, ours],
    ['UpdatePreflight', alpha, alpha, alpha, ours],
    ['NodeUpdate', ours, ours, ours, ours],
    ['FleetLockGroup', ours, ours, ours, ours],
    ['PolicyFacts', ours, ours, ours, ours],
  ]);
});

test('OpenShift groups are never installed on plain Kubernetes', () => {
  for (const kind of Object.values(kindTable('kubernetes')) as KindTable[keyof KindTable][]) {
    assert.doesNotMatch(kind.group, /openshift/);
  }
});

test('every kind stands in the table under its own name', () => {
  for (const platform of platforms) {
    for (const [name, kind] of Object.entries(kindTable(platform))) {
      assert.equal(kind.kind, name);
      assert.match(kind.plural, /^[a-z]+$/);
    }
  }
});

test('names of resources and versions', () => {
  const kinds = kindTable('standalone');
  assert.equal(apiVersionOf(kinds.Pod), 'v1');
  assert.equal(apiVersionOf(kinds.Job), 'batch/v1');
  assert.equal(resourceName(kinds.Pod), 'pods');
  assert.equal(resourceName(kinds.NodeUpdate), 'nodeupdates.sluice.dev');
});

test('namespaces: OpenShift names in standalone, ours on plain Kubernetes', () => {
  assert.equal(names('standalone').clusterVersionNamespace, 'openshift-cluster-version');
  assert.equal(names('kubernetes').clusterVersionNamespace, 'sluice-system');
  assert.equal(names('kubernetes').preflightNamespace, 'sluice-preflight');
  assert.equal(names('openshift').registryPort, 22625);
});
