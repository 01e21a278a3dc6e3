import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { AnyObject } from '../../src/api/core.ts';
import { annotations, labels, names, finalizers as ownFinalizers } from '../../src/api/names.ts';
import type { ClusterVersion } from '../../src/api/resources.ts';
import { installObjects } from '../../src/install/install.ts';
import { parseManifests, shippedManifests } from '../../src/install/manifests.ts';
import { surveyCluster } from '../../src/install/survey.ts';
import { uninstallObjects } from '../../src/install/uninstall.ts';
import { applyObject } from '../../src/kube/apply.ts';
import { ApiError } from '../../src/kube/error.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { connect } from '../../src/kube/platform.ts';
import { waitFor, waitForDeletion } from '../../src/kube/wait.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { runUpdateGate } from '../../src/preflight/update-gate.ts';
import { run } from '../../src/process/run.ts';
import { shippedText } from '../../src/program/files.ts';
import { freePort } from '../../src/up/network.ts';
import { needs, repository } from '../tier.ts';
import { writeTokenConfig } from './kubernetes.ts';
import { apiInt, type OpenShiftCluster, startOpenShift } from './openshift.ts';
import { assertOwnObjectsOnly } from './own-objects.ts';
import { needsRealEngine } from './real.ts';
import { grantedBy, type Right, usedBy } from './rights.ts';

const { clusterVersion, clusterVersionNamespace: namespace, updateGate } = names('openshift');
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => `quay.io/openshift-release-dev/ocp-release@${digest(letter)}`;
const running = 'a';
const passed = 'b';
const other = 'c';

type Wish = Record<string, unknown> | null;

