import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AnyObject } from '../../src/api/core.ts';
import { annotations, finalizers, names } from '../../src/api/names.ts';
import { installObjects } from '../../src/install/install.ts';
import { shippedObjects } from '../../src/install/manifests.ts';
import { surveyCluster } from '../../src/install/survey.ts';
import { uninstallObjects } from '../../src/install/uninstall.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { connect } from '../../src/kube/platform.ts';
import { cordonOwner } from '../../src/lock/drain.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { writeInUse } from '../../src/release/objects.ts';
import { needs, repository } from '../tier.ts';
import { writeTokenConfig } from './kubernetes.ts';
import { needsRealEngine, type RealCluster, startRealCluster } from './real.ts';

const { clusterVersionNamespace, internalReleaseImage } = names('kubernetes');

describe('Sluice on an empty Kubernetes', needsRealEngine(), () => {
  let real: RealCluster;
  let client: KubeClient;
  let shipped: AnyObject[];
  before(async () => {
    real = await startRealCluster();
    client = await connect(loadKubeconfig(real.kubeconfig), { installs: true });
    shipped = shippedObjects({ platform: 'kubernetes' });
  });
  after(async () => {
    await client?.close();
    await real?.close();
  });
  const sluice = (...words: string[]) =>
    spawnSync(join(repository, 'sluice'), ['cluster', ...words, '--kubeconfig', real.kubeconfig], {
      encoding: 'utf8',
      timeout: 120_000,
    });

  test('check says which platform it is and what is missing, and changes nothing', async () => {
    const checked = sluice('check', '-o', 'json');
    assert.equal(checked.status, 3, checked.stderr);
    const survey = JSON.parse(checked.stdout) as Awaited<ReturnType<typeof surveyCluster>>;
    assert.equal(survey.platform, 'kubernetes');
    assert.ok(survey.kinds.every(({ served, resource }) => !served && resource.endsWith('.sluice.dev')));
    assert.ok(survey.objects.length > 30 && survey.objects.every(({ state }) => state === 'missing'));
    const dry = sluice('install', '--dry-run');
    assert.equal(dry.stdout.trim().split('\n').length, survey.objects.length);
    assert.equal((await client.list(client.kinds.CustomResourceDefinition)).items.length, 0);
  });

  test('kubectl apply -k succeeds twice, the second time unchanged', needs('kubectl'), () => {
    const apply = () =>
      spawnSync('kubectl', ['--kubeconfig', real.kubeconfig, 'apply', '-k', 'deploy/kubernetes'], {
        cwd: repository,
        encoding: 'utf8',
        timeout: 120_000,
      });
    const first = apply();
    assert.equal(first.status, 0, first.stderr);
    assert.equal(first.stderr, '', 'no warning');
    const lines = first.stdout.trim().split('\n');
    assert.equal(lines.length, shipped.length);
    assert.ok(
      lines.every((line) => line.endsWith(' created')),
      first.stdout,
    );
    const second = apply();
    assert.equal(second.status, 0, second.stderr);
    const changed = second.stdout
      .trim()
      .split('\n')
      .filter((line) => !line.endsWith(' unchanged'));
    assert.deepEqual(changed, []);
  });

  test('sluice cluster install and kubectl are one way: what the one made, the other finds whole', async () => {
    const done = await installObjects(client, shipped);
    const changed = done.filter(({ outcome, kind }) => outcome !== 'unchanged' && kind !== 'Namespace');
    if (needs('kubectl').skip === undefined) assert.deepEqual(changed, []);
    const survey = await surveyCluster(client, shipped);
    assert.deepEqual(
      survey.objects.filter(({ state }) => state !== 'unchanged'),
      [],
    );
    assert.ok(survey.kinds.every(({ served, owner }) => served && owner === 'sluice'));
    assert.equal(sluice('check').status, 0);
  });

  test('what was changed by hand is seen, and installed again', async () => {
    const { ClusterRole } = client.kinds;
    await client.patch(ClusterRole, 'sluice-node', { rules: [] });
    const { objects } = await surveyCluster(client, shipped);
    assert.deepEqual(
      objects
        .filter(({ state }) => state !== 'unchanged')
        .map(({ kind, name, state }) => [kind, name, state]),
      [['ClusterRole', 'sluice-node', 'differs']],
    );
    const done = await installObjects(client, shipped);
    assert.deepEqual(
      done.filter(({ outcome }) => outcome !== 'unchanged').map(({ name }) => name),
      ['sluice-node'],
    );
  });

  test('uninstalling in the midst of everything leaves nothing behind that holds up the cluster', async () => {
    const { kinds } = client;
    await client.create(kinds.InternalReleaseImage, {
      metadata: { name: internalReleaseImage, finalizers: [finalizers.internalReleaseImage] },
      spec: { releases: [{ name: 'ocp-release-bundle-1.0.0-x86_64' }] },
    });
    await client.create(kinds.UpdatePreflight, {
      metadata: { name: 'x', namespace: clusterVersionNamespace, finalizers: [finalizers.preflight] },
      spec: { version: '1.1.0' },
    });
    await client.create(kinds.Node, {
      metadata: { name: 'drained', annotations: { [annotations.cordonedBy]: cordonOwner } },
      spec: { unschedulable: true },
    });
    await client.create(kinds.Node, { metadata: { name: 'by-hand' }, spec: { unschedulable: true } });
    const planned = await uninstallObjects(client, shipped, { keepData: false, dryRun: true });
    assert.equal(
      (await surveyCluster(client, shipped)).objects.filter((each) => each.state === 'missing').length,
      0,
    );
    const steps = await uninstallObjects(client, shipped, { keepData: false, dryRun: false });
    assert.deepEqual(steps, planned);
    assert.equal((await client.get(kinds.Node, 'drained')).spec?.unschedulable, undefined);
    assert.equal((await client.get(kinds.Node, 'by-hand')).spec?.unschedulable, true, 'not ours to lift');
    const { objects } = await surveyCluster(client, shipped);
    assert.ok(objects.every(({ state }) => state === 'missing'));
    assert.deepEqual(await uninstallObjects(client, shipped, { keepData: false, dryRun: false }), []);
  });

  test('a controller that still runs while everything goes sets nothing again that holds it up', async (t) => {
    const { kinds } = client;
    await installObjects(client, shipped);
    await client.create(kinds.InternalReleaseImage, {
      metadata: { name: internalReleaseImage },
      spec: { releases: [{ name: 'ocp-release-bundle-1.0.0-x86_64' }] },
    });
    // As the Pod of a Deployment that is gone: it goes on until its kubelet ends it.
    const kubeconfig = await writeTokenConfig(real, client, 'controller', 'sluice-controller');
    const child = spawn(join(repository, 'sluice'), ['controller', '--kubeconfig', kubeconfig]);
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    const finalizersOf = async () =>
      (await client.get(kinds.InternalReleaseImage, internalReleaseImage)).metadata.finalizers ?? [];
    await until('it sets its finalizer', async () => (await finalizersOf()).length > 0).catch((error) =>
      assert.fail(`${error}: ${said.slice(-2000)}`),
    );
    await uninstallObjects(client, shipped, {
      ...{ keepData: false, dryRun: false },
      signal: AbortSignal.timeout(90_000),
    });
    assert.equal(child.exitCode, null, `it was there until the end: ${said.slice(-2000)}`);
    const { objects } = await surveyCluster(client, shipped);
    assert.ok(objects.every(({ state }) => state === 'missing'));
  });

  test('installed again, the guard judges by what is in use now, and not by what was before', async () => {
    const { kinds } = client;
    const name = (version: string) => `ocp-release-bundle-${version}-x86_64`;
    const using = (version: string) =>
      writeInUse(client, { names: new Map([[name(version), 'a test']]), digests: new Set() });
    const image = { metadata: { name: internalReleaseImage } };
    const releases = ['1.0.0', '1.1.0'].map((version) => ({ name: name(version) }));
    const remove = async (version: string) =>
      await client
        .patch(kinds.InternalReleaseImage, internalReleaseImage, {
          spec: { releases: releases.filter((each) => each.name !== name(version)) },
        })
        .then(
          () => 'gone' as const,
          (error: Error) => error.message,
        );
    const begin = async (used: string) => {
      await installObjects(client, shipped);
      await client.create(kinds.InternalReleaseImage, { ...image, spec: { releases } });
      await using(used);
      await until(`${used} is kept`, async () => /in use, so it cannot/.test(await remove(used)));
    };
    await begin('1.0.0');
    await using('1.1.0');
    await until('what is in use is heard of', async () => /in use, so/.test(await remove('1.1.0')));
    await uninstallObjects(client, shipped, { keepData: false, dryRun: false });
    await begin('1.0.0');
    assert.equal(await remove('1.1.0'), 'gone', 'in use before, and not any more');
    await uninstallObjects(client, shipped, { keepData: false, dryRun: false });
  });
});

const waitMs = 60_000;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + waitMs; !(await holds()); await systemClock.sleep(100))
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
}
