import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { renderCrds } from '../api/crds.ts';
import { shippedText } from '../program/files.ts';
import { generatedFiles } from './generate.ts';
import { installObjects } from './install.ts';
import { parseManifests, shippedManifests, shippedObjects } from './manifests.ts';
import { renderForKubernetes } from './render.ts';
import { surveyCluster } from './survey.ts';
import { uninstallObjects } from './uninstall.ts';

interface Rule {
  readonly apiGroups?: string[];
  readonly resources?: string[];
}

test('the generated files of deploy/ are what their sources give: run `npm run generate`', () => {
  const files = generatedFiles();
  assert.ok(files.size >= 6);
  for (const [file, text] of files) assert.equal(shippedText(file), text, file);
});

test('OpenShift: where its operator serves InternalReleaseImage, ours is elsewhere, and no agent comes', () => {
  const platforms = 'machineconfiguration.openshift.io';
  const groupsOf = (machineConfigOperatorServes: boolean, resource: string) => {
    const objects = shippedObjects({ platform: 'openshift', machineConfigOperatorServes });
    const rules = objects.flatMap((object) => {
      const { rules = [], spec } = object as unknown as {
        rules?: Rule[];
        spec?: { matchConstraints?: { resourceRules?: Rule[] } };
      };
      return [...rules, ...(spec?.matchConstraints?.resourceRules ?? [])];
    });
    const found = rules.filter(({ resources }) => resources?.some((each) => each.split('/')[0] === resource));
    assert.ok(found.length > 1, resource);
    return [...new Set(found.flatMap(({ apiGroups }) => apiGroups ?? []))];
  };
  assert.deepEqual(groupsOf(false, 'internalreleaseimages'), [platforms]);
  assert.deepEqual(groupsOf(true, 'internalreleaseimages'), ['sluice.dev']);
  // The operator serves this one in every feature set.
  for (const serves of [false, true])
    assert.deepEqual(groupsOf(serves, 'machineconfignodes'), ['sluice.dev']);
  const daemons = (machineConfigOperatorServes: boolean) =>
    shippedObjects({ platform: 'openshift', machineConfigOperatorServes })
      .filter(({ kind }) => kind === 'DaemonSet')
      .map(({ metadata }) => metadata.name);
  assert.deepEqual([daemons(false), daemons(true)], [['sluice-node', 'sluice-worker'], []]);
});

test('what is shipped for plain Kubernetes names no group or namespace of OpenShift', () => {
  const objects = shippedManifests('kubernetes');
  assert.ok(objects.length > 20);
  const definitions = renderCrds('kubernetes').map(({ metadata, spec }) => [
    metadata,
    spec.group,
    spec.names,
  ]);
  const text = JSON.stringify([objects, definitions]);
  assert.deepEqual([...text.matchAll(/"[^" ]*(?:\.openshift\.io|openshift-)[^" ]*"/g)].map(String), []);
});

test('rules go to the group that serves them, certificates become ServiceAccounts, the rest is left out', () => {
  const rendered = renderForKubernetes(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: x}
rules:
# Why this is there.
- apiGroups: [config.openshift.io]
  resources: [clusterversions/status]
  verbs: [get]
- apiGroups: [machineconfiguration.openshift.io]
  resources: [machineconfigpools]
  verbs: [get]
- apiGroups: [config.openshift.io, machineconfiguration.openshift.io, operators.coreos.com]
  resources: ["*"]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: x}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: sluice-controller}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:nodes}
- {kind: ServiceAccount, name: sluice-node, namespace: openshift-machine-config-operator}
`);
  assert.match(rendered, /# Why this is there\./);
  const [role, binding] = parseManifests(rendered, 'the test');
  assert.deepEqual(role?.rules, [
    { apiGroups: ['sluice.dev'], resources: ['clusterversions/status'], verbs: ['get'] },
    { apiGroups: ['operators.coreos.com', 'sluice.dev'], resources: ['*'], verbs: ['get'] },
  ]);
  assert.deepEqual(binding?.subjects, [
    { kind: 'ServiceAccount', name: 'sluice-controller', namespace: 'sluice-system' },
    { kind: 'ServiceAccount', name: 'sluice-node', namespace: 'sluice-system' },
  ]);
});

let cluster: TestCluster;
before(async () => {
  cluster = await startTestCluster();
});
after(() => cluster.close());

test('installed twice, the second time unchanged; then all of it stands, and goes again', async () => {
  const { client } = cluster;
  const shipped = shippedObjects({ platform: 'standalone' });
  await installObjects(client, shipped);
  const again = await installObjects(client, shipped);
  assert.deepEqual(
    again.filter(({ outcome }) => outcome !== 'unchanged'),
    [],
  );
  const survey = await surveyCluster(client, shipped);
  assert.deepEqual(
    survey.objects.filter(({ state }) => state !== 'unchanged'),
    [],
  );
  assert.ok(survey.kinds.every(({ served, owner }) => served && owner === 'sluice'));
  const steps = await uninstallObjects(client, shipped, { keepData: true, dryRun: false });
  assert.equal(steps[0]?.kind, 'ValidatingAdmissionPolicyBinding', 'what can refuse goes first');
  const left = (await surveyCluster(client, shipped)).objects.filter(({ state }) => state !== 'missing');
  assert.deepEqual(
    [...new Set(left.map(({ kind }) => kind))].sort(),
    ['CustomResourceDefinition', 'Namespace'],
    'data is kept',
  );
});