for (const featureSet of ['default', 'preview'] as const) {
  describe(`OpenShift, ${featureSet} feature set`, { ...needsRealEngine(), ...needs('shared-data') }, () => {
    let cluster: OpenShiftCluster;
    before(async () => {
      cluster = await startOpenShift({ featureSet });
      await setStatus(cluster.operator);
      await allow({ digests: digest(passed), versions: '4.17.1' });
      await untilGateActs();
    });
    after(() => cluster?.close());

    const setStatus = async (client: OpenShiftCluster['client']) => {
      const { kinds } = cluster.client;
      const version = await client.get(kinds.ClusterVersion, clusterVersion);
      const desired = { version: '4.16.0', image: image(running) };
      const time = '2026-01-01T00:00:00Z';
      const entry = {
        ...desired,
        state: 'Completed',
        startedTime: time,
        completionTime: time,
        verified: true,
      };
      await client.updateStatus(kinds.ClusterVersion, {
        ...version,
        status: {
          desired,
          history: [entry],
          observedGeneration: 1,
          versionHash: 'x',
          availableUpdates: null,
        },
      } as ClusterVersion);
    };
    /** As the controller does: in place. */
    const allow = (data: Record<string, string>) =>
      cluster.client.patch(cluster.client.kinds.PolicyFacts, updateGate, { data });
    const ask = (wish: Wish, client = cluster.client) =>
      client.patch(cluster.client.kinds.ClusterVersion, clusterVersion, { spec: { desiredUpdate: wish } });
    const refused = (error: unknown) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.equal(error.status, 403);
      assert.match(error.message, /has not passed on this cluster/);
      return true;
    };
    /** An API server hears of policies and parameters a moment later. */
    const untilGateActs = async () => {
      for (let tries = 0; tries < 100; tries += 1) {
        const [open, closed, kept] = await Promise.all([isRefused(passed), isRefused(other), isKept()]);
        if (closed && !open && kept) return;
        await systemClock.sleep(100);
      }
      assert.fail('the gate does not act');
    };
    /** Whether the parameter is kept from being deleted, tried without doing it. */
    const isKept = async () =>
      await cluster.client
        .raw({
          method: 'DELETE',
          path: `/apis/sluice.dev/v1/policyfacts/${updateGate}`,
          query: { dryRun: 'All' },
        })
        .then(
          () => false,
          (error) => error instanceof ApiError && error.status === 403,
        );
    const isRefused = async (letter: string) => {
      const { ClusterVersion: kind } = cluster.client.kinds;
      const body = { spec: { desiredUpdate: { image: image(letter) } } };
      return await cluster.client
        .raw({
          method: 'PATCH',
          path: `/apis/${kind.group}/${kind.version}/clusterversions/${clusterVersion}`,
          query: { dryRun: 'All' },
          body,
          contentType: 'application/merge-patch+json',
        })
        .then(
          () => false,
          (error) => error instanceof ApiError && error.status === 403,
        );
    };

    test('cluster check knows it, and leaves the definitions that are its own', async () => {
      const survey = await surveyCluster(cluster.client, cluster.shipped);
      assert.equal(survey.platform, 'openshift');
      const owners = Object.fromEntries(survey.kinds.map(({ kind, owner }) => [kind, owner]));
      assert.equal(owners.ClusterVersion, 'platform');
      assert.equal(owners.ImageDigestMirrorSet, 'platform');
      assert.equal(owners.UpdatePreflight, 'sluice');
      assert.deepEqual(
        survey.objects.filter(({ state }) => state !== 'unchanged'),
        [],
      );
      const mode = survey.remarks.find(({ name }) => name === 'PreflightMode');
      assert.match(
        mode?.message ?? '',
        featureSet === 'default' ? /has no field mode/ : /has the field mode/,
      );
      assert.ok(
        survey.remarks.every(({ ok }) => ok),
        JSON.stringify(survey.remarks),
      );
    });

    test(
      'oc apply -k makes nothing different, and the second time finds all unchanged',
      needs('kubectl'),
      async () => {
        const apply = () =>
          run('kubectl', ['--kubeconfig', cluster.real.kubeconfig, 'apply', '-k', 'deploy/openshift'], {
            cwd: repository,
            timeoutMs: 120_000,
          });
        const first = await apply();
        assert.equal(first.code, 0, first.stderr);
        const second = await apply();
        assert.deepEqual([second.code, second.stderr], [0, '']);
        const lines = second.stdout.trim().split('\n');
        assert.equal(lines.length, cluster.shipped.length);
        assert.deepEqual(
          lines.filter((line) => !line.endsWith(' unchanged')),
          [],
        );
      },
    );

    test("the operator's own definition of MachineConfigNode stays as it was; ours is in our group", async () => {
      const { client } = cluster;
      const definition = await client.get(
        client.kinds.CustomResourceDefinition,
        'machineconfignodes.machineconfiguration.openshift.io',
      );
      assert.equal(definition.metadata.labels?.[labels.partOf], undefined);
      const set = definition.metadata.annotations?.['release.openshift.io/feature-set'] ?? '';
      assert.match(set, featureSet === 'default' ? /^Default$/ : /TechPreview/);
      assert.equal(client.kinds.MachineConfigNode.group, 'sluice.dev');
      assert.ok(await client.serves(client.kinds.MachineConfigNode));
    });

    test('the MachineConfig of the units is taken, and no agent among all is one that reboots', async () => {
      const file = 'deploy/openshift/machine-config/units.yaml';
      const [config] = parseManifests(shippedText(file), file);
      assert.ok(config !== undefined);
      assert.equal((await applyObject(cluster.client, config)).outcome, 'created');
      assert.equal((await applyObject(cluster.client, config)).outcome, 'unchanged');
      const { spec } = config as unknown as {
        spec: { config: { systemd: { units: { name: string; contents: string }[] } } };
      };
      const [registry, agent, ...others] = spec.config.systemd.units;
      assert.equal(others.length, 0);
      assert.match(registry?.contents ?? '', /^ExecStart=\S+\/sluice registry serve/m);
      assert.match(agent?.contents ?? '', /sluice node run[\s\S]* --os-driver none /);
      const workloads = cluster.shipped.filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
      assert.deepEqual(
        workloads.map(({ metadata }) => metadata.name),
        ['sluice-controller', 'sluice-node', 'sluice-worker', 'sluice-console'],
      );
      for (const { kind, spec } of workloads as { kind: string; spec?: unknown }[]) {
        if (kind === 'DaemonSet') assert.match(JSON.stringify(spec), /"--beside-openshift"/);
      }
    });

    test('the gate lets a release through whose preflight passed, by digest or by version, and no other', async () => {
      await ask({ image: image(passed), version: '4.17.1' });
      await ask(null);
      await ask({ version: '4.17.1' });
      await ask(null);
      for (const wish of [
        { image: image(other), version: '4.17.2' },
        { image: image(other), version: '4.16.1' }, // A z-stream.
        { version: '4.16.1' }, // As GitOps writes it.
        { version: '4.16.0', architecture: 'Multi' }, // The same version, another payload.
        { image: `quay.io/openshift-release-dev/ocp-release:4.17.1-x86_64` }, // A tag proves nothing.
      ])
        await assert.rejects(ask(wish), refused, JSON.stringify(wish));
      await ask({ image: image(running), version: '4.16.0' }); // Back to what runs.
      await ask(null);
    });

    test('force is the way through, and a request can always be taken back', async () => {
      await ask({ image: image(other), version: '4.17.2', force: true });
      const standing = await cluster.client.get(cluster.client.kinds.ClusterVersion, clusterVersion);
      assert.equal(standing.spec.desiredUpdate?.force, true);
      await assert.rejects(ask({ force: false }), refused, 'force is not taken off with the request left');
      await ask(null);
    });

    test('GitOps: who applies the same again is not judged; another field neither', async () => {
      await ask({ image: image(passed), version: '4.17.1' });
      await allow({ digests: '', versions: '' });
      try {
        await ask({ image: image(passed), version: '4.17.1' });
        await cluster.client.patch(cluster.client.kinds.ClusterVersion, clusterVersion, {
          spec: { channel: 'stable-4.17' },
        });
      } finally {
        await allow({ digests: digest(passed), versions: '4.17.1' });
        await untilGateActs();
      }
      await ask(null);
    });

    test("the operator's own writes and the status are never judged", async () => {
      await setStatus(cluster.operator);
      await ask({ image: image(other), version: '4.17.2' }, cluster.operator);
      await ask(null, cluster.operator);
    });

    test('the parameter cannot be deleted by mistake', async () => {
      const { client } = cluster;
      await assert.rejects(
        client.delete(client.kinds.PolicyFacts, updateGate),
        (error: unknown) => error instanceof ApiError && /lets everything through/.test(error.message),
      );
      await assert.rejects(
        client.delete(client.kinds.CustomResourceDefinition, 'policyfacts.sluice.dev'),
        (error: unknown) => error instanceof ApiError && /lets everything through/.test(error.message),
        'nor its definition',
      );
    });

    test('a request for a mode is judged as any other: no preflight ever starts an update by itself', async () => {
      const { client } = cluster;
      const answer = ask({ image: image(other), version: '4.17.2', mode: 'Preflight' });
      await assert.rejects(answer, refused);
      const standing = await client.get(client.kinds.ClusterVersion, clusterVersion);
      assert.equal(standing.spec.desiredUpdate, undefined);
    });

    test('the controller keeps the parameter in place, and Sluice that is dead changes nothing', async () => {
      const { client } = cluster;
      const stop = new AbortController();
      const uid = (await client.get(client.kinds.PolicyFacts, updateGate)).metadata.uid;
      const running = runUpdateGate({
        client,
        clock: systemClock,
        logger: silentLogger,
        signal: stop.signal,
      });
      for (let tries = 0; tries < 100; tries += 1) {
        const { data } = await client.get(client.kinds.PolicyFacts, updateGate);
        if (data.digests === '') break;
        await systemClock.sleep(100);
      }
      stop.abort();
      await running;
      const standing = await client.get(client.kinds.PolicyFacts, updateGate);
      assert.deepEqual(standing.data, { digests: '', versions: '' }, 'no report, so no release');
      assert.equal(standing.metadata.uid, uid, 'changed in place');
      await setStatus(cluster.operator);
      await ask({ image: image(other), force: true });
      await ask(null);
    });

    test('the shipped controller, by its own rights, pauses a pool outside its windows', async (t) => {
      const { client, real } = cluster;
      const kind = await client.resolveKind('machineconfiguration.openshift.io/v1', 'MachineConfigPool');
      assert.ok(kind !== undefined);
      const kubeconfig = await writeTokenConfig(real, client, 'controller', 'sluice-controller');
      await client.create(kind, {
        metadata: { name: 'worker', annotations: { [annotations.windows]: 'none' } },
        spec: { paused: false },
      } as never);
      await client.create(client.kinds.Node, {
        metadata: { name: 'master-0', labels: { [labels.controlPlane]: '' } },
      });
      await client.patch(
        client.kinds.Node,
        'master-0',
        { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } },
        { subresource: 'status' },
      );
      const status = `127.0.0.1:${await freePort()}`;
      const words = [
        'controller',
        '--identity',
        'one',
        '--kubeconfig',
        kubeconfig,
        '--status-listen',
        status,
      ];
      const { child, said } = startSluice(t, words);
      const gone = new Promise((resolve) => child.once('exit', resolve));
      const isPaused = (pool: unknown) =>
        (pool as { spec?: { paused?: boolean } } | undefined)?.spec?.paused === true;
      const pool = await waitFor(client, kind, 'worker', isPaused, {
        timeoutMs: 60_000,
        describe: () => said().slice(-2000),
      });
      assert.equal(pool?.metadata.annotations?.[annotations.pausedBy], 'sluice');
      assert.equal((await fetch(`http://${status}/readyz`)).status, 200);
      const { registryTlsSecret, registryCa, machineConfigNamespace } = names('openshift');
      const pem = (object: { data?: Record<string, string> } | undefined) =>
        Buffer.from(object?.data?.['tls.crt'] ?? '', 'base64').toString('utf8');
      const secret = await waitFor(
        client,
        client.kinds.Secret,
        registryTlsSecret,
        (each) => pem(each) !== '',
        {
          namespace: machineConfigNamespace,
          timeoutMs: 60_000,
          describe: () => said().slice(-2000),
        },
      );
      const certificate = new X509Certificate(pem(secret));
      for (const name of [apiInt, names('openshift').apiInt]) assert.ok(certificate.checkHost(name), name);
      assert.ok(certificate.checkIP('127.0.0.1'));
      const ca = (await client.get(client.kinds.ConfigMap, registryCa, machineConfigNamespace)).data;
      assert.ok(certificate.verify(new X509Certificate(ca?.['ca-bundle.crt'] ?? '').publicKey));
      const asked = (await client.get(client.kinds.ClusterVersion, clusterVersion)).metadata.generation;
      await client.create(client.kinds.UpdatePreflight, {
        metadata: { name: 'look', namespace },
        spec: { image: image('d'), version: '4.17.9' },
      });
      await waitFor(
        client,
        client.kinds.UpdatePreflight,
        'look',
        (each) => each?.status?.verdict !== undefined && each.status.verdict !== 'Running',
        { namespace, timeoutMs: 60_000, describe: () => said().slice(-2000) },
      );
      const after = await client.get(client.kinds.ClusterVersion, clusterVersion);
      assert.deepEqual([after.metadata.generation, after.spec.desiredUpdate], [asked, undefined]);
      child.kill('SIGTERM');
      assert.equal(await gone, 0, said().slice(-2000));
      assert.doesNotMatch(said(), /forbidden/i);
    });

    test('the shipped agent, by its own rights, keeps content and trust on a node, and takes no OS image', async (t) => {
      const { client, real } = cluster;
      const { registryTlsSecret, registryCa, machineConfigNamespace } = names('openshift');
      const file = (name: string, text: string) => {
        writeFileSync(join(real.dir, name), text);
        return join(real.dir, name);
      };
      const { data } = await client.get(client.kinds.Secret, registryTlsSecret, machineConfigNamespace);
      const of = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
      const bundle = (await client.get(client.kinds.ConfigMap, registryCa, machineConfigNamespace)).data;
      const certificates = join(real.dir, 'certs.d');
      const kubeconfig = await writeTokenConfig(
        real,
        client,
        'node',
        'sluice-node',
        'master-0',
        machineConfigNamespace,
      );
      const words = [
        ...['node', 'run', '--no-register-node', '--name', 'master-0', '--address', '127.0.0.1'],
        ...['--dir', join(real.dir, 'node'), '--kubeconfig', kubeconfig],
        ...['--ca', file('r-ca.crt', bundle?.['ca-bundle.crt'] ?? '')],
        ...['--cert', file('r.crt', of('tls.crt')), '--key', file('r.key', of('tls.key'))],
        ...['--os-driver', 'none', '--registry-certificates', certificates],
      ];
      const { said } = startSluice(t, words);
      const { NodeUpdate, MachineConfigNode } = client.kinds;
      const settled = { timeoutMs: 60_000, describe: () => said().slice(-2000) };
      await waitFor(client, NodeUpdate, 'master-0', (update) => update?.status?.driver === 'none', settled);
      await client.patch(NodeUpdate, 'master-0', { spec: { osImage: `quay.io/os@${digest('d')}` } });
      const refusedImage = await waitFor(
        client,
        NodeUpdate,
        'master-0',
        (update) => update?.status?.holds?.some(({ message }) => /takes no OS image/.test(message)) === true,
        settled,
      );
      assert.equal(refusedImage?.status?.staged, undefined);
      await waitFor(client, MachineConfigNode, 'master-0', (node) => node !== undefined, settled);
      for (const host of ['127.0.0.1:22625', `${apiInt}:22625`]) {
        for (let tries = 0; !existsSync(join(certificates, host, 'client.key')); tries += 1) {
          assert.ok(tries < 100, `${host}: ${said().slice(-1000)}`);
          await systemClock.sleep(100);
        }
        assert.equal(readFileSync(join(certificates, host, 'client.cert'), 'utf8'), of('tls.crt'));
      }
      assert.doesNotMatch(said(), /forbidden/i);
    });

    test('rights: nothing is refused, no ClusterVersion is written, and what only OpenShift grants is used', () => {
      const log = join(cluster.real.dir, 'audit.log');
      const { machineConfigNamespace } = names('openshift');
      for (const [account, where] of [
        ['sluice-controller', 'sluice-system'],
        ['sluice-node', machineConfigNamespace],
      ] as const) {
        const { done, refused } = usedBy(log, `system:serviceaccount:${where}:${account}`);
        assert.deepEqual([...refused], [], account);
        assert.deepEqual(
          [...done].filter((right) => /^(?!get|list|watch).*clusterversions/.test(right)),
          [],
          account,
        );
        // Story.test.ts has the others, in our own group.
        const plain = new Set(rightsOf(shippedManifests('kubernetes'), account).map(withoutGroup));
        const own = rightsOf(cluster.shipped, account).filter((right) => !plain.has(withoutGroup(right)));
        assert.ok(own.length > 0, account);
        assert.deepEqual(
          own.filter((right) => !done.has(right)),
          [],
          `${account}: granted here alone, and not used`,
        );
      }
    });

    // After the rights: what is tried here in its name is refused, and written down.
    test('an agent writes the objects of its own node alone', async () => {
      const { real, client } = cluster;
      const { machineConfigNamespace } = names('openshift');
      await assertOwnObjectsOnly(real, client, {
        ...{ account: 'sluice-node', namespace: machineConfigNamespace, node: 'master-0' },
      });
    });

    test('a parameter that is missing wedges nobody, nor one without its definition; then everything of Sluice goes', async () => {
      const { client } = cluster;
      const { kinds } = client;
      await client.delete(kinds.ValidatingAdmissionPolicyBinding, 'sluice-update-gate-guard');
      for (let tries = 0; tries < 100; tries += 1) {
        const gone = await client.delete(kinds.PolicyFacts, updateGate).catch(() => undefined);
        if (gone !== undefined) break;
        await systemClock.sleep(200);
      }
      const wedgesNobody = async () => {
        await setStatus(cluster.operator);
        await ask({ image: image(other), version: '4.17.2' }, cluster.operator);
        await ask(null, cluster.operator);
        await ask({ image: image(other), force: true });
        await ask(null);
        await client.patch(kinds.ClusterVersion, clusterVersion, { spec: { channel: 'stable-4.16' } });
        await client.patch(kinds.ClusterVersion, clusterVersion, { spec: { channel: 'stable-4.17' } });
      };
      await wedgesNobody();
      const definition = 'policyfacts.sluice.dev';
      await client.delete(kinds.CustomResourceDefinition, definition);
      await waitForDeletion(client, kinds.CustomResourceDefinition, definition, { timeoutMs: 60_000 });
      await cluster.real.restart();
      await wedgesNobody();
      await uninstallObjects(client, cluster.shipped, { keepData: false, dryRun: false });
      const { objects } = await surveyCluster(client, cluster.shipped);
      assert.deepEqual(
        objects.filter(({ state }) => state !== 'missing'),
        [],
      );
      const { machineConfigNamespace } = names('openshift');
      const { items: secrets } = await client.list(kinds.Secret, { namespace: machineConfigNamespace });
      assert.deepEqual(
        secrets.map(({ metadata }) => metadata.name).filter((name) => /sluice|internal-release/.test(name)),
        [],
      );
      assert.ok(await client.tryGet(kinds.Namespace, namespace), "the platform's namespaces stay");
      assert.ok(await client.tryGet(kinds.ClusterVersion, clusterVersion), 'and its ClusterVersion');
      const pools = await client.resolveKind('machineconfiguration.openshift.io/v1', 'MachineConfigPool');
      const pool = pools && (await client.get(pools, 'worker'));
      assert.deepEqual((pool as AnyObject | undefined)?.spec, { paused: false }, 'no pause of ours is left');
      await ask({ image: image(other), version: '4.17.2' });
      await ask(null);
    });

    test('installed again, the gate judges by what is said now, and not by what was said before', async () => {
      const { client } = cluster;
      await installObjects(client, cluster.shipped);
      await allow({ digests: digest(other), versions: '' });
      const acts = async () => (await isRefused(passed)) && !(await isRefused(other));
      for (let tries = 0; !(await acts()); tries += 1) {
        assert.ok(tries < 300, 'the gate does not act after a second installation');
        await systemClock.sleep(100);
      }
      await assert.rejects(ask({ image: image(passed) }), refused, 'what the first installation let through');
      await ask({ image: image(other) });
      await ask(null);
      const gate = (await surveyCluster(client, cluster.shipped)).remarks.find(
        ({ name }) => name === 'UpdateGate',
      );
      assert.deepEqual([gate?.ok, /refuses/.test(gate?.message ?? '')], [true, true], gate?.message);
    });
  });
}

