import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import type { AnyObject, CustomResourceDefinition } from '../src/api/core.ts';
import { renderCrds } from '../src/api/crds.ts';
import { labels, names } from '../src/api/names.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { nameRelease } from '../src/preflight/request.ts';
import type { ClusterContent } from '../src/release/content.ts';
import { runReleaseController } from '../src/release/controller.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { needs, sharedData } from './tier.ts';

const { machineConfigNamespace, configManagedNamespace, mirrorSet, internalReleaseImage, clusterVersion } =
  names('openshift');
const bundle = 'ocp-release-bundle-4.20.1-x86_64';
const payload = `sha256:${'2'.repeat(64)}`;
const host = 'api-int.ocp.example.com';

describe('the release controller on OpenShift', needs('shared-data'), () => {
  let cluster: TestCluster;
  let client: KubeClient;
  let stop: AbortController;
  let running: Promise<void>;

  before(async () => {
    const text = readFileSync(join(sharedData, 'crds', 'infrastructures.crd.yaml'), 'utf8');
    // What is in our own group there, beside the platform's.
    const ours = renderCrds('openshift').filter(({ spec }) => spec.group === 'sluice.dev');
    const known = new Set(renderCrds('standalone').map(({ metadata }) => metadata.name));
    cluster = await startTestCluster({
      crds: [
        ...ours.filter(({ metadata }) => !known.has(metadata.name)),
        parse(text) as CustomResourceDefinition,
      ],
    });
    client = createKubeClient({ ...loadKubeconfig(cluster.kubeconfig), platform: 'openshift' });
    const { kinds } = client;
    for (const name of [machineConfigNamespace, configManagedNamespace]) {
      await client.create(kinds.Namespace, { metadata: { name } });
    }
    await client.create(kinds.Node, {
      metadata: { name: 'master-0', labels: { [labels.controlPlane]: '' } },
    });
    const update = await client.create(kinds.NodeUpdate, { metadata: { name: 'master-0' }, spec: {} });
    const held = { name: bundle, bundleDigest: `sha256:${'b'.repeat(64)}`, version: '4.20.1', payload };
    await client.updateStatus(kinds.NodeUpdate, { ...update, status: { store: [held] } });
    await client.create(kinds.InternalReleaseImage, {
      metadata: { name: internalReleaseImage },
      spec: { releases: [{ name: bundle }] },
    });
    stop = new AbortController();
    // Registries that answer at their addresses, and not under the name that all share.
    const content: ClusterContent = {
      label: 'nothing',
      manifest: async () => undefined,
      blob: async () => undefined,
      tags: async () => [],
      referrers: async () => [],
      ping: async () => new Map([['master-0', undefined]]),
      pingByName: async () => false,
      close: async () => {},
    };
    running = runReleaseController({
      client,
      content,
      keys: async () => [],
      logger: silentLogger,
      clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal) },
      signal: stop.signal,
    });
  });

  after(async () => {
    stop?.abort();
    await running;
    await client?.close();
    await cluster?.close();
  });

  const untilStatus = (what: string, holds: (status: { image?: string; degraded?: string }) => boolean) =>
    waitFor(
      client,
      client.kinds.InternalReleaseImage,
      internalReleaseImage,
      (object) => {
        const image = object?.status?.releases[0]?.image;
        const degraded = object?.status?.conditions?.[0]?.message;
        return holds({
          ...(image === undefined ? {} : { image }),
          ...(degraded === undefined ? {} : { degraded }),
        });
      },
      { what, timeoutMs: 20_000, describe: (object) => JSON.stringify(object) },
    );

  test('D5 while it is not told, no image is named by it, and no mirror leads away from it', async () => {
    await untilStatus('the trouble', ({ degraded }) => /via the name that all share/.test(degraded ?? ''));
    const object = await client.get(client.kinds.InternalReleaseImage, internalReleaseImage);
    assert.equal(object.status?.releases[0]?.image, undefined);
    const set = await client.tryGet(client.kinds.ImageDigestMirrorSet, mirrorSet);
    assert.deepEqual(set?.spec.imageDigestMirrors ?? [], []);
    await assert.rejects(nameRelease(client, { to: '4.20.1' }), /by which name its registries are reached/);
  });

  test('told by the Infrastructure object, it stands in images, mirrors and messages', async () => {
    const kind = await client.resolveKind('config.openshift.io/v1', 'Infrastructure');
    assert.ok(kind !== undefined);
    const object = await client.create(kind, { metadata: { name: 'cluster' }, spec: {} } as never);
    await client.updateStatus(kind, {
      ...object,
      status: { apiServerInternalURI: `https://${host}:6443` },
    } as unknown as AnyObject);
    const image = `${host}:22625/openshift/release-images@${payload}`;
    await untilStatus('the image', (status) => status.image === image);
    await untilStatus('the trouble', ({ degraded }) => degraded?.endsWith(`via ${host}`) === true);
    const set = await client.get(client.kinds.ImageDigestMirrorSet, mirrorSet);
    assert.ok(
      set.spec.imageDigestMirrors?.some((each) => each.source === `${host}:22625/openshift/release-images`),
    );
    assert.equal(JSON.stringify(set.spec).includes('sluice.internal'), false);
    assert.equal((await nameRelease(client, { to: '4.20.1' })).image, image);
  });

  test('G6 signatures of a release that is neither at hand nor in use go, once it is known what is in use', async () => {
    const { kinds } = client;
    const signaturesOf = async (digit: string, ours: boolean) => {
      const hex = digit.repeat(64);
      const name = ours ? `sluice-release-signatures-${hex.slice(0, 12)}` : `mirrored-${digit}`;
      await client.create(kinds.ConfigMap, {
        metadata: {
          name,
          namespace: configManagedNamespace,
          labels: {
            'release.openshift.io/verification-signatures': '',
            ...(ours ? { [labels.releaseSignatures]: hex.slice(0, 12) } : {}),
          },
        },
        binaryData: { [`sha256-${hex}-1`]: 'eA==' },
      });
      return name;
    };
    const held = await signaturesOf('2', true);
    const desired = await signaturesOf('7', true);
    const gone = await signaturesOf('8', true);
    const theirs = await signaturesOf('8', false);
    const standing = async () =>
      (await client.list(kinds.ConfigMap, { namespace: configManagedNamespace })).items
        .map(({ metadata }) => metadata.name)
        .filter((name) => [held, desired, gone, theirs].includes(name))
        .sort();
    // Nobody has said yet what the cluster runs: everything stays, however often it is looked at.
    await systemClock.sleep(1_500);
    assert.equal((await standing()).length, 4);
    const version = await client.create(kinds.ClusterVersion, {
      metadata: { name: clusterVersion },
      spec: { clusterID: '00000000-0000-4000-8000-000000000000' },
    });
    await client.updateStatus(kinds.ClusterVersion, {
      ...version,
      status: {
        desired: { version: '4.20.0', image: `quay.io/x/release@sha256:${'7'.repeat(64)}` },
        history: [],
        observedGeneration: 1,
        versionHash: 'x',
        availableUpdates: null,
      },
    });
    await waitFor(client, kinds.ConfigMap, gone, (object) => object === undefined, {
      namespace: configManagedNamespace,
      timeoutMs: 20_000,
      what: 'the signatures to go',
    });
    assert.deepEqual(await standing(), [held, desired, theirs].sort());
  });
});
