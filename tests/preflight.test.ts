import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { KindRef } from '../src/api/kinds.ts';
import { labels, names } from '../src/api/names.ts';
import type { UpdatePreflight } from '../src/api/resources.ts';
import { runAnnotations } from '../src/gates/run-request.ts';
import { waitFor, waitForDeletion } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import type { ContentSource } from '../src/oci/source.ts';
import { type PreflightOptions, runPreflightController } from '../src/preflight/controller.ts';
import { checkManifest, framed } from './check-output.ts';
import { type ControlPlane, included, type PodEnd, playJobs, startControlPlane } from './control-plane.ts';

const { clusterVersionNamespace, preflightNamespace } = names('standalone');

const demoCheck = (name: string) =>
  checkManifest(name, { namespace: 'openshift-demo', reads: '/secrets/default/demo, /nodes//master-0' });

const operatorManifest = `apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata:
  name: dns
  annotations:
    ${included}
status:
  versions:
  - name: operator
    version: 0.0.1-snapshot
`;

const passes: PodEnd = { exitCode: 0, output: framed({ message: 'nothing found' }) };
const blocks: PodEnd = {
  exitCode: 3,
  output: framed({ risks: [{ name: 'LegacyMode', severity: 'blocking', message: 'legacyMode is on' }] }),
};

