import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AnyObject } from '../src/api/core.ts';
import { names } from '../src/api/names.ts';
import type { UpdatePreflight } from '../src/api/resources.ts';
import type { ImageFile } from '../src/build/image.ts';
import { runClusterControllers } from '../src/cluster/controllers.ts';
import { implicitName } from '../src/gates/run-request.ts';
import { waitFor } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { probeRunner } from '../src/workload/probe.ts';
import { testRepository } from './bundles.ts';
import { buildBase, checkImage } from './check-image.ts';
import { checkManifest } from './check-output.ts';
import {
  type ControlPlane,
  included,
  readVersion,
  startControlPlane,
  untilVersion,
} from './control-plane.ts';
import { busyboxFiles, curlFiles } from './image-registry.ts';
import { type KubeletNode, mirror, nodeName, startKubeletNode } from './kubelet-node.ts';
import { needs, repository } from './tier.ts';

const { clusterVersionNamespace } = names('standalone');

/**
 * The four user stories of the enhancement that preflights come from, and its case of hardware enablement: each is a
 * check that the target release ships, here one image that looks at what its name says.
 */
const checkScript = `#!/bin/sh
set -u
account=/var/run/secrets/kubernetes.io/serviceaccount
get() {
  curl -sS --fail --cacert $account/ca.crt -H "Authorization: Bearer $(cat $account/token)" \\
    "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT$1"
}
field() { tr -d '\\n ' | sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }
name= message=
risk() { name=$1 message=$2; }
case $SLUICE_CHECK in
credentials-check) # Story 1: the new release needs a permission that the stored credentials may lack.
  granted=$(get /api/v1/namespaces/kube-system/secrets/cloud-credentials | field permissions | base64 -d) || exit 1
  case ,$granted, in *,iam:TagRole,*) ;; *) risk CredentialsLackTagRole "the cloud credentials do not allow iam:TagRole" ;; esac ;;
ingress-check) # Story 2: the new operand's TLS library rejects keys that the old one accepted.
  get /api/v1/namespaces/openshift-ingress/secrets/router-certs | field tls.crt | base64 -d > /tmp/crt || exit 1
  bits=$(openssl x509 -in /tmp/crt -noout -text | sed -n 's/.*Public-Key: (\\([0-9]*\\) bit).*/\\1/p')
  [ "$bits" -ge 2048 ] || risk RouterKeyTooShort "the default certificate has a key of $bits bits, and 2048 are needed" ;;
ignition-check) # Story 3: configurations in a format that the new release no longer reads.
  left=$(get /apis/machineconfiguration.openshift.io/v1/machineconfigs | tr '{' '\\n' | grep -c '"version": *"2\\.')
  [ "$left" -eq 0 ] || risk IgnitionTwoLeft "$left MachineConfigs are in Ignition 2" ;;
foo-check) # Story 4: in the middle of A to B the target becomes C; only C knows that foo must not skip B.
  at=$(get /apis/config.openshift.io/v1/clusteroperators/foo | field version) || exit 1
  [ "$at" != 0.9.0 ] || risk FooSkipsRelease "operator foo is still at $at, and $SLUICE_TARGET_VERSION reads only what 1.0.0 wrote" ;;
driver-check) # Hardware enablement: a driver for the kernel of the target, asked before anything is changed.
  get /api/v1/namespaces/drivers/configmaps/built | grep -q "\\"kernel-$SLUICE_KERNEL\\"" ||
    risk DriverNotBuilt "no driver is built for kernel $SLUICE_KERNEL ($SLUICE_OS_VERSION)" ;;
*) exit 1 ;;
esac
risks='[]' code=0
[ -z "$name" ] || { risks="[{\\"name\\":\\"$name\\",\\"message\\":\\"$message\\"}]"; code=3; }
document="{\\"runID\\":\\"$SLUICE_RUN_ID\\",\\"check\\":\\"$SLUICE_CHECK\\",\\"targetDigest\\":\\"$SLUICE_TARGET_DIGEST\\",\\"message\\":\\"looked\\",\\"risks\\":$risks}"
printf 'SLUICE-RESULT v1 %s %s\\n%s\\n' "$(printf %s "$document" | wc -c)" "$(printf %s "$document" | sha256sum | cut -d' ' -f1)" "$document"
exit $code
`;

