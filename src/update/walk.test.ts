import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyObject } from '../api/core.ts';
import type { PayloadManifest } from '../payload/payload.ts';
import { profileDefault } from '../payload/profile.ts';
import { noFeatures } from './features.ts';
import { type InclusionRule, inclusionOf } from './inclusion.ts';
import { arrange, planWalk, tasksOf } from './walk.ts';

const rule: InclusionRule = {
  profile: profileDefault,
  excludeID: 'internal',
  major: '4',
  features: noFeatures,
  isEnabled: () => true,
  overrides: [],
};
const included = { 'include.release.openshift.io/self-managed-high-availability': 'true' };

function manifest(
  file: string,
  fields: { kind?: string; apiVersion?: string; annotations?: Record<string, string> } = {},
): PayloadManifest {
  const match = /^0000_(\d\d)_([a-z-]+?)_/.exec(file);
  return {
    file,
    index: 0,
    runLevel: match === null ? undefined : Number(match[1]),
    component: match?.[2],
    object: {
      apiVersion: fields.apiVersion ?? 'v1',
      kind: fields.kind ?? 'ConfigMap',
      metadata: { name: 'x', namespace: 'n', annotations: fields.annotations ?? included },
    } as AnyObject,
  };
}

const shape = (manifests: PayloadManifest[]) =>
  planWalk(manifests, rule).map((block) => block.map((chain) => chain.map((task) => task.manifest.file)));

test('levels follow each other, components of a level go side by side, files without a level go alone', () => {
  assert.deepEqual(
    shape(
      ['0000_10_a_1', '0000_10_a_2', '0000_10_b_1', '0000_20_a_1', 'plain-1', 'plain-2'].map((file) =>
        manifest(file),
      ),
    ),
    [[['0000_10_a_1', '0000_10_a_2'], ['0000_10_b_1']], [['0000_20_a_1']], [['plain-1']], [['plain-2']]],
  );
});

test('a Job is a barrier of its own', () => {
  const job = manifest('0000_10_a_2', { kind: 'Job', apiVersion: 'batch/v1' });
  assert.deepEqual(shape([manifest('0000_10_a_1'), job, manifest('0000_10_a_3'), manifest('0000_10_b_1')]), [
    [['0000_10_a_1']],
    [['0000_10_a_2']],
    [['0000_10_a_3'], ['0000_10_b_1']],
  ]);
});

for (const [annotations, wanted] of [
  [{}, 'exclude'],
  [{ other: 'x' }, 'exclude'],
  [included, 'apply'],
  [{ 'include.release.openshift.io/self-managed-high-availability': 'yes' }, 'exclude'],
  [{ 'include.release.openshift.io/hypershift': 'true' }, 'exclude'],
  [{ ...included, 'exclude.release.openshift.io/internal': 'true' }, 'exclude'],
  [{ ...included, 'exclude.release.openshift.io/other': 'true' }, 'apply'],
  [{ ...included, 'release.openshift.io/feature-set': 'TechPreviewNoUpgrade' }, 'exclude'],
  [{ ...included, 'release.openshift.io/feature-set': 'Default,TechPreviewNoUpgrade' }, 'apply'],
  [{ ...included, 'release.openshift.io/feature-gate': 'Some' }, 'exclude'],
  [{ ...included, 'release.openshift.io/feature-gate': '-Some' }, 'apply'],
  [
    { ...included, 'release.openshift.io/feature-gate': '-A', 'release.openshift.io/feature-set': 'Default' },
    'exclude',
  ],
  [{ ...included, 'release.openshift.io/major-version': '4' }, 'apply'],
  [{ ...included, 'release.openshift.io/major-version': '-4' }, 'exclude'],
  [{ ...included, 'release.openshift.io/major-version': '5' }, 'exclude'],
  [{ ...included, 'release.openshift.io/delete': 'true' }, 'delete'],
  [{ ...included, 'release.openshift.io/delete': 'yes' }, 'exclude'],
  [{ ...included, 'openshift.io/preflight-check': 'true' }, 'exclude'],
] as [Record<string, string>, string][]) {
  test(`inclusion of ${JSON.stringify(annotations)}: ${wanted}`, () => {
    assert.equal(inclusionOf(manifest('0000_10_a_1', { annotations }), rule).act, wanted);
  });
}

