import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { names } from '../src/api/names.ts';
import type { UpdatePreflight } from '../src/api/resources.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { testRepository } from './bundles.ts';
import { checkManifest, framed } from './check-output.ts';
import { Closing } from './closing.ts';
import { included, playJobs, readVersion, startControlPlane } from './control-plane.ts';
import { runUntilKilled } from './controller-process.ts';
import { playNodes, playOperators } from './operators.ts';
import { reportsIn } from './reports.ts';

const { clusterVersionNamespace: namespace, preflightNamespace } = names('standalone');

/** Kills at every n-th write until one run gets through; more than this is a scenario that never ends. */
const writesMax = 80;

const check = (name: string) => checkManifest(name, { reads: `/secrets/default/${name}` });

test('P-40 the preflight controller killed with -9 at every write: one run, one set of Jobs, one report', async (t) => {
  const closing = new Closing();
  t.after(() => closing.close());
  const plane = await startControlPlane([
    { version: '1.0.0' },
    {
      version: '1.1.0',
      previous: ['1.0.0'],
      manifests: { a: { 'a.yaml': check('check-a') }, b: { 'b.yaml': check('check-b') } },
    },
  ]);
  closing.add('the API', () => plane.close());
  const logs = join(plane.dir, 'logs');
  mkdirSync(logs);
  const stop = new AbortController();
  const report = framed({ message: 'nothing found' });
  const jobs = playJobs(
    plane.client,
    () => ({ exitCode: 0, output: (environment) => keep(logs, environment, report(environment)) }),
    stop.signal,
  );
  closing.add('the kubelet', () => {
    stop.abort();
    return jobs.done;
  });
  await plane.hold('1.0.0');
  await plane.hold('1.1.0');
  await plane.runs('1.0.0');
  const { client } = plane;
  const kind = client.kinds.UpdatePreflight;
  const status = async () => (await client.tryGet(kind, 'swept', namespace))?.status;
  await client.create(kind, { metadata: { name: 'swept', namespace }, spec: { version: '1.1.0' } });
  const kills = await sweep((fault) =>
    runUntilKilled(
      plane,
      fault,
      { UPDATE_CONTROLLER: 'preflight', UPDATE_LOGS: logs },
      async () => (await status())?.finishedAt !== undefined,
    ),
  );
  assert.ok(kills >= 8, `killed ${kills} times on its way`);
  const ended = await status();
  assert.equal(ended?.verdict, 'Passed', JSON.stringify(ended));
  assert.deepEqual(ended?.history ?? [], [], 'it was one run');
  assert.deepEqual(
    [...jobs.started].sort(),
    [`check-a-${ended?.runID}`, `check-b-${ended?.runID}`],
    'one set of Jobs',
  );
  // What the death left undone is done by who comes next: the rights of the run are gone.
  await client.delete(kind, 'swept', { namespace });
  const removed = await sweep((fault) =>
    runUntilKilled(
      plane,
      fault,
      { UPDATE_CONTROLLER: 'preflight', UPDATE_LOGS: logs },
      async () => (await client.tryGet(kind, 'swept', namespace)) === undefined,
    ),
  );
  assert.ok(removed >= 2, `killed ${removed} times while it cleaned up`);
  const left = await Promise.all([
    client.list(client.kinds.Job, { namespace: preflightNamespace }),
    client.list(client.kinds.Role, { labelSelector: 'sluice.dev/preflight-run' }),
    client.list(client.kinds.RoleBinding, { labelSelector: 'sluice.dev/preflight-run' }),
  ]);
  assert.deepEqual(
    left.map((list) => list.items.length),
    [0, 0, 0],
    'nothing of the run is left',
  );
});

