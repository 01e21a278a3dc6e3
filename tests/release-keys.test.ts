import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { names } from '../src/api/names.ts';
import { signatureConfigMap } from '../src/bundle/release-signatures.ts';
import { openPGPFinding } from '../src/gates/finding.ts';
import { implicitName } from '../src/gates/run-request.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import type { Digest } from '../src/oci/digest.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { runUpdateGate } from '../src/preflight/update-gate.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { type ControlPlane, readVersion, startControlPlane, untilVersion } from './control-plane.ts';
import { type Gpg, releaseClaim, startGpg } from './gpg.ts';
import { needs } from './tier.ts';

const { clusterVersionNamespace, configManagedNamespace, updateGate } = names('standalone');

describe('the release keys of a cluster gate its updates', needs('gpg'), () => {
  let plane: ControlPlane;
  let gpg: Gpg;
  let stop: AbortController;
  let running: Promise<unknown>;

  before(async () => {
    gpg = await startGpg();
    plane = await startControlPlane(
      [
        { version: '1.0.0' },
        { version: '1.1.0', previous: ['1.0.0'] },
        { version: '1.2.0', previous: ['1.1.0'] },
        { version: '1.3.0', previous: ['1.2.0'] },
      ],
      { nodes: ['master-0'] },
    );
    const { client } = plane;
    const { keys } = await gpg.makeKey('maker');
    await gpg.makeKey('stranger');
    await client.create(client.kinds.ConfigMap, {
      metadata: {
        name: 'release-verification',
        namespace: configManagedNamespace,
        annotations: { 'release.openshift.io/verification-config-map': '' },
      },
      data: { 'verifier-public-key-maker': String(keys) },
    });
    stop = new AbortController();
    const initialRelease = `quay.example/release@${payloadOf('1.0.0')}`;
    running = Promise.all([
      runPreflightController(plane.options(stop.signal)),
      runUpdateController({ ...plane.options(stop.signal), initialRelease }),
    ]);
    for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0']) await plane.hold(version);
  });

  after(async () => {
    stop?.abort();
    await running;
    await plane?.close();
    await gpg?.close();
  });

  const payloadOf = (version: string) => plane.releases.get(version)?.payload as Digest;
  const desire = (desiredUpdate: object | null) =>
    plane.client.patch(plane.client.kinds.ClusterVersion, 'version', { spec: { desiredUpdate } });
  const accepted = (version: Awaited<ReturnType<typeof readVersion>>) =>
    version?.status?.conditions?.find((each) => each.type === 'ReleaseAccepted');
  const untilRefused = async (what: RegExp) => {
    await untilVersion(plane.client, `a refusal: ${what}`, (version) => {
      const { status, message = '' } = accepted(version) ?? {};
      return status === 'False' && what.test(message);
    });
    return accepted(await readVersion(plane.client));
  };
  const untilCompleted = (version: string) =>
    untilVersion(
      plane.client,
      `${version} to be completed`,
      ({ status }) => status?.history?.[0]?.version === version && status.history[0].state === 'Completed',
    );
  /** As the cluster-version operator finds it, and as somebody else may have put it there. */
  async function publish(version: string, by: string): Promise<void> {
    const signature = await gpg.sign(by, releaseClaim(payloadOf(version)));
    const map = signatureConfigMap(payloadOf(version), [signature], configManagedNamespace);
    const { ConfigMap } = plane.client.kinds;
    const { name } = map.metadata;
    await plane.client.delete(ConfigMap, name, { namespace: configManagedNamespace });
    await plane.client.create(ConfigMap, {
      metadata: { name, namespace: configManagedNamespace, labels: { ...map.metadata.labels } },
      binaryData: { ...map.binaryData },
    });
  }

  test('S8 a release without a signature is refused, with reason and what to do', async () => {
    await untilCompleted('1.0.0');
    await desire({ version: '1.1.0' });
    const found = await untilRefused(new RegExp(openPGPFinding));
    assert.equal(found?.reason, 'RetrievePayload');
    assert.match(
      found?.message ?? '',
      /"ReleaseOpenPGPSignature" failed because of "openpgp": The update cannot be verified: It carries no OpenPGP signature, and this cluster verifies releases against verifier-public-key-maker\n {2}Next: Attach media .*Force goes through/,
    );
  });

  test('S8 an accepted name does not pass it, and a signature of a stranger neither', async () => {
    const { client } = plane;
    const acceptedRisks = [{ name: openPGPFinding, reason: 'tried' }];
    await client.patch(
      client.kinds.UpdatePreflight,
      implicitName(payloadOf('1.1.0')),
      { spec: { acceptedRisks } },
      { namespace: clusterVersionNamespace },
    );
    await publish('1.1.0', 'stranger');
    await untilRefused(
      /unable to verify sha256:[0-9a-f]{64} against keyrings: verifier-public-key-maker \(key [0-9A-F]{16}/,
    );
    assert.equal((await readVersion(client))?.status?.desired.version, '1.0.0');
  });

  test('S8 the right signature lets the standing request through, and the history calls it verified', async () => {
    await publish('1.1.0', 'maker');
    await untilCompleted('1.1.0');
    const [latest] = (await readVersion(plane.client))?.status?.history ?? [];
    assert.equal(latest?.verified, true);
    assert.doesNotMatch(latest?.acceptedRisks ?? '', /Forced/);
  });

  test('P-64 force goes through it, and the history says that the release is not verified', async () => {
    await desire({ version: '1.2.0' });
    await untilRefused(new RegExp(openPGPFinding));
    await desire({ version: '1.2.0', force: true });
    await untilCompleted('1.2.0');
    const [latest] = (await readVersion(plane.client))?.status?.history ?? [];
    assert.equal(latest?.verified, false);
    assert.match(
      latest?.acceptedRisks ?? '',
      /Forced through blocking failures: .*ReleaseOpenPGPSignature: /,
    );
  });

  test('on OpenShift no such release gets into the parameter of the update gate, with keys or without', async () => {
    const { client } = plane;
    const plain = createKubeClient({ ...loadKubeconfig(plane.cluster.kubeconfig), platform: 'openshift' });
    // The embedded API keeps no count of old APIs in use, as OpenShift's does: none are.
    const openshift: KubeClient = {
      ...plain,
      raw: async (request) => (request.path === '/metrics' ? '' : await plain.raw(request)),
    };
    const end = new AbortController();
    const gate = runUpdateGate({ ...plane.options(end.signal), client: openshift });
    // The controller of this platform takes the place of the other.
    stop.abort();
    await running;
    const preflights = runPreflightController({
      ...plane.options(end.signal),
      client: openshift,
      platform: 'openshift',
    });
    running = Promise.all([gate, preflights]);
    try {
      const { kinds } = client;
      const unverified = await verdictOf(openshift, '1.3.0', 'unverified');
      assert.equal(unverified.verdict, 'Blocked');
      assert.match(unverified.message ?? '', new RegExp(openPGPFinding));
      const data = () => client.tryGet(kinds.PolicyFacts, updateGate).then((each) => each?.data ?? {});
      assert.ok(!(await data()).digests?.includes(payloadOf('1.3.0')));

      await client.delete(kinds.ConfigMap, 'release-verification', { namespace: configManagedNamespace });
      const without = await verdictOf(openshift, '1.3.0', 'without');
      assert.equal(without.verdict, 'Blocked', 'as the operator, which refuses all where it has no keys');
      assert.match(rowOf(without)?.message ?? '', /no release keys/);

      await client.create(kinds.ConfigMap, {
        metadata: {
          name: 'release-verification',
          namespace: configManagedNamespace,
          annotations: { 'release.openshift.io/verification-config-map': '' },
        },
        data: { 'verifier-public-key-maker': String((await gpg.makeKey('second')).keys) },
      });
      await publish('1.3.0', 'second');
      const passed = await verdictOf(openshift, '1.3.0', 'passed');
      assert.equal(passed.verdict, 'Passed', passed.message);
      await waitFor(
        client,
        kinds.PolicyFacts,
        updateGate,
        (object) => object?.data?.digests?.includes(payloadOf('1.3.0')) === true,
        { timeoutMs: 20_000, what: 'the release in the parameter' },
      );
    } finally {
      end.abort();
      await running;
      await openshift.close();
    }
  });

  type Report = Awaited<ReturnType<typeof verdictOf>>;
  const rowOf = (report: Report) => report.checks?.find((row) => row.name === openPGPFinding);

  /** Runs a preflight of its own, to its end. */
  async function verdictOf(client: KubeClient, version: string, name: string) {
    const kind = client.kinds.UpdatePreflight;
    const namespace = clusterVersionNamespace;
    await client.create(kind, {
      metadata: { name, namespace },
      spec: { image: `quay.example/release@${payloadOf(version)}` },
    });
    const object = await waitFor(client, kind, name, (each) => each?.status?.finishedAt !== undefined, {
      namespace,
      timeoutMs: 30_000,
      what: 'the preflight',
    });
    const { verdict, message, checks } = object?.status ?? {};
    return { verdict, message, checks };
  }
});
