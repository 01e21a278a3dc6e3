import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { names } from '../src/api/names.ts';
import type { UpdatePreflight } from '../src/api/resources.ts';
import { buildImage } from '../src/build/image.ts';
import { runClusterControllers } from '../src/cluster/controllers.ts';
import { waitFor, waitForDeletion } from '../src/kube/wait.ts';
import { silentLogger } from '../src/observe/log.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { probeRunner } from '../src/workload/probe.ts';
import { testRepository } from './bundles.ts';
import { buildBase, checkImage } from './check-image.ts';
import { checkManifest } from './check-output.ts';
import { Closing } from './closing.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { busyboxFiles, curlFiles } from './image-registry.ts';
import { type KubeletNode, mirror, nodeName, startKubeletNode } from './kubelet-node.ts';
import { needs } from './tier.ts';

const { clusterVersionNamespace, preflightNamespace } = names('standalone');

/** Reads a setting of the cluster through the API, with its token over verified TLS, and answers in the contract. */
const checkScript = `#!/bin/sh
set -u
account=/var/run/secrets/kubernetes.io/serviceaccount
api() {
  curl -sS --fail --cacert $account/ca.crt -H "Authorization: Bearer $(cat $account/token)" \\
    "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT$1"
}
settings=$(api /api/v1/namespaces/default/configmaps/demo-settings) || exit 1
api /api/v1/namespaces/default/secrets >/dev/null 2>&1 && { echo "may read secrets"; exit 1; }
ls /release-manifests/release-metadata >/dev/null || exit 1
touch /outside 2>/dev/null && { echo "the root is writable"; exit 1; }
touch /tmp/inside || exit 1
risks='[]' code=0
case $settings in *'"mode":"legacy"'*) risks='[{"name":"LegacyMode","message":"mode is legacy"}]' code=3 ;; esac
document="{\\"runID\\":\\"$SLUICE_RUN_ID\\",\\"check\\":\\"$SLUICE_CHECK\\",\\"targetDigest\\":\\"$SLUICE_TARGET_DIGEST\\",\\"message\\":\\"uid $(id -u)\\",\\"risks\\":$risks}"
printf 'SLUICE-RESULT v1 %s %s\\n%s\\n' "$(printf %s "$document" | wc -c)" "$(printf %s "$document" | sha256sum | cut -d' ' -f1)" "$document"
exit $code
`;

/** The check of an operator outside the payload: it needs a driver for the kernel of the target. */
const partnerScript = checkScript
  .replace('demo-settings', 'gpu-drivers')
  .replace(
    /case \$settings in .*/,
    `case $settings in *built*) ;; *) risks='[{"name":"DriverNotBuilt","message":"no driver is built"}]' code=3 ;; esac`,
  );
const partnerImage = 'partner.example/vendor/gpu-check';