const manifest = (name: string, reads?: string) =>
  checkManifest(name, { image: 'check', ...(reads === undefined ? {} : { reads }) });

const stories = {
  credentials: { 'check.yaml': manifest('credentials-check', '/secrets/kube-system/cloud-credentials') },
  ingress: { 'check.yaml': manifest('ingress-check', '/secrets/openshift-ingress/router-certs') },
  ignition: { 'check.yaml': manifest('ignition-check') },
  foo: { 'check.yaml': manifest('foo-check') },
  driver: {
    'check.yaml': manifest('driver-check'),
    'after.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: updated
  namespace: default
  annotations:
    ${included}
`,
  },
};

async function checkFiles(): Promise<ImageFile[]> {
  return [
    ...busyboxFiles('wc', 'sha256sum', 'cut', 'cp', 'tr', 'sed', 'grep', 'base64', '[', 'test'),
    ...(await curlFiles('/usr/bin/openssl')),
    { path: '/usr/lib/ssl/openssl.cnf', data: '' },
    { path: '/etc/ssl/openssl.cnf', data: '' },
  ];
}

describe(
  'the user stories, end to end in real containers',
  needs('containers', 'docker-registry', 'skopeo', 'busybox'),
  () => {
    let plane: ControlPlane;
    let node: KubeletNode;
    let running: Promise<unknown>;
    const stop = new AbortController();
    const scratch = mkdtempSync(join(tmpdir(), 'sluice-stories-'));

    before(async () => {
      const tools = await checkFiles();
      const base = await buildBase(scratch, tools);
      const check = checkImage(tools, checkScript);
      const os = {
        config: { labels: { 'ostree.linux': '6.12.0-55.el10', 'org.opencontainers.image.version': '10.1' } },
      };
      const release = (version: string, previous: string[]) => ({
        version,
        previous,
        base,
        images: { check, 'node-os': os },
        manifests: stories,
      });
      plane = await startControlPlane(
        [
          { version: '1.0.0' },
          release('1.1.0', ['1.0.0']),
          release('1.1.1', ['1.0.0', '1.1.0']),
          release('1.2.0', ['1.0.0']),
        ],
        { nodes: [] },
      );
      const { client, cluster } = plane;
      for (const version of ['1.1.0', '1.1.1']) {
        cpSync(plane.releases.get(version)?.path ?? '', join(cluster.dir, 'registry', 'data'), {
          recursive: true,
        });
      }
      node = await startKubeletNode(cluster, await probeRunner(join(cluster.dir, 'containers'), 'podman'));
      const labels = { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/os': 'linux' };
      await client.patch(client.kinds.Node, nodeName, { metadata: { labels } });
      const update = await client.create(client.kinds.NodeUpdate, { metadata: { name: nodeName }, spec: {} });
      const store = ['1.1.0', '1.1.1', '1.2.0'].map((version) => {
        const of = plane.releases.get(version);
        return { name: of?.name ?? '', bundleDigest: of?.digest ?? '', version, payload: of?.payload ?? '' };
      });
      await client.updateStatus(client.kinds.NodeUpdate, { ...update, status: { store } });
      await plane.hold('1.1.0');
      await plane.hold('1.1.1');
      await plane.hold('1.2.0');
      await plane.runs('1.0.0');
      await client.create(client.kinds.ImageDigestMirrorSet, {
        metadata: { name: 'releases' },
        spec: {
          imageDigestMirrors: [
            mirror(`${testRepository}/check`, `${node.registry.host}/openshift/release`),
            mirror('release.sluice.internal/openshift', `${node.registry.host}/openshift`),
          ],
        },
      });
      await makeCluster();
      const options = plane.options(stop.signal);
      running = Promise.all([
        runClusterControllers({ client, logger: silentLogger, signal: stop.signal, caPem: cluster.caPem }),
        runPreflightController(options),
        runUpdateController(options),
        heartbeat(),
      ]);
    });

    /** The node says that it lives, as its agent would. */
    async function heartbeat(): Promise<void> {
      const { client } = plane;
      const namespace = 'kube-node-lease';
      const spec = () => ({
        holderIdentity: nodeName,
        leaseDurationSeconds: 40,
        renewTime: new Date().toISOString().replace('Z', '000Z'),
      });
      await client.create(client.kinds.Lease, { metadata: { name: nodeName, namespace }, spec: spec() });
      while (!stop.signal.aborted) {
        await client.patch(client.kinds.Lease, nodeName, { spec: spec() }, { namespace }).catch(() => {});
        await systemClock.sleep(5000, stop.signal);
      }
    }

    after(async () => {
      stop.abort();
      await running;
      await node?.close();
      await plane?.close();
      rmSync(scratch, { recursive: true, force: true });
    });

    /** A cluster in which every story goes wrong. */
    async function makeCluster(): Promise<void> {
      const { client } = plane;
      const { kinds } = client;
      for (const name of ['openshift-ingress', 'drivers'])
        await client.create(kinds.Namespace, { metadata: { name } });
      await client.create(
        kinds.Secret,
        secret('kube-system', 'cloud-credentials', { permissions: 'ec2:RunInstances' }),
      );
      await client.create(
        kinds.Secret,
        secret('openshift-ingress', 'router-certs', { 'tls.crt': await certificate(1024) }),
      );
      await client.create(kinds.CustomResourceDefinition, machineConfigs as never);
      await machineConfig('2.2.0');
      const operator = await client.create(kinds.ClusterOperator, { metadata: { name: 'foo' }, spec: {} });
      await client.updateStatus(kinds.ClusterOperator, {
        ...operator,
        status: { versions: [{ name: 'operator', version: '0.9.0' }] },
      });
      await client.create(kinds.ConfigMap, {
        metadata: { name: 'built', namespace: 'drivers' },
        data: { 'kernel-6.6.0-1.el9': 'gpu' },
      });
    }

    async function machineConfig(version: string): Promise<void> {
      const { client } = plane;
      for (let tries = 0; ; tries += 1) {
        const kind = await client.resolveKind('machineconfiguration.openshift.io/v1', 'MachineConfig');
        if (kind !== undefined) {
          await client.delete(kind, '50-old');
          await client.create(kind, {
            metadata: { name: '50-old' },
            spec: { config: { ignition: { version } } },
          } as never);
          return;
        }
        assert.ok(tries < 100);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }

    async function sluice(words: string[], exit: number) {
      const { code, stdout, stderr } = await run(
        join(repository, 'sluice'),
        [...words, '--kubeconfig', plane.cluster.kubeconfig],
        { timeoutMs: 180_000, env: { ...process.env, NO_COLOR: '1' } },
      );
      assert.equal(code, exit, `${stdout}${stderr}`);
      return { stdout, stderr };
    }

    async function found(version: string): Promise<Record<string, string>> {
      const name = implicitName(plane.releases.get(version)?.payload ?? '');
      const object = await plane.client.get<UpdatePreflight>(
        plane.client.kinds.UpdatePreflight,
        name,
        clusterVersionNamespace,
      );
      const rows = (object.status?.checks ?? []).filter(
        (row) => row.component !== undefined && row.job !== undefined,
      );
      return Object.fromEntries(rows.map((row) => [row.name, row.message ?? '']));
    }

    test('an upgrade --dry-run finds what every story is about, and changes nothing but what is its own', async () => {
      const before = await settled(plane);
      const { stdout } = await sluice(['upgrade', '--to', '1.1.0', '--dry-run'], 3);
      assert.match(stdout, /^BLOCKED: 5 unaccepted risks/m);
      assert.deepEqual(await found('1.1.0'), {
        CredentialsLackTagRole: 'the cloud credentials do not allow iam:TagRole',
        RouterKeyTooShort: 'the default certificate has a key of 1024 bits, and 2048 are needed',
        IgnitionTwoLeft: '1 MachineConfigs are in Ignition 2',
        FooSkipsRelease: 'operator foo is still at 0.9.0, and 1.1.0 reads only what 1.0.0 wrote',
        DriverNotBuilt: 'no driver is built for kernel 6.12.0-55.el10 (10.1)',
      });
      assert.deepEqual(await everything(plane), before);
    });

    test('the upgrade itself is refused with every one of them', async () => {
      const { stdout } = await sluice(['upgrade', '--to', '1.1.0'], 3);
      for (const name of Object.keys(await found('1.1.0')))
        assert.match(stdout, new RegExp(`^${name} +preflight `, 'm'));
      assert.equal((await readVersion(plane.client))?.status?.history?.length, 1);
      await sluice(['upgrade', 'clear'], 0);
    });

    test('each is mended in the cluster that runs, nothing else, and the upgrade is let through', async () => {
      const { client } = plane;
      const { kinds } = client;
      const replace = async (object: ReturnType<typeof secret>) => {
        const { name, namespace } = object.metadata;
        await client.patch(kinds.Secret, name, { data: object.data }, { namespace });
      };
      await replace(
        secret('kube-system', 'cloud-credentials', { permissions: 'ec2:RunInstances,iam:TagRole' }),
      );
      await replace(secret('openshift-ingress', 'router-certs', { 'tls.crt': await certificate(2048) }));
      await machineConfig('3.4.0');
      const operator = await client.get(kinds.ClusterOperator, 'foo');
      await client.updateStatus(kinds.ClusterOperator, {
        ...operator,
        status: { ...operator.status, versions: [{ name: 'operator', version: '1.0.0' }] },
      });
      const built = { data: { 'kernel-6.12.0-55.el10': 'gpu' } };
      await client.patch(kinds.ConfigMap, 'built', built, { namespace: 'drivers' });
      const { stdout } = await sluice(['upgrade', '--to', '1.1.0', '--dry-run'], 0);
      assert.match(stdout, /^PASSED: /m);
    });

    test('P-16 a check image that cannot be pulled refuses the upgrade, in the words of the registry', async () => {
      const { stdout } = await sluice(['upgrade', '--to', '1.2.0'], 3);
      assert.match(stdout, /The update to 1\.2\.0 is refused: /);
      assert.match(
        stdout,
        /^CredentialsCheck +preflight +credentials: .*(?:manifest unknown|has no manifest)/m,
      );
      // Accepting does not help: what was not looked at is not known.
      await sluice(
        ['upgrade', 'accept', 'CredentialsCheck,IngressCheck,IgnitionCheck,FooCheck,DriverCheck'],
        0,
      );
      await sluice(['upgrade', '--to', '1.2.0'], 3);
    });

    test('story 4: in the middle of the refused request the target becomes another, which goes through', async () => {
      await sluice(['upgrade', '--to', '1.1.0', '--no-wait'], 0);
      await untilVersion(
        plane.client,
        '1.1.0 to begin',
        (version) => version.status?.desired.version === '1.1.0',
      );
      await waitFor(plane.client, plane.client.kinds.ConfigMap, 'updated', (object) => object !== undefined, {
        namespace: 'default',
        timeoutMs: 30_000,
      });
    });

    test('story 4: in mid-update the target becomes a third release, whose own checks see the true state', async () => {
      const { client } = plane;
      const foo = async (version: string) => {
        const operator = await client.get(client.kinds.ClusterOperator, 'foo');
        const status = { ...operator.status, versions: [{ name: 'operator', version }] };
        await client.updateStatus(client.kinds.ClusterOperator, { ...operator, status });
      };
      // foo has not come along to 1.1.0: only the release that is asked for now knows what that means for it.
      await foo('0.9.0');
      const { stdout } = await sluice(['upgrade', '--to', '1.1.1'], 3);
      assert.match(
        stdout,
        /^FooSkipsRelease +preflight +foo: operator foo is still at 0\.9\.0, and 1\.1\.1 reads/m,
      );
      const refused = await readVersion(client);
      assert.equal(refused?.status?.desired.version, '1.1.0', 'what was begun goes on');
      assert.match(
        (await sluice(['upgrade', 'status'], 0)).stdout,
        /An update is in progress\.[\s\S]*The update to 1\.1\.1 is refused[\s\S]*Target Version: +1\.1\.0 \(from 1\.0\.0\)/,
      );
      // It comes along; looked at again, the standing request goes through by itself.
      await foo('1.0.0');
      assert.match((await sluice(['preflight', 'run', '--to', '1.1.1'], 0)).stdout, /^PASSED: /m);
      await untilVersion(client, '1.1.1 to begin', (version) => version.status?.desired.version === '1.1.1');
      const history = (await readVersion(client))?.status?.history ?? [];
      assert.deepEqual(
        history.map((entry) => [entry.version, entry.state, entry.completionTime !== null]),
        [
          ['1.1.1', 'Partial', false],
          ['1.1.0', 'Partial', true],
          ['1.0.0', 'Completed', true],
        ],
      );
      assert.match(
        (await sluice(['upgrade', 'status'], 0)).stdout,
        /Target Version: +1\.1\.1 \(from incomplete 1\.1\.0\)/,
      );
      const further = await sluice(['upgrade', '--to', '1.2.0'], 3);
      assert.match(further.stdout, /^ClusterVersionUpdating +edge /m, 'a further minor version has to wait');
      await sluice(['upgrade', 'clear'], 0);
    });
  },
);

function secret(namespace: string, name: string, data: Record<string, string>) {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return { metadata: { name, namespace }, data: Object.fromEntries(encoded) as Record<string, string> };
}

async function certificate(bits: number): Promise<string> {
  const words = [
    'req',
    '-x509',
    '-newkey',
    `rsa:${bits}`,
    '-nodes',
    '-keyout',
    '/dev/null',
    '-subj',
    '/CN=router',
  ];
  return (await runOrThrow('openssl', [...words, '-days', '365'])).stdout;
}

const machineConfigs: AnyObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'machineconfigs.machineconfiguration.openshift.io' },
  spec: {
    group: 'machineconfiguration.openshift.io',
    scope: 'Cluster',
    names: {
      kind: 'MachineConfig',
      plural: 'machineconfigs',
      singular: 'machineconfig',
      listKind: 'MachineConfigList',
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/** The objects once nothing changes any more: a cluster that has just begun makes its own. */
async function settled(plane: ControlPlane): Promise<Record<string, string>> {
  let last = await everything(plane);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const next = await everything(plane);
    if (JSON.stringify(next) === JSON.stringify(last)) return next;
    last = next;
  }
}

/** Every object of the cluster by its path and version, but for a preflight's own, Events, Leases and Pods' deaths. */
async function everything(plane: ControlPlane): Promise<Record<string, string>> {
  const { client } = plane;
  const { preflightNamespace } = names('standalone');
  const own = new Set(['events', 'leases', 'updatepreflights']);
  const found: Record<string, string> = {};
  const groups = (await client.raw({ path: '/apis' })) as {
    groups: { preferredVersion: { groupVersion: string } }[];
  };
  const paths = ['/api/v1', ...groups.groups.map((group) => `/apis/${group.preferredVersion.groupVersion}`)];
  for (const path of paths) {
    const { resources } = (await client.raw({ path })) as { resources: { name: string; verbs: string[] }[] };
    for (const { name, verbs } of resources) {
      if (name.includes('/') || !verbs.includes('list') || own.has(name)) continue;
      const { items } = (await client.raw({ path: `${path}/${name}` })) as {
        items: { metadata: { name: string; namespace?: string; resourceVersion: string } }[];
      };
      for (const { metadata } of items) {
        if (metadata.namespace === preflightNamespace) continue;
        // The node's agent tells that it lives.
        if (name === 'nodes') continue;
        found[`${name}/${metadata.namespace ?? ''}/${metadata.name}`] = metadata.resourceVersion;
      }
    }
  }
  return found;
}