describe('OpenShift whose machine-config operator serves InternalReleaseImage itself', {
  ...needsRealEngine(),
  ...needs('shared-data'),
}, () => {
  let cluster: OpenShiftCluster;
  before(async () => {
    cluster = await startOpenShift({ featureSet: 'preview', internalReleaseImage: true });
  });
  after(() => cluster?.close());
  const theirs = 'internalreleaseimages.machineconfiguration.openshift.io';
  const definition = async () =>
    (await cluster.client.get(cluster.client.kinds.CustomResourceDefinition, theirs)).metadata;

  test('ours is in our own group, no agent comes to the nodes, and all of it stands', async () => {
    const { client, real, shipped } = cluster;
    assert.equal(client.kinds.InternalReleaseImage.group, 'sluice.dev');
    assert.equal((await definition()).labels?.[labels.partOf], undefined, 'theirs is not touched');
    assert.deepEqual(
      shipped.filter(({ kind }) => kind === 'DaemonSet'),
      [],
    );
    const checked = await run(join(repository, 'sluice'), [
      ...['cluster', 'check', '--kubeconfig', real.kubeconfig],
    ]);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    assert.match(checked.stdout, /the machine-config operator serves InternalReleaseImage itself/);
    // Everybody else finds the same group as who installs.
    const other = await connect(loadKubeconfig(real.kubeconfig));
    try {
      assert.equal(other.kinds.InternalReleaseImage.group, 'sluice.dev');
    } finally {
      await other.close();
    }
  });

  test('uninstalling takes ours, and leaves theirs with its object', async () => {
    const { client, shipped } = cluster;
    const kind = await client.resolveKind('machineconfiguration.openshift.io/v1', 'InternalReleaseImage');
    assert.ok(kind !== undefined);
    const { internalReleaseImage } = names('openshift');
    const release = { spec: { releases: [{ name: 'ocp-release-bundle-4.17.1-x86_64' }] } };
    const finalizers = ['machineconfiguration.openshift.io/internal-release-image'];
    await client.create(kind, { metadata: { name: internalReleaseImage, finalizers }, ...release } as never);
    await client.create(client.kinds.InternalReleaseImage, {
      metadata: { name: internalReleaseImage, finalizers: [ownFinalizers.internalReleaseImage] },
      ...release,
    });
    await uninstallObjects(client, shipped, { keepData: false, dryRun: false });
    const { metadata } = await client.get(kind, internalReleaseImage);
    assert.deepEqual([metadata.finalizers, metadata.deletionTimestamp], [finalizers, undefined]);
    assert.equal((await definition()).deletionTimestamp, undefined);
    const { objects } = await surveyCluster(client, shipped);
    assert.deepEqual(
      objects.filter(({ state }) => state !== 'missing'),
      [],
    );
  });
});

/** What the roles of an account grant that bear its name. */
function rightsOf(objects: readonly AnyObject[], account: string): Right[] {
  return objects
    .filter(({ kind, metadata }) => /^(Cluster)?Role$/.test(kind) && metadata.name.startsWith(account))
    .flatMap((role) => [...grantedBy(role)]);
}

const withoutGroup = (right: Right) => right.replace(/ [^/ ]*\//, ' ');

/** Runs the program until the test ends; `said` is all that it has printed so far. */
function startSluice(t: TestContext, words: readonly string[]) {
  const child = spawn(join(repository, 'sluice'), words, { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
  }
  return { child, said: () => text };
}