describe(
  'checks of a release, in real containers',
  needs('containers', 'docker-registry', 'skopeo', 'busybox'),
  () => {
    let plane: ControlPlane;
    let node: KubeletNode;
    let running: Promise<unknown>;
    const stop = new AbortController();
    const scratch = mkdtempSync(join(tmpdir(), 'sluice-checks-'));

    before(async () => {
      const tools = [...busyboxFiles('wc', 'sha256sum', 'cut', 'cp'), ...(await curlFiles())];
      const base = await buildBase(scratch, tools);
      const check = checkImage(tools, checkScript);
      // An operator outside the payload has its check in the bundle: an image that says by itself what it runs.
      const { files, config } = checkImage(tools, partnerScript);
      await buildImage({
        out: { directory: join(scratch, 'partner'), reference: 'check' },
        files,
        config: { ...config, entrypoint: ['/usr/bin/check'] },
        directoryMode: 0o755,
      });
      const partner = {
        others: new Map([[partnerImage, `oci:${join(scratch, 'partner')}:check`]]),
        roles: new Map([[partnerImage, 'check' as const]]),
      };
      const release = (version: string) => ({
        ...partner,
        version,
        previous: ['1.0.0'],
        base,
        images: { check },
        manifests: { demo: { 'check.yaml': checkManifest('demo-check', { image: 'check' }) } },
      });
      plane = await startControlPlane([{ version: '1.0.0' }, release('1.1.0'), release('1.2.0')], {
        nodes: [],
      });
      const { client, cluster } = plane;
      // The stock registry serves a bundle as it stands on a disk: 1.1.0, and nothing of 1.2.0.
      cpSync(plane.releases.get('1.1.0')?.path ?? '', join(cluster.dir, 'registry', 'data'), {
        recursive: true,
      });
      node = await startKubeletNode(cluster, await probeRunner(join(cluster.dir, 'containers'), 'podman'));
      const labelled = {
        metadata: { labels: { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/os': 'linux' } },
      };
      await client.patch(client.kinds.Node, nodeName, labelled);
      await client.create(client.kinds.NodeUpdate, { metadata: { name: nodeName }, spec: {} });
      for (const version of ['1.1.0', '1.2.0']) await plane.mount(version, nodeName);
      await plane.runs('1.0.0');
      await client.create(client.kinds.ConfigMap, settings('legacy'));
      await client.create(client.kinds.ConfigMap, {
        metadata: { name: 'gpu-drivers', namespace: 'default' },
        data: {},
      });
      await client.create(client.kinds.ImageDigestMirrorSet, {
        metadata: { name: 'releases' },
        spec: {
          imageDigestMirrors: [
            mirror(`${testRepository}/check`, `${node.registry.host}/openshift/release`),
            mirror(partnerImage, `${node.registry.host}/vendor/gpu-check`),
            mirror('release.sluice.internal/openshift', `${node.registry.host}/openshift`),
          ],
        },
      });
      running = Promise.all([
        runClusterControllers({ client, logger: silentLogger, signal: stop.signal, caPem: cluster.caPem }),
        runPreflightController(plane.options(stop.signal)),
      ]);
    });

    after(async () => {
      const closing = new Closing();
      closing.add('the directory', () => rmSync(scratch, { recursive: true, force: true }));
      closing.add('the API', () => plane?.close());
      closing.add('the node', () => node?.close());
      closing.add('the controllers', () => {
        stop.abort();
        return running;
      });
      await closing.close();
    });

    async function look(version: string): Promise<UpdatePreflight> {
      const { client } = plane;
      const kind = client.kinds.UpdatePreflight;
      const name = `look-${version}`;
      await client.create(kind, {
        metadata: { name, namespace: clusterVersionNamespace },
        spec: { version },
      });
      const report = await waitFor(client, kind, name, (object) => object?.status?.finishedAt !== undefined, {
        namespace: clusterVersionNamespace,
        timeoutMs: 90_000,
        describe: (object) => JSON.stringify((object as UpdatePreflight | undefined)?.status),
      });
      assert.ok(report !== undefined);
      await client.delete(kind, name, { namespace: clusterVersionNamespace });
      await waitForDeletion(client, kind, name, { namespace: clusterVersionNamespace, timeoutMs: 10_000 });
      const { items } = await client.list(client.kinds.Job, { namespace: preflightNamespace });
      assert.deepEqual(
        items.map((job) => job.metadata.name),
        [],
        'nothing of the run is left',
      );
      return report;
    }

    const checkRow = (report: UpdatePreflight, component = 'demo') =>
      report.status?.checks?.filter((row) => row.component === component);

    test('a check reads the cluster with a token that can only read, and finds a real problem', async () => {
      const report = await look('1.1.0');
      assert.equal(report.status?.verdict, 'Blocked', JSON.stringify(report.status?.checks));
      assert.deepEqual(
        checkRow(report)?.map((row) => [row.name, row.result, row.message]),
        [['LegacyMode', 'Risk', 'mode is legacy']],
      );
      assert.deepEqual(
        checkRow(report, 'gpu-check')?.map((row) => [row.name, row.result, row.message]),
        [['DriverNotBuilt', 'Risk', 'no driver is built']],
        'the check image of the bundle, of an operator outside the payload',
      );
    });

    test('the setting is mended, and the check passes, as a user that is nobody', async () => {
      const { client } = plane;
      const { data } = settings('modern');
      await client.patch(client.kinds.ConfigMap, 'demo-settings', { data }, { namespace: 'default' });
      const drivers = { data: { 'kernel-6': 'built' } };
      await client.patch(client.kinds.ConfigMap, 'gpu-drivers', drivers, { namespace: 'default' });
      const report = await look('1.1.0');
      assert.equal(report.status?.verdict, 'Passed', JSON.stringify(report.status?.checks));
      assert.deepEqual(
        checkRow(report)?.map((row) => [row.name, row.result, row.message]),
        [['DemoCheck', 'Passed', 'uid 65532']],
      );
      assert.deepEqual(
        checkRow(report, 'gpu-check')?.map((row) => [row.name, row.result]),
        [['GpuCheck', 'Passed']],
      );
    });

    test('a check image that cannot be pulled is an Error in the words of the cluster, and no pass', async () => {
      const report = await look('1.2.0');
      assert.equal(report.status?.verdict, 'Incomplete', JSON.stringify(report.status?.checks));
      const [row] = checkRow(report) ?? [];
      assert.deepEqual([row?.name, row?.result, row?.reason], ['DemoCheck', 'Error', 'ImagePullFailed']);
      assert.match(row?.message ?? '', /manifest unknown|has no manifest/);
    });
  },
);

function settings(mode: string) {
  return { metadata: { name: 'demo-settings', namespace: 'default' }, data: { mode } };
}