for (const [given, features, wanted] of [
  [{ 'feature-set': 'TechPreviewNoUpgrade' }, { set: 'TechPreviewNoUpgrade', gates: new Set() }, 'apply'],
  [{ 'feature-set': 'Default' }, { set: 'TechPreviewNoUpgrade', gates: new Set() }, 'exclude'],
  [{ 'feature-set': 'Default,Other' }, noFeatures, 'exclude'],
  [{ 'feature-gate': 'A,B' }, { set: 'Default', gates: new Set(['A', 'B']) }, 'apply'],
  [{ 'feature-gate': 'A,B' }, { set: 'Default', gates: new Set(['A']) }, 'exclude'],
  [{ 'feature-gate': '-A' }, { set: 'Default', gates: new Set(['A']) }, 'exclude'],
] as [Record<string, string>, InclusionRule['features'], string][]) {
  test(`inclusion of ${JSON.stringify(given)} with ${features.set} [${[...features.gates]}]: ${wanted}`, () => {
    const annotations = {
      ...included,
      ...Object.fromEntries(
        Object.entries(given).map(([key, value]) => [`release.openshift.io/${key}`, value]),
      ),
    };
    assert.equal(inclusionOf(manifest('f', { annotations }), { ...rule, features }).act, wanted);
  });
}

test('a component that needs a capability is taken with all of them, and not without', () => {
  const annotations = { ...included, 'capability.openshift.io/name': 'Console+Storage' };
  const act = (enabled: string[]) =>
    inclusionOf(manifest('f', { annotations }), { ...rule, isEnabled: (name) => enabled.includes(name) }).act;
  assert.equal(act(['Console', 'Storage']), 'apply');
  assert.equal(act(['Console']), 'exclude');
});

test('a new cluster gets everything at once, an update level by level, and keeping goes in another order each time', () => {
  const files = Array.from({ length: 16 }, (_, index) => `0000_${10 + index}_a_x`);
  const blocks = planWalk(
    files.map((file) => manifest(file)),
    rule,
  );
  assert.equal(arrange(blocks, 'updating', 0).length, 16);
  assert.deepEqual(
    arrange(blocks, 'initializing', 0).map((block) => block.length),
    [16],
  );
  const orders = [0, 1, 7, 8].map((attempt) => {
    const walk = arrange(blocks, 'reconciling', attempt);
    assert.ok(walk.every((block) => block.length === 1 || walk.length === 1));
    return tasksOf(walk).map((task) => task.manifest.file);
  });
  for (const order of orders) assert.deepEqual([...order].sort(), files);
  assert.equal(new Set(orders.map((order) => order.join())).size, 4, 'four different orders');
  assert.deepEqual(
    tasksOf(arrange(blocks, 'reconciling', 1)).map((task) => task.manifest.file),
    orders[1],
  );
});

test('create-only is kept apart', () => {
  const annotations = { ...included, 'release.openshift.io/create-only': 'true' };
  assert.deepEqual(inclusionOf(manifest('f', { annotations }), rule), { act: 'apply', createOnly: true });
});

test('P-108 an override takes out exactly its group, kind, namespace and name', () => {
  const override = { group: 'apps', kind: 'Deployment', namespace: 'n', name: 'x', unmanaged: true };
  const deployment = (apiVersion: string) => manifest('f', { kind: 'Deployment', apiVersion });
  assert.equal(inclusionOf(deployment('apps/v1'), { ...rule, overrides: [override] }).act, 'exclude');
  assert.equal(inclusionOf(deployment('other.io/v1'), { ...rule, overrides: [override] }).act, 'apply');
  assert.equal(
    inclusionOf(deployment('apps/v1'), { ...rule, overrides: [{ ...override, unmanaged: false }] }).act,
    'apply',
  );
});

test('P-110 an operator that is excluded is not created ahead either: every pass walks the same tasks', () => {
  const operator = manifest('0000_10_a_1', {
    kind: 'ClusterOperator',
    apiVersion: 'config.openshift.io/v1',
    annotations: { ...included, 'exclude.release.openshift.io/internal': 'true' },
  });
  assert.deepEqual(tasksOf(planWalk([operator], rule)), []);
});