const manifest = (level: number, name: string) => `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  namespace: default
  annotations:
    ${included}
data: {version: 0.0.1-snapshot, level: "${level}"}
`;
const release = {
  demo: {
    '0000_10_demo_00_a.yaml': manifest(10, 'a'),
    '0000_20_demo_00_b.yaml': manifest(20, 'b'),
    '0000_30_demo_00_job.yaml': `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  namespace: openshift-demo
  annotations:
    ${included}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: ${testRepository}/web}]}
`,
    '0000_05_demo_00_namespace.yaml': `apiVersion: v1
kind: Namespace
metadata:
  name: openshift-demo
  annotations:
    ${included}
`,
    'check.yaml': check('check-a'),
  },
};
const images = (version: string) => ({
  web: {},
  'node-os': { config: { labels: { 'ostree.linux': '6.1.0', 'org.opencontainers.image.version': version } } },
});

test('P-40 the update controller killed with -9 at every write: same final state, no second preflight, no lost history', async (t) => {
  const closing = new Closing();
  t.after(() => closing.close());
  const plane = await startControlPlane([
    { version: '1.0.0', manifests: {}, images: images('1') },
    { version: '1.1.0', previous: ['1.0.0'], manifests: release, images: images('2') },
  ]);
  closing.add('the API', () => plane.close());
  const stop = new AbortController();
  const jobs = playJobs(plane.client, () => ({ exitCode: 0, output: framed({}) }), stop.signal);
  const hands = [
    jobs.done,
    playOperators(plane.client, stop.signal),
    playNodes(plane.client, () => true, stop.signal),
    runPreflightController({ ...plane.options(stop.signal), client: jobs.client }),
  ];
  closing.add('the hands', () => {
    stop.abort();
    return Promise.all(hands);
  });
  await plane.hold('1.0.0');
  await plane.hold('1.1.0');
  const { client } = plane;
  const initial = `quay.example/release@${plane.releases.get('1.0.0')?.payload}`;
  const done = (version: string) => async () => {
    const entry = (await readVersion(client))?.status?.history?.[0];
    return entry?.version === version && entry.state === 'Completed';
  };
  const environment = { UPDATE_INITIAL: initial };
  const installs = await sweep((fault) => runUntilKilled(plane, fault, environment, done('1.0.0')));
  assert.ok(installs >= 4, `killed ${installs} times while it installed`);
  await client.patch(client.kinds.ClusterVersion, 'version', {
    spec: { desiredUpdate: { version: '1.1.0' } },
  });
  const updates = await sweep((fault) =>
    runUntilKilled(
      plane,
      fault,
      environment,
      async () => (await done('1.1.0')()) && (await reportsIn(plane)).length > 0,
    ),
  );
  assert.ok(updates >= 12, `killed ${updates} times while it updated`);
  const history = (await readVersion(client))?.status?.history ?? [];
  assert.deepEqual(
    history.map((entry) => [entry.version, entry.state, entry.verified]),
    [
      ['1.1.0', 'Completed', true],
      ['1.0.0', 'Completed', true],
    ],
  );
  const reports = await reportsIn(plane);
  assert.deepEqual(
    reports.map(({ report }) => [report.accepted.to.version, report.completedAt]),
    [['1.1.0', history[0]?.completionTime]],
    'one report, of this update',
  );
  assert.equal(jobs.started.filter((name) => name.startsWith('check-a')).length, 1, 'one preflight run');
  for (const name of ['a', 'b']) {
    const { data } = await client.get(client.kinds.ConfigMap, name, 'default');
    assert.equal(data?.version, '1.1.0');
  }
  const { items } = await client.list<UpdatePreflight>(client.kinds.UpdatePreflight, { namespace });
  assert.equal(items.length, 1);
});

function keep(directory: string, environment: Record<string, string>, output: Uint8Array): Uint8Array {
  writeFileSync(join(directory, `${environment.SLUICE_CHECK}-${environment.SLUICE_RUN_ID}-pod`), output);
  return output;
}

/** Kills at the first write, then at the second, and so on, until it gets through. @returns how often it was killed. */
async function sweep(attempt: (fault: string) => Promise<'killed' | 'done'>): Promise<number> {
  for (let kills = 0; kills < writesMax; kills += 1) {
    // A process that begins anew does not pass the same writes again: so each gets a little further.
    if ((await attempt(`api-write:${(kills % 4) + 1}`)) === 'done') return kills;
  }
  throw new Error(`not done after ${writesMax} deaths`);
}