describe('the preflight controller, on the embedded API', () => {
  let plane: ControlPlane;

  before(async () => {
    plane = await startControlPlane([
      { version: '1.0.0' },
      {
        version: '1.1.0',
        previous: ['1.0.0'],
        manifests: {
          demo: { 'check.yaml': demoCheck('demo-check') },
          dns: { 'operator.yaml': operatorManifest },
        },
      },
    ]);
    await plane.hold('1.0.0');
    await plane.mount('1.1.0', 'master-0');
    await plane.runs('1.0.0');
  });

  after(() => plane?.close());

  /** Runs the controller, with the hands of the test as kubelet, while `work` goes on. */
  async function running(
    end: PodEnd,
    work: (tools: {
      started: string[];
      until: (name: string, holds: (object: UpdatePreflight) => boolean) => Promise<UpdatePreflight>;
    }) => Promise<void>,
    given: Partial<PreflightOptions> = {},
  ): Promise<void> {
    const stop = new AbortController();
    const jobs = playJobs(plane.client, () => end, stop.signal);
    const controller = runPreflightController({
      ...plane.options(stop.signal),
      client: jobs.client,
      ...given,
    });
    const until = async (name: string, holds: (object: UpdatePreflight) => boolean) => {
      const { client } = plane;
      const found = await waitFor(
        client,
        client.kinds.UpdatePreflight,
        name,
        (object) => object !== undefined && holds(object),
        {
          namespace: clusterVersionNamespace,
          timeoutMs: 20_000,
          describe: (object) => JSON.stringify((object as UpdatePreflight)?.status),
        },
      );
      assert.ok(found !== undefined);
      return found;
    };
    try {
      await work({ started: jobs.started, until });
    } finally {
      stop.abort();
      await Promise.all([controller, jobs.done]);
    }
  }

  const create = (name: string, spec: UpdatePreflight['spec']) =>
    plane.client.create(plane.client.kinds.UpdatePreflight, {
      metadata: { name, namespace: clusterVersionNamespace },
      spec,
    });
  /** Deletes an object and waits for its finalizer, while the controller runs. */
  const remove = async (name: string) => {
    const kind = plane.client.kinds.UpdatePreflight;
    await plane.client.delete(kind, name, { namespace: clusterVersionNamespace });
    await waitForDeletion(plane.client, kind, name, {
      namespace: clusterVersionNamespace,
      timeoutMs: 10_000,
    });
  };
  const jobsLeft = async () =>
    (await plane.client.list(plane.client.kinds.Job, { namespace: preflightNamespace })).items.length;
  /** Roles and their bindings, of namespaces and of the whole cluster, that some run was given. */
  const rightsLeft = async () => {
    const { Role, RoleBinding, ClusterRole, ClusterRoleBinding } = plane.client.kinds;
    const kinds: KindRef[] = [Role, RoleBinding, ClusterRole, ClusterRoleBinding];
    const lists = kinds.map((kind) => plane.client.list(kind, { labelSelector: labels.preflightRun }));
    return (await Promise.all(lists)).flatMap(({ items }) => items).length;
  };
  const untilNoRights = async () => {
    for (let left = 100; left > 0 && (await rightsLeft()) > 0; left -= 1) await systemClock.sleep(50);
    assert.equal(await rightsLeft(), 0, 'nobody keeps the rights of a run that has ended');
  };

  test('a release on a disk is looked at before anything is copied', async () => {
    await running(passes, async ({ started, until }) => {
      await create('pass', { version: '1.1.0' });
      const { status } = await until('pass', (object) => object.status?.verdict === 'Passed');
      assert.equal(started.length, 1);
      assert.equal(status?.target?.digest, plane.releases.get('1.1.0')?.payload);
      assert.equal(status?.source?.digest, plane.releases.get('1.0.0')?.payload);
      const rows = Object.fromEntries((status?.checks ?? []).map((row) => [row.name, row]));
      assert.equal(rows.DemoCheck?.result, 'Passed');
      assert.equal(rows.DemoCheck?.message, 'nothing found');
      assert.equal(rows.DemoCheck?.component, 'demo');
      assert.equal(rows.NoCheck?.result, 'Skipped');
      assert.deepEqual([rows.ReleaseContent?.result, rows.ReleaseContent?.severity], ['Risk', 'info']);
      assert.equal(rows.ReleaseSignature?.result, 'Passed');
      await remove('pass');
      assert.equal(await jobsLeft(), 0, 'the finalizer removes the Jobs of the run');
    });
  });

  test('P-28 a blocking risk shows in the report; accepted by name it passes without a new run', async () => {
    await running(blocks, async ({ started, until }) => {
      await create('risky', { version: '1.1.0' });
      const blocked = await until('risky', (object) => object.status?.verdict === 'Blocked');
      const [first] = blocked.status?.checks ?? [];
      assert.deepEqual([first?.name, first?.component, first?.result], ['LegacyMode', 'demo', 'Risk']);
      await plane.client.patch(
        plane.client.kinds.UpdatePreflight,
        'risky',
        { spec: { acceptedRisks: [{ name: 'LegacyMode', reason: 'known' }] } },
        { namespace: clusterVersionNamespace },
      );
      const accepted = await until('risky', (object) => object.status?.verdict === 'Passed');
      assert.equal(accepted.status?.reason, 'RisksAccepted');
      assert.equal(started.length, 1);
      await remove('risky');
    });
  });

  test('P-16 a check image that is not there is an Error in the words of the cluster, at once', async () => {
    const end: PodEnd = {
      exitCode: 0,
      waiting: { reason: 'ErrImagePull', message: 'reading manifest sha256:… : manifest unknown' },
    };
    await running(end, async ({ until }) => {
      await create('unpullable', { version: '1.1.0' });
      const { status } = await until('unpullable', (object) => object.status?.verdict === 'Incomplete');
      const row = status?.checks?.find((each) => each.name === 'DemoCheck');
      assert.deepEqual([row?.result, row?.reason], ['Error', 'ImagePullFailed']);
      assert.match(row?.message ?? '', /manifest unknown/);
      await waitFor(
        plane.client,
        plane.client.kinds.Job,
        `demo-check-${status?.runID}`,
        (job) => job === undefined,
        {
          namespace: preflightNamespace,
          timeoutMs: 10_000,
          what: 'P-02: the Job that would go on for ever to be gone',
        },
      );
      await remove('unpullable');
    });
  });

  test('P-40 a controller that was killed between the Job and the status adopts the Job', async () => {
    const digest = plane.releases.get('1.1.0')?.payload ?? '';
    const { client } = plane;
    const object = await create('adopt', { version: '1.1.0' });
    await client.updateStatus(client.kinds.UpdatePreflight, {
      ...object,
      status: {
        runID: 'adopt1adopt1',
        verdict: 'Running',
        reason: 'Starting',
        message: '',
        startedAt: new Date().toISOString(),
        target: { version: '1.1.0', digest },
        source: { version: '1.0.0', digest: plane.releases.get('1.0.0')?.payload ?? '' },
      },
    });
    await client.create(client.kinds.Job, {
      metadata: {
        name: 'demo-check-adopt1adopt1',
        namespace: preflightNamespace,
        labels: { 'sluice.dev/preflight-run': 'adopt1adopt1', 'sluice.dev/preflight-check': 'demo-check' },
      },
      spec: {
        backoffLimit: 0,
        template: {
          metadata: {
            labels: {
              'sluice.dev/preflight-run': 'adopt1adopt1',
              'sluice.dev/preflight-check': 'demo-check',
            },
          },
          spec: {
            restartPolicy: 'Never',
            containers: [
              {
                name: 'check',
                image: 'x',
                securityContext: {
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ['ALL'] },
                  runAsNonRoot: true,
                  runAsUser: 65_534,
                  seccompProfile: { type: 'RuntimeDefault' },
                },
                env: Object.entries({
                  SLUICE_RUN_ID: 'adopt1adopt1',
                  SLUICE_CHECK: 'demo-check',
                  SLUICE_TARGET_DIGEST: digest,
                }).map(([name, value]) => ({ name, value })),
              },
            ],
          },
        },
      },
    });
    await running(passes, async ({ started, until }) => {
      await until('adopt', (each) => each.status?.verdict === 'Passed');
      assert.deepEqual(started, ['demo-check-adopt1adopt1']);
      await remove('adopt');
    });
  });

  test('a request by run id runs once more, and is answered once', async () => {
    await running(passes, async ({ started, until }) => {
      await create('first', { version: '1.1.0' });
      await until('first', (object) => object.status?.verdict === 'Passed');
      await plane.client.patch(
        plane.client.kinds.UpdatePreflight,
        'first',
        { metadata: { annotations: { [runAnnotations.request]: 'again1again1' } } },
        { namespace: clusterVersionNamespace },
      );
      const again = await until(
        'first',
        (object) => object.status?.runID === 'again1again1' && object.status.verdict === 'Passed',
      );
      assert.equal(again.status?.history?.length, 1);
      const clean = await until(
        'first',
        (object) => object.metadata.annotations?.[runAnnotations.request] === undefined,
      );
      assert.equal(clean.status?.runID, 'again1again1');
      assert.equal(started.length, 2);
      await remove('first');
    });
  });

  test('an untrusted signature blocks, and nothing of the release is run', async () => {
    const work = async ({ started, until }: Parameters<Parameters<typeof running>[1]>[0]) => {
      await create('untrusted', { version: '1.1.0' });
      const found = await until('untrusted', (object) => object.status?.finishedAt !== undefined);
      assert.equal(found.status?.verdict, 'Blocked');
      assert.equal(found.status?.checks?.[0]?.name, 'ReleaseSignature');
      assert.deepEqual(started, []);
      await remove('untrusted');
    };
    await running(passes, work, { trustedKeys: async () => [] });
  });

  test('media that a registry has not taken up yet are waited for; the report knows the digest then', async () => {
    let asked = 0;
    const content: ContentSource = {
      ...plane.content,
      manifest: async (repository, reference) => {
        asked += 1;
        return asked <= 2 ? undefined : await plane.content.manifest(repository, reference);
      },
    };
    const work = async ({ until }: Parameters<Parameters<typeof running>[1]>[0]) => {
      await create('early', { version: '1.1.0' });
      const { status } = await until('early', (object) => object.status?.verdict === 'Passed');
      assert.equal(status?.target?.digest, plane.releases.get('1.1.0')?.payload);
      assert.deepEqual(status?.history, [], 'it was one run');
      await remove('early');
    };
    await running(passes, work, { content });
  });

  test('a version that nobody has is told at once', async () => {
    await running(passes, async ({ until }) => {
      await create('nowhere', { version: '9.9.9' });
      const { status } = await until('nowhere', (object) => object.status?.finishedAt !== undefined);
      assert.equal(status?.verdict, 'Incomplete');
      assert.match(status?.checks?.[0]?.message ?? '', /no bundle at hand holds the version 9\.9\.9/);
      await remove('nowhere');
    });
  });

  test('a second object for the same release joins the run in flight', async () => {
    const answer = Promise.withResolvers<void>();
    await running({ ...passes, after: answer.promise }, async ({ started, until }) => {
      await create('one', { version: '1.1.0' });
      const one = await until('one', (object) => (object.status?.checks ?? []).length > 0);
      await create('two', { version: '1.1.0' });
      const two = await until('two', (object) => (object.status?.checks ?? []).length > 0);
      assert.equal(two.status?.runID, one.status?.runID);
      assert.equal(await rightsLeft(), 4);
      answer.resolve();
      await until('one', (object) => object.status?.verdict === 'Passed');
      await until('two', (object) => object.status?.verdict === 'Passed');
      assert.equal(started.length, 1);
      await untilNoRights();
      await remove('one');
      assert.equal(await jobsLeft(), 1, 'the other still owns the run');
      await remove('two');
      assert.equal(await jobsLeft(), 0);
    });
  });

  test('rights of a run that ended just before a crash are taken back by who comes after', async () => {
    const { client } = plane;
    await running(passes, async ({ until }) => {
      await create('ended', { version: '1.1.0' });
      const { status } = await until('ended', (object) => object.status?.verdict === 'Passed');
      await untilNoRights();
      const metadata = { name: 'left', labels: { [labels.preflightRun]: status?.runID ?? '' } };
      await client.create(client.kinds.ClusterRole, { metadata, rules: [] });
    });
    await running(passes, async () => {
      await untilNoRights();
      assert.equal(await jobsLeft(), 1, 'its Job stays: the report speaks of it');
      await remove('ended');
    });
  });

  test('how often it runs by itself has a floor', async () => {
    for (const frequency of ['1s', '59s', '0m5s', '0d']) {
      await assert.rejects(create('hasty', { version: '1.1.0', frequency }), /one minute at least/);
    }
    for (const frequency of ['60s', '1m', '120s', '1d12h', '24h']) {
      await create('calm', { version: '9.9.9', frequency });
      const namespace = clusterVersionNamespace;
      await plane.client.delete(plane.client.kinds.UpdatePreflight, 'calm', { namespace });
    }
  });

  test('a retarget gives up the run in flight and keeps it as superseded', async () => {
    const never = new Promise<void>(() => {});
    await running({ ...passes, after: never }, async ({ until }) => {
      const image = (version: string) => `quay.example/release@${plane.releases.get(version)?.payload}`;
      await create('moving', { image: image('1.1.0') });
      const first = await until('moving', (object) => (object.status?.checks ?? []).length > 0);
      const { runID } = first.status ?? {};
      await plane.client.patch(
        plane.client.kinds.UpdatePreflight,
        'moving',
        { spec: { image: image('1.0.0') } },
        { namespace: clusterVersionNamespace },
      );
      const next = await until(
        'moving',
        (object) => object.status?.target?.version === '1.0.0' && object.status.verdict !== 'Running',
      );
      assert.deepEqual(
        next.status?.history?.map((run) => [run.runID, run.verdict]),
        [[runID, 'Superseded']],
      );
      assert.equal(await jobsLeft(), 0, 'the Jobs of the run that was given up are gone');
      await remove('moving');
    });
  });
});
