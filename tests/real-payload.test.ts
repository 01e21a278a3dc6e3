import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ClusterOperator } from '../src/api/resources.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { systemClock } from '../src/observe/clock.ts';
import { parseImageReferences } from '../src/payload/references.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { Closing } from './closing.ts';
import {
  type ControlPlane,
  included,
  playJobs,
  readVersion,
  startControlPlane,
  untilVersion,
} from './control-plane.ts';
import { needs, sharedData } from './tier.ts';

const root = join(sharedData, 'payload');
const operators = existsSync(root) ? readdirSync(root).map((name) => join(root, name)) : [];

/**
 * Kinds that these operators use and others bring, as small definitions in an early run level (docs/update.md names
 * what a rehearsal needs beside the payload).
 */
const definitions: readonly [group: string, version: string, kind: string, plural: string, scope: string][] =
  [
    ['monitoring.coreos.com', 'v1', 'ServiceMonitor', 'servicemonitors', 'Namespaced'],
    ['monitoring.coreos.com', 'v1', 'PrometheusRule', 'prometheusrules', 'Namespaced'],
    ['migration.k8s.io', 'v1alpha1', 'StorageVersionMigration', 'storageversionmigrations', 'Cluster'],
    ['operator.openshift.io', 'v1alpha1', 'ClusterVersionOperator', 'clusterversionoperators', 'Cluster'],
  ];

const namespaces = [
  'openshift-config',
  'openshift-config-managed',
  'openshift-monitoring',
  'openshift-console',
];

const elsewhere = Object.fromEntries([
  ...definitions.map(([group, version, kind, plural, scope]) => [
    `0000_00_elsewhere_${plural}.yaml`,
    `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ${plural}.${group}
  annotations:
    ${included}
spec:
  group: ${group}
  scope: ${scope}
  names: {kind: ${kind}, plural: ${plural}, singular: ${kind.toLowerCase()}, listKind: ${kind}List}
  versions:
  - name: ${version}
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`,
  ]),
  ...namespaces.map((name) => [
    `0000_00_elsewhere_namespace-${name}.yaml`,
    `apiVersion: v1
kind: Namespace
metadata:
  name: ${name}
  annotations:
    ${included}
`,
  ]),
]);

/** Plays what a rehearsal lacks: Deployments roll out, operators report what their manifests promise. */
async function playEverything(
  client: KubeClient,
  promised: () => readonly ClusterOperator[],
  signal: AbortSignal,
) {
  const { kinds } = client;
  while (!signal.aborted) {
    for (const deployment of (await client.list(kinds.Deployment)).items) {
      const { generation = 1 } = deployment.metadata;
      if (deployment.status?.observedGeneration === generation) continue;
      const replicas = deployment.spec.replicas ?? 1;
      const counts = {
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      };
      const status = { observedGeneration: generation, ...counts };
      await client.updateStatus(kinds.Deployment, { ...deployment, status }).catch(() => {});
    }
    for (const wanted of promised()) {
      const live = await client.tryGet(kinds.ClusterOperator, wanted.metadata.name);
      const versions = wanted.status?.versions ?? [];
      if (live === undefined || JSON.stringify(live.status?.versions) === JSON.stringify(versions)) continue;
      const at = new Date().toISOString();
      const conditions = (['Available', 'Progressing', 'Degraded'] as const).map((type) => ({
        type,
        status: type === 'Available' ? ('True' as const) : ('False' as const),
        lastTransitionTime: at,
      }));
      await client
        .updateStatus(kinds.ClusterOperator, { ...live, status: { versions, conditions } })
        .catch(() => {});
    }
    await systemClock.sleep(50, signal);
  }
}

describe('the manifests of three real operators', needs('shared-data'), () => {
  let plane: ControlPlane;
  let running: Promise<unknown>;
  let version = '4.21.0';
  const stop = new AbortController();

  before(async () => {
    const tags = operators.flatMap((path) =>
      parseImageReferences(readFileSync(join(path, 'image-references')), path).tags.map((tag) => tag.name),
    );
    const images = Object.fromEntries(tags.map((tag) => [tag, {}]));
    const release = (name: string, previous: string[]) => ({
      version: name,
      previous,
      images,
      operators,
      manifests: { elsewhere },
    });
    plane = await startControlPlane([release('4.21.0', []), release('4.21.1', ['4.21.0'])]);
    const { createReleases, findRelease } = await import('../src/gates/target.ts');
    const { knownBundles } = await import('../src/release/content.ts');
    const releases = createReleases(plane.content, async () => plane.keys);
    await plane.hold('4.21.0');
    await plane.hold('4.21.1');
    const promised = new Map<string, ClusterOperator[]>();
    for (const name of ['4.21.0', '4.21.1']) {
      const found = await findRelease(releases, await knownBundles(plane.client), { version: name });
      const { manifests } = await releases.payload(found);
      promised.set(
        name,
        manifests
          .filter(({ object }) => object.kind === 'ClusterOperator')
          .map(({ object }) => object as unknown as ClusterOperator),
      );
    }
    const jobs = playJobs(plane.client, () => ({ exitCode: 0 }), stop.signal);
    const options = { ...plane.options(stop.signal), client: jobs.client };
    running = Promise.all([
      jobs.done,
      playEverything(plane.client, () => promised.get(version) ?? [], stop.signal),
      runPreflightController(options),
      runUpdateController({
        ...options,
        initialRelease: `quay.example/release@${plane.releases.get('4.21.0')?.payload}`,
      }),
    ]);
  });

  after(async () => {
    const closing = new Closing();
    closing.add('the API', () => plane?.close());
    closing.add('the controllers', () => {
      stop.abort();
      return running;
    });
    await closing.close();
  });

  const isCompleted = (name: string) => (each: NonNullable<Awaited<ReturnType<typeof readVersion>>>) =>
    each.status?.history?.[0]?.state === 'Completed' && each.status.history[0].version === name;

  test('install: everything at once, and what waits for what finds itself', async () => {
    await untilVersion(plane.client, '4.21.0 to be completed', isCompleted('4.21.0'));
    const { client } = plane;
    const { items } = await client.list(client.kinds.Deployment);
    assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), [
      'cloud-credential-operator',
      'cluster-version-operator',
      'machine-config-operator',
    ]);
    const operator = items.find(({ metadata }) => metadata.name === 'machine-config-operator');
    assert.match(operator?.spec.template.spec.containers[0]?.image ?? '', /@sha256:[0-9a-f]{64}$/);
  });

  test('update: level by level, deletions and feature sets honoured, to Completed', async () => {
    const { client } = plane;
    version = '4.21.1';
    await client.patch(client.kinds.ClusterVersion, 'version', { spec: { desiredUpdate: { version } } });
    await untilVersion(plane.client, '4.21.1 to be completed', isCompleted('4.21.1'));
    const operators = await client.list(client.kinds.ClusterOperator);
    assert.deepEqual(
      operators.items.map((each) => [each.metadata.name, each.status?.versions?.[0]?.version]).sort(),
      [
        ['cloud-credential', '4.21.1'],
        ['machine-config', '4.21.1'],
      ],
    );
    const failing = (await readVersion(client))?.status?.conditions?.find((each) => each.type === 'Failing');
    assert.equal(failing?.status, 'False', failing?.message);
  });

  test('what belongs to a feature set that is off is not there', async () => {
    const { client } = plane;
    const kind = await client.resolveKind('operator.openshift.io/v1alpha1', 'ClusterVersionOperator');
    assert.ok(kind !== undefined);
    assert.deepEqual((await client.list(kind)).items, [], 'they are of TechPreview and DevPreview');
  });
});
