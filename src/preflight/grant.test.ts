import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantsFor, parseExtraReads } from './grant.ts';

test('exact reads are granted, each by its name', () => {
  const reads = parseExtraReads('/configmaps/kube-system/cluster-config, operator.example.io/widgets//main');
  assert.deepEqual(reads, [
    { group: '', resource: 'configmaps', namespace: 'kube-system', name: 'cluster-config' },
    { group: 'operator.example.io', resource: 'widgets', namespace: '', name: 'main' },
  ]);
  const grants = grantsFor(reads, { runID: 'r1r1', check: 'demo', namespace: 'p', serviceAccount: 's' });
  assert.deepEqual(
    grants.roles.map((role) => [role.metadata.namespace, role.rules]),
    [
      [
        'kube-system',
        [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-config'], verbs: ['get'] }],
      ],
    ],
  );
  assert.equal(grants.clusterRoles[0]?.metadata.labels?.['sluice.dev/preflight-run'], 'r1r1');
  assert.deepEqual(grants.clusterRoleBindings[0]?.subjects, [
    { kind: 'ServiceAccount', name: 's', namespace: 'p' },
  ]);
});

test('without the annotation nothing is granted', () => {
  assert.deepEqual(parseExtraReads(undefined), []);
  assert.deepEqual(grantsFor([], { runID: 'r', check: 'c', namespace: 'p', serviceAccount: 's' }).roles, []);
});

for (const text of [
  '/secrets/kube-system/*',
  '*/*/*/*',
  '/secrets/kube-system/',
  '/pods/exec/ns/x',
  'configmaps/x',
  '/configmaps/*/x',
  '/configmaps/ns/Name With Spaces',
  Array.from({ length: 33 }, () => '/configmaps/a/b').join(','),
]) {
  test(`P-32 refused: ${text.slice(0, 40)}`, () => {
    assert.throws(() => parseExtraReads(text), /sluice\.dev\/preflight-reads asks for/);
  });
}
