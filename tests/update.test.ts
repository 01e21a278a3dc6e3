import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { names } from '../src/api/names.ts';
import { implicitName } from '../src/gates/run-request.ts';
import { isForbidden } from '../src/kube/error.ts';
import { waitFor } from '../src/kube/wait.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { recordKeys } from '../src/update/record.ts';
import { reportKeyKeys, reportKeyName } from '../src/update/reporter.ts';
import { testRepository } from './bundles.ts';
import { checkManifest, framed } from './check-output.ts';
import { Closing } from './closing.ts';
import {
  type ControlPlane,
  included,
  nodeNames,
  type PodEnd,
  playJobs,
  readVersion,
  startControlPlane,
  untilVersion,
} from './control-plane.ts';
import { runUntilKilled } from './controller-process.ts';
import { playNodes, playOperators } from './operators.ts';
import { reportOf } from './reports.ts';

const { clusterVersionNamespace } = names('standalone');

const object = (text: string) => text.replace('ANNOTATIONS', `annotations:\n    ${included}`);

/** A release of one component that has something of everything that an update waits for. */
const manifests = {
  demo: {
    '0000_10_demo_00_namespace.yaml': object(`apiVersion: v1
kind: Namespace
metadata:
  name: openshift-demo
  ANNOTATIONS
`),
    '0000_10_demo_10_crd.yaml': object(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.demo.example.io
  ANNOTATIONS
spec:
  group: demo.example.io
  scope: Cluster
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`),
    '0000_10_demo_20_widget.yaml': object(`apiVersion: demo.example.io/v1
kind: Widget
metadata:
  name: main
  ANNOTATIONS
spec:
  size: 3
`),
    '0000_20_demo_00_migrate.yaml': object(`apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  namespace: openshift-demo
  ANNOTATIONS
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: migrate
        image: ${testRepository}/web
`),
    '0000_30_demo_00_config.yaml': object(`apiVersion: v1
kind: ConfigMap
metadata:
  name: demo-config
  namespace: openshift-demo
  ANNOTATIONS
    release.openshift.io/create-only: "true"
data:
  legacyMode: "true"
`),
    '0000_30_demo_10_deployment.yaml': object(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: demo
  namespace: openshift-demo
  ANNOTATIONS
spec:
  replicas: 1
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec:
      containers:
      - name: operator
        image: ${testRepository}/web
        env:
        - name: OPERATOR_VERSION
          value: 0.0.1-snapshot
`),
    '0000_30_demo_20_operator.yaml': object(`apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata:
  name: demo
  ANNOTATIONS
status:
  versions:
  - name: operator
    version: 0.0.1-snapshot
`),
    '0000_30_demo_30_excluded.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: never
  namespace: openshift-demo
  annotations:
    include.release.openshift.io/hypershift: "true"
`,
    '0000_30_demo_40_check.yaml': checkManifest(),
  },
};

const images = (version: string) => ({
  web: {},
  'node-os': { config: { labels: { 'ostree.linux': '6.1.0', 'org.opencontainers.image.version': version } } },
});

const image = (plane: ControlPlane, version: string) =>
  `quay.example/release@${plane.releases.get(version)?.payload}`;
const accepted = (version: Awaited<ReturnType<typeof readVersion>>) =>
  version?.status?.conditions?.find((condition) => condition.type === 'ReleaseAccepted');
const progressing = (version: Awaited<ReturnType<typeof readVersion>>) =>
  version?.status?.conditions?.find((condition) => condition.type === 'Progressing');

async function desire(plane: ControlPlane, desiredUpdate: object | null): Promise<void> {
  const { client } = plane;
  await client.patch(client.kinds.ClusterVersion, 'version', { spec: { desiredUpdate } });
}

describe('the update controller, on the embedded API', () => {
  const closing = new Closing();
  let plane: ControlPlane;
  let checkEnds: PodEnd;
  let started: string[];
  let toldFirst: string | undefined;
  const mayReboot = new Set<string>();

  before(async () => {
    plane = await startControlPlane([
      { version: '1.0.0', manifests, images: images('1') },
      { version: '1.1.0', previous: ['1.0.0'], manifests, images: images('2') },
      { version: '2.0.0', previous: ['1.1.0'] },
    ]);
    closing.add('the API', () => plane.close());
    checkEnds = {
      exitCode: 3,
      output: framed({
        risks: [
          { name: 'LegacyMode', severity: 'blocking', message: 'legacyMode is on', next: 'Turn it off.' },
        ],
      }),
    };
    const stop = new AbortController();
    const jobs = playJobs(plane.client, () => checkEnds, stop.signal);
    started = jobs.started;
    const options = { ...plane.options(stop.signal), client: jobs.client };
    const running = Promise.all([
      jobs.done,
      playOperators(plane.client, stop.signal),
      playNodes(plane.client, (node) => mayReboot.has(node), stop.signal),
      runPreflightController(options),
      runUpdateController({ ...options, initialRelease: image(plane, '1.0.0') }),
    ]);
    closing.add('the controllers', () => {
      stop.abort();
      return running;
    });
    // With a fleet lock the control plane may stage ahead; its slots let one node go at a time.
    const { FleetLockGroup } = plane.client.kinds;
    await plane.client.create(FleetLockGroup, { metadata: { name: 'default' }, spec: { slots: 1 } });
    await untilVersion(
      plane.client,
      'word of the first release',
      (version) => accepted(version) !== undefined,
    );
    toldFirst = accepted(await readVersion(plane.client))?.message;
    await plane.hold('1.0.0');
  });

  after(() => closing.close());

  test('a cluster without a history is installed with the first release, which is waited for in calm words', async () => {
    assert.match(toldFirst ?? '', /^waiting for a node to tell that it holds the first release, .*: sha256:/);
    await untilVersion(
      plane.client,
      '1.0.0 to be completed',
      (version) => version.status?.history?.[0]?.state === 'Completed',
    );
    const version = await readVersion(plane.client);
    assert.equal(version?.status?.history?.length, 1);
    assert.equal(version?.status?.history?.[0]?.verified, true);
    assert.equal(progressing(version)?.message, 'Cluster version is 1.0.0');
    const { client } = plane;
    assert.equal(await client.tryGet(client.kinds.ConfigMap, 'never', 'openshift-demo'), undefined);
    assert.equal(await client.tryGet(client.kinds.Job, 'demo-check', 'openshift-demo'), undefined);
    assert.deepEqual(started, [], 'P-05.7: a preflight check is never applied');
  });

  test('what is not at hand cannot be asked for, and the version that runs is said to stay', async () => {
    await desire(plane, { version: '1.1.0' });
    await untilVersion(
      plane.client,
      'Invalid',
      (version) => version.status?.conditions?.some((each) => each.type === 'Invalid') === true,
    );
    const version = await readVersion(plane.client);
    assert.match(
      version?.status?.conditions?.find((each) => each.type === 'Invalid')?.message ?? '',
      /must be an available update/,
    );
    assert.equal(accepted(version)?.status, 'True');
  });

  test('P-58 media that are attached make the standing request valid; what is missing is told at once', async () => {
    await plane.mount('1.1.0', 'master-0');
    await untilVersion(plane.client, 'a refusal', (version) => accepted(version)?.status === 'False');
    const version = await readVersion(plane.client);
    assert.deepEqual(
      version?.status?.availableUpdates?.map((update) => update.version),
      ['1.1.0'],
    );
    await untilVersion(plane.client, 'both reasons', (each) =>
      /LegacyMode/.test(accepted(each)?.message ?? ''),
    );
    const message = accepted(await readVersion(plane.client))?.message ?? '';
    assert.match(
      message,
      /"ReleaseContent" failed because of "content": .*whole on 0 of 3 control-plane nodes/,
    );
    assert.match(message, /"LegacyMode" failed because of "preflight": demo: legacyMode is on/);
    assert.equal(version?.status?.history?.length, 1);
  });

  test('P-52 taking the request back leaves nothing of its refusal', async () => {
    await desire(plane, null);
    await untilVersion(plane.client, 'accepted', (version) => accepted(version)?.status === 'True');
    assert.match(accepted(await readVersion(plane.client))?.message ?? '', /version="1\.0\.0"/);
  });

  test('P-64 force does not pass content that is missing', async () => {
    await desire(plane, { version: '1.1.0', force: true });
    await untilVersion(plane.client, 'a refusal', (version) => accepted(version)?.status === 'False');
    const message = accepted(await readVersion(plane.client))?.message ?? '';
    assert.match(message, /ReleaseContent/);
    assert.doesNotMatch(message, /LegacyMode/);
    await desire(plane, null);
  });

  test('mode Preflight starts no update', async () => {
    await plane.hold('1.1.0');
    await desire(plane, { version: '1.1.0', mode: 'Preflight', force: true });
    await untilVersion(
      plane.client,
      'PreflightOnly',
      (version) => accepted(version)?.reason === 'PreflightOnly',
    );
    assert.equal((await readVersion(plane.client))?.status?.history?.length, 1);
    await desire(plane, null);
  });

  test('#766 the finding is mended, and the standing request goes through by itself', async () => {
    await desire(plane, { version: '1.1.0' });
    await untilVersion(plane.client, 'a refusal', (version) =>
      /LegacyMode/.test(accepted(version)?.message ?? ''),
    );
    checkEnds = { exitCode: 0, output: framed({ message: 'nothing found' }) };
    const { client } = plane;
    const digest = plane.releases.get('1.1.0')?.payload ?? '';
    await client.patch(
      client.kinds.UpdatePreflight,
      implicitName(digest),
      { metadata: { annotations: { 'sluice.dev/preflight-request': 'mended1mended' } } },
      { namespace: clusterVersionNamespace },
    );
    await untilVersion(
      client,
      'the update to begin',
      (version) => version.status?.desired.version === '1.1.0',
    );
    const version = await readVersion(client);
    assert.deepEqual(
      version?.status?.history?.map((entry) => [entry.version, entry.state]),
      [
        ['1.1.0', 'Partial'],
        ['1.0.0', 'Completed'],
      ],
    );
  });

  test('all nodes stage the new OS image and are held; the update says so', async () => {
    const { client } = plane;
    await untilVersion(client, 'three nodes held', (version) =>
      /3 nodes that are held/.test(progressing(version)?.message ?? ''),
    );
    const message = progressing(await readVersion(client))?.message ?? '';
    assert.match(
      message,
      /Working towards 1\.1\.0: \d+ of \d+ done \(\d+% complete\), waiting on 3 nodes that are held: marker_file \(master-0, master-1, master-2\)$/,
    );
    const updates = (await client.list(client.kinds.NodeUpdate)).items;
    assert.equal(
      updates.every((update) => update.status?.staged?.image === update.spec.osImage),
      true,
    );
    const operator = await client.get(client.kinds.ClusterOperator, 'demo');
    assert.equal(operator.status?.versions?.[0]?.version, '1.1.0');
  });

  test('the update is completed when every node runs it, and not before', async () => {
    const { client } = plane;
    for (const node of nodeNames.slice(0, 2)) mayReboot.add(node);
    await waitFor(
      client,
      client.kinds.NodeUpdate,
      'master-1',
      (update) => update?.status?.booted?.image === update?.spec.osImage,
      { timeoutMs: 10_000 },
    );
    assert.equal((await readVersion(client))?.status?.history?.[0]?.state, 'Partial');
    mayReboot.add('master-2');
    await untilVersion(
      client,
      '1.1.0 to be completed',
      (version) => version.status?.history?.[0]?.state === 'Completed',
    );
    const version = await readVersion(client);
    assert.equal(version?.status?.history?.[0]?.acceptedRisks, undefined);
    assert.equal(progressing(version)?.message, 'Cluster version is 1.1.0');
    assert.equal(
      (await client.get(client.kinds.ConfigMap, 'demo-config', 'openshift-demo')).data?.legacyMode,
      'true',
    );
  });

  test('a completed update leaves a signed report: gates, preflight, and the boots of each node', async () => {
    const { object, report } = await reportOf(plane, '1.1.0');
    const { accepted, nodes, history } = report;
    assert.deepEqual([accepted.from.version, accepted.to.version, accepted.force], ['1.0.0', '1.1.0', false]);
    assert.deepEqual(
      nodes.map(({ name, role, rebooted }) => [name, role, rebooted]),
      nodeNames.map((name) => [name, 'control-plane', true]),
    );
    assert.ok(
      nodes.every(({ before, after }) => before?.bootID !== undefined && after.bootID !== before.bootID),
    );
    assert.equal(accepted.preflight?.verdict, 'Passed');
    const names = new Set(accepted.findings.map((finding) => finding.name));
    for (const name of ['ReleaseSignature', 'UpdatePath', 'Preflight']) assert.ok(names.has(name), name);
    assert.deepEqual(
      history.map(({ version, state }) => `${version} ${state}`),
      ['1.1.0 Completed', '1.0.0 Completed'],
    );
    assert.equal(object.data?.[recordKeys.accepted], undefined, 'what was accepted stands in the report now');
  });

  test('nobody but the controller reads the key by which reports are signed', async () => {
    const { client, cluster } = plane;
    const secret = await client.get(client.kinds.Secret, reportKeyName, clusterVersionNamespace);
    assert.ok((secret.data?.[reportKeyKeys.privateKey] ?? '').length > 0);
    const { preflightNamespace, preflightServiceAccount } = names('standalone');
    const account = `system:serviceaccount:${preflightNamespace}:${preflightServiceAccount}`;
    for (const [name, groups] of [
      [account, ['system:serviceaccounts', 'system:authenticated']],
      ['system:node:master-0', ['system:nodes', 'system:authenticated']],
      ['somebody', ['system:authenticated']],
    ] as const) {
      const other = await cluster.clientAs(name, [...groups]);
      await assert.rejects(
        other.get(other.kinds.Secret, reportKeyName, clusterVersionNamespace),
        isForbidden,
        `${name} reads the private key`,
      );
    }
  });

  test('the report of the preflight is superseded by the update that it let through', async () => {
    const { client } = plane;
    const name = implicitName(plane.releases.get('1.1.0')?.payload ?? '');
    await waitFor(
      client,
      client.kinds.UpdatePreflight,
      name,
      (each) => each?.status?.verdict === 'Superseded',
      {
        namespace: clusterVersionNamespace,
        timeoutMs: 10_000,
      },
    );
  });

  test('a ClusterVersion that was deleted comes back at the release that runs, not at the first one', async () => {
    const { client } = plane;
    await client.delete(client.kinds.ClusterVersion, 'version');
    await untilVersion(
      client,
      'the history to be there again',
      (version) => version.status?.history?.[0]?.state === 'Completed',
    );
    const version = await readVersion(client);
    assert.deepEqual(
      version?.status?.history?.map((entry) => entry.version),
      ['1.1.0'],
    );
    const { items } = await client.list(client.kinds.NodeUpdate);
    assert.ok(
      items.every((node) => node.spec.osImage === node.status?.booted?.image),
      'no node was told another image',
    );
  });

  test('an update by an image that no bundle signs is refused, with force too', async () => {
    await desire(plane, { image: `quay.example/release@sha256:${'9'.repeat(64)}`, force: true });
    await untilVersion(plane.client, 'a refusal', (version) => accepted(version)?.status === 'False');
    const version = await readVersion(plane.client);
    assert.equal(accepted(version)?.reason, 'RetrievePayload');
    assert.match(accepted(version)?.message ?? '', /no signed bundle at hand holds the payload/);
    assert.equal(version?.status?.desired.version, '1.1.0');
    await desire(plane, null);
  });

  test('what is forced is written into the history, each thing by its name', async () => {
    checkEnds = { exitCode: 1 };
    await plane.hold('2.0.0');
    const { client } = plane;
    const operator = await client.get(client.kinds.ClusterOperator, 'demo');
    const upgradeable = {
      type: 'Upgradeable',
      status: 'False' as const,
      reason: 'Old',
      message: 'too old',
      lastTransitionTime: new Date().toISOString(),
    };
    await client.updateStatus(client.kinds.ClusterOperator, {
      ...operator,
      status: { ...operator.status, conditions: [...(operator.status?.conditions ?? []), upgradeable] },
    });
    await desire(plane, { version: '2.0.0' });
    await untilVersion(client, 'a refusal', (version) =>
      /ClusterOperatorUpgradeable-demo/.test(accepted(version)?.message ?? ''),
    );
    await desire(plane, { version: '2.0.0', force: true });
    await untilVersion(
      client,
      '2.0.0 to be completed',
      (version) =>
        version.status?.history?.[0]?.version === '2.0.0' && version.status.history[0].state === 'Completed',
    );
    const [entry] = (await readVersion(client))?.status?.history ?? [];
    assert.match(
      entry?.acceptedRisks ?? '',
      /^Forced through blocking failures: .*ClusterOperatorUpgradeable-demo/,
    );
    const version = entry?.version ?? '';
    const { report } = await reportOf(plane, version);
    const forced = report.accepted.findings.filter((finding) => finding.passedBy === 'force');
    assert.ok(forced.some((finding) => finding.name === 'ClusterOperatorUpgradeable-demo'));
    assert.equal(report.accepted.force, true);
  });
});

test('the controller killed with -9 at every step of an update goes on, and nothing is done twice', async (t) => {
  const closing = new Closing();
  t.after(() => closing.close());
  const plane = await startControlPlane([
    { version: '1.0.0', manifests: {}, images: images('1') },
    { version: '1.1.0', previous: ['1.0.0'], manifests, images: images('2') },
  ]);
  closing.add('the API', () => plane.close());
  const stop = new AbortController();
  const jobs = playJobs(plane.client, () => ({ exitCode: 0, output: framed({}) }), stop.signal);
  const options = { ...plane.options(stop.signal), client: jobs.client };
  const hands = [
    jobs.done,
    playOperators(plane.client, stop.signal),
    playNodes(plane.client, () => true, stop.signal),
    runPreflightController(options),
  ];
  closing.add('the controllers', () => {
    stop.abort();
    return Promise.all(hands);
  });
  await plane.hold('1.0.0');
  await plane.hold('1.1.0');
  const { client } = plane;
  const state = async () => (await readVersion(client))?.status?.history?.[0];
  const initial = { UPDATE_INITIAL: image(plane, '1.0.0') };
  const run = (fault: string | undefined, version = '1.1.0') =>
    runUntilKilled(plane, fault, initial, async () => {
      const entry = await state();
      return entry?.version === version && entry.state === 'Completed';
    });

  assert.equal(await run(undefined, '1.0.0'), 'done', 'the first release is installed');
  await desire(plane, { version: '1.1.0' });
  assert.equal(await run('update-recorded'), 'killed');
  assert.equal((await state())?.version, '1.0.0', 'it was written down, and not let through yet');
  assert.equal(await run('update-accepted'), 'killed');
  assert.deepEqual([(await state())?.version, (await state())?.state], ['1.1.0', 'Partial']);
  let kills = 0;
  for (let passage = 1; passage < 30; passage += 1) {
    if ((await run(`update-task:${passage}`)) === 'done') break;
    kills += 1;
  }
  assert.ok(kills >= 7, `killed ${kills} times on its way`);
  assert.equal((await state())?.state, 'Completed');
  const history = (await readVersion(client))?.status?.history ?? [];
  assert.deepEqual(
    history.map((entry) => [entry.version, entry.state]),
    [
      ['1.1.0', 'Completed'],
      ['1.0.0', 'Completed'],
    ],
  );
  const { report } = await reportOf(plane, '1.1.0');
  assert.equal(report.history.length, 2, 'one report, of the whole update');
  const job = await client.get(client.kinds.Job, 'migrate', 'openshift-demo');
  assert.equal(job.metadata.generation ?? 1, 1);
  const deployment = await client.get(client.kinds.Deployment, 'demo', 'openshift-demo');
  assert.equal(deployment.metadata.generation, 1, 'applied once, not once a start');
  assert.equal(jobs.started.filter((name) => name.startsWith('demo-check')).length, 1, 'one preflight run');
  const kind = await client.resolveKind('demo.example.io/v1', 'Widget');
  assert.ok(kind !== undefined);
  assert.equal((await client.get(kind, 'main')).metadata.generation, 1);
});
