import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { names } from '../src/api/names.ts';
import type { ClusterVersion } from '../src/api/resources.ts';
import { shippedManifests } from '../src/install/manifests.ts';
import { applyObject } from '../src/kube/apply.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { leaderTiming } from '../src/kube/leader.ts';
import { waitFor } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { run } from '../src/process/run.ts';
import { selfCommand } from '../src/program/self.ts';
import { issue } from '../src/trust/authority.ts';
import { configureNode } from '../src/up/install.ts';
import { createSupervisor } from '../src/up/supervise.ts';
import { makeRelease, type TestRelease, testKey } from './bundles.ts';
import { startTestCluster } from './cluster.ts';
import { included } from './control-plane.ts';
import { planNodes, registryWords, startKubernetes } from './engine/kubernetes.ts';
import { needsRealEngine } from './engine/real.ts';
import { takeNetwork } from './network.ts';
import { repository } from './tier.ts';

/** A cluster with one node of its own process, whose controllers the test starts and ends itself. */
interface Stage {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly nodeDir: string;
  /** The words of a controller of this name. */
  words(name: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** A leader that is told to stop gives its lease back. */
const stoppedMsMax = 5_000;
/** A host under load notices late; on a quiet one it is a tenth of a second. */
const slackMs = 10_000;

const key = testKey();

async function embeddedStage(): Promise<Stage> {
  const cluster = await startTestCluster();
  const { client } = cluster;
  for (const object of shippedManifests('standalone')) await applyObject(client, object);
  await client.create(client.kinds.FleetLockGroup, { metadata: { name: 'default' }, spec: { slots: 1 } });
  await client.create(client.kinds.ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: '8f9c2e4a-6f3a-4b0e-9d0c-1f2e3d4c5b6a' },
  });
  const network = await takeNetwork(names('standalone').registryPort);
  const [node] = planNodes(network, cluster.dir, 1);
  assert.ok(node !== undefined);
  await configureNode(node, { url: 'http://127.0.0.1:9/' });
  writeFileSync(join(node.dir, 'machine-id'), 'a'.repeat(32));
  const files = await writePair(
    cluster,
    node.dir,
    `system:node:${node.name}`,
    ['system:nodes'],
    node.address,
  );
  const controller = await writePair(cluster, join(cluster.dir, 'controller'), 'sluice-controller', [
    'sluice:controllers',
  ]);
  const supervisor = createSupervisor({ program: selfCommand(), clock: systemClock, logger: silentLogger });
  supervisor.start({
    name: 'registry',
    args: () => registryWords(node, files),
    logFile: join(cluster.dir, 'registry.log'),
  });
  const kubeconfig = await cluster.kubeconfigAs(`system:node:${node.name}`, ['system:nodes']);
  supervisor.start({
    name: node.name,
    args: () => [
      ...['node', 'run', '--name', node.name, '--dir', node.dir, '--address', node.address],
      ...['--kubeconfig', kubeconfig, '--ca', files.ca, '--cert', files.cert, '--key', files.key],
      ...['--config-dir', node.config, '--workload', 'none', '--os-driver', 'simulated', '--boot-id', 'b'],
    ],
    logFile: join(cluster.dir, 'node.log'),
  });
  return {
    client,
    kubeconfig: cluster.kubeconfig,
    nodeDir: node.dir,
    words: async () => [
      ...['--kubeconfig', await cluster.kubeconfigAs('sluice-controller', ['sluice:controllers'])],
      ...['--ca', controller.ca, '--cert', controller.cert, '--key', controller.key],
    ],
    async close() {
      await supervisor.stop();
      await network.release();
      await cluster.close();
    },
  };
}

async function writePair(
  cluster: { authority: Parameters<typeof issue>[0]; caPem: string },
  dir: string,
  commonName: string,
  organizations: string[],
  address?: string,
) {
  mkdirSync(dir, { recursive: true });
  const pair = await issue(cluster.authority, {
    commonName,
    organizations,
    dnsNames: [names('standalone').apiInt],
    ...(address === undefined ? {} : { ipAddresses: [address] }),
    usage: 'both',
  });
  const at = (name: string) => join(dir, name);
  writeFileSync(at('ca.crt'), cluster.caPem);
  writeFileSync(at('tls.crt'), pair.certPem);
  writeFileSync(at('tls.key'), pair.keyPem);
  return { ca: at('ca.crt'), cert: at('tls.crt'), key: at('tls.key') };
}

async function realStage(): Promise<Stage> {
  // One controller of its own makes the certificates that the node needs; then it goes.
  const cluster = await startKubernetes({
    nodes: 1,
    controllers: 1,
    pods: false,
    trustedKeys: { 'test.pub': key.pair.publicPem },
  });
  await cluster.endControllers();
  const [node] = cluster.nodes;
  return {
    client: cluster.client,
    kubeconfig: cluster.kubeconfig,
    nodeDir: node?.dir ?? '',
    words: async (name) => ['--kubeconfig', await cluster.tokenConfig(name, 'sluice-controller')],
    close: cluster.close,
  };
}

const operator = (group: string, version: string) => `apiVersion: ${group}/v1
kind: ClusterOperator
metadata:
  name: slow
  annotations:
    ${included}
spec: {}
status:
  versions:
  - name: operator
    version: ${version}
`;

for (const engine of ['embedded', 'real'] as const) {
  describe(`two controllers, ${engine} engine`, engine === 'real' ? needsRealEngine() : {}, () => {
    let stage: Stage;
    let dir: string;
    const releases = new Map<string, TestRelease>();
    const running = new Map<string, ChildProcess>();

    before(async () => {
      dir = mkdtempSync(join(tmpdir(), 'sluice-leader-'));
      stage = await (engine === 'real' ? realStage() : embeddedStage());
      const { client } = stage;
      const { group } = client.kinds.ClusterOperator;
      for (const [version, previous] of [
        ['1.0.0', []],
        ['1.1.0', ['1.0.0']],
      ] as const) {
        const manifests = { slow: { '0000_30_slow_00_operator.yaml': operator(group, version) } };
        releases.set(
          version,
          await makeRelease({ version, previous: [...previous], dir, key: key.pair, manifests }),
        );
      }
      const { trustedKeys: name, configNamespace: namespace } = names(client.platform);
      await applyObject(client, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: { 'test.pub': key.pair.publicPem },
      } as Parameters<typeof applyObject>[1]);
      await Promise.all([startController('a'), startController('b')]);
      await leader();
      await waitFor(
        client,
        client.kinds.NodeUpdate,
        'master-0',
        (update) => update?.status?.driver !== undefined,
        { timeoutMs: 60_000 },
      );
      for (const version of ['1.0.0', '1.1.0']) {
        const socket = ['--socket', join(stage.nodeDir, 'run', 'node.sock')];
        await sluice('media', 'attach', releases.get(version)?.path ?? '', ...socket);
        await sluice('release', 'add', version, '--wait', '--timeout', '60s');
      }
      await sluice('upgrade', '--to', '1.0.0', '--no-wait');
      await untilVersion(({ history: [newest] = [] }) => newest?.version === '1.0.0');
      await report('1.0.0');
      await untilVersion(({ history: [newest] = [] }) => newest?.state === 'Completed');
    });
    after(async () => {
      for (const child of running.values()) child.kill('SIGKILL');
      await stage?.close();
      rmSync(dir, { recursive: true, force: true });
    });

    async function sluice(...words: string[]): Promise<void> {
      const result = await run(join(repository, 'sluice'), words, {
        timeoutMs: 120_000,
        env: { ...process.env, KUBECONFIG: stage.kubeconfig },
      });
      assert.equal(result.code, 0, `sluice ${words.join(' ')}: ${result.stdout}${result.stderr}`);
    }

    /** Resolves when it leads or stands by. */
    async function startController(name: string): Promise<void> {
      const path = join(dir, `${name}.log`);
      const before = existsSync(path) ? readFileSync(path, 'utf8').length : 0;
      const [program, ...flags] = selfCommand();
      const log = openSync(path, 'a');
      const words = ['controller', '--identity', name, ...(await stage.words(name))];
      running.set(name, spawn(program, [...flags, ...words], { stdio: ['ignore', log, log] }));
      closeSync(log);
      while (!/leading|standing by/.test(readFileSync(path, 'utf8').slice(before))) {
        assert.equal(child(name).exitCode, null, logs());
        await systemClock.sleep(50);
      }
    }

    const leaseSpec = async () => {
      const { kinds, platform } = stage.client;
      const { clusterVersionNamespace } = names(platform);
      return (await stage.client.tryGet(kinds.Lease, 'sluice-controller', clusterVersionNamespace))?.spec;
    };

    /** Who leads, other than `before`; and how long it took. */
    async function leader(before = ''): Promise<{ name: string; ms: number }> {
      const began = systemClock.monotonic();
      for (;;) {
        const holder = (await leaseSpec())?.holderIdentity ?? '';
        const ms = systemClock.monotonic() - began;
        if (holder !== '' && holder !== before && running.has(holder)) return { name: holder, ms };
        assert.ok(ms < 60_000, `nobody but '${before}' leads: ${logs()}`);
        await systemClock.sleep(50);
      }
    }

    const logs = () =>
      ['a', 'b'].map((name) => readFileSync(join(dir, `${name}.log`), 'utf8').slice(-1500)).join('\n');

    /** As the operator of the release would, at its own pace. */
    async function report(version: string): Promise<void> {
      const { client } = stage;
      const kind = client.kinds.ClusterOperator;
      const standing = await waitFor(client, kind, 'slow', (object) => object !== undefined, {
        timeoutMs: 30_000,
      });
      assert.ok(standing !== undefined);
      const time = '2026-01-01T00:00:00Z';
      const condition = (type: string, status: 'True' | 'False') => ({
        type,
        status,
        reason: 'AsExpected',
        message: '',
        lastTransitionTime: time,
      });
      await client.patch(
        kind,
        'slow',
        {
          status: {
            versions: [{ name: 'operator', version }],
            conditions: [
              condition('Available', 'True'),
              condition('Progressing', 'False'),
              condition('Degraded', 'False'),
            ],
          },
        },
        { subresource: 'status' },
      );
    }

    async function untilVersion(
      holds: (status: NonNullable<ClusterVersion['status']>) => boolean,
    ): Promise<void> {
      const { client } = stage;
      await waitFor(
        client,
        client.kinds.ClusterVersion,
        'version',
        (version) => version?.status !== undefined && holds(version.status),
        {
          timeoutMs: 90_000,
          describe: (object) =>
            `${JSON.stringify((object as ClusterVersion | undefined)?.status?.conditions)} ${logs()}`,
        },
      );
    }

    const child = (name: string): ChildProcess => {
      const found = running.get(name);
      assert.ok(found !== undefined, name);
      return found;
    };
    const exited = (process: ChildProcess) =>
      process.exitCode !== null || process.signalCode !== null
        ? Promise.resolve()
        : new Promise<void>((resolve) => process.once('exit', () => resolve()));

    test('a leader that is stopped in the midst of an update is replaced at once; one that is killed, within its lease; the update completes', async (t) => {
      await sluice('upgrade', '--to', '1.1.0', '--no-wait');
      await untilVersion(
        ({ history: [newest] = [] }) => newest?.version === '1.1.0' && newest.state === 'Partial',
      );
      const first = await leader();
      child(first.name).kill('SIGTERM');
      const second = await leader(first.name);
      t.diagnostic(`replaced ${second.ms} ms after it was told to stop`);
      assert.ok(second.ms <= stoppedMsMax, `${second.ms} ms`);
      await exited(child(first.name));
      running.delete(first.name);
      await startController(first.name);
      await untilVersion(({ conditions = [] }) =>
        conditions.some(({ type, message }) => type === 'Progressing' && /slow/.test(message ?? '')),
      );
      child(second.name).kill('SIGKILL');
      const third = await leader(second.name);
      t.diagnostic(`replaced ${third.ms} ms after it was killed`);
      assert.ok(third.ms <= leaderTiming.leaseMs + slackMs, `${third.ms} ms`);
      running.delete(second.name);
      await startController(second.name);
      await report('1.1.0');
      await untilVersion(
        ({ history: [newest] = [] }) => newest?.version === '1.1.0' && newest.state === 'Completed',
      );
    });

    test('a leader that was frozen past its lease writes nothing when it goes on, and ends', async () => {
      const { client } = stage;
      const old = await leader();
      const frozen = child(old.name);
      frozen.kill('SIGSTOP');
      const next = await leader(old.name);
      // Work that the frozen one finds at once when it goes on: it would write this.
      const { inUse, machineConfigNamespace: namespace } = names(client.platform);
      child(next.name).kill('SIGSTOP');
      await client.patch(client.kinds.ConfigMap, inUse, { data: { state: 'Unknown' } }, { namespace });
      const before = (await client.get(client.kinds.ConfigMap, inUse, namespace)).metadata.resourceVersion;
      const transitions = (await leaseSpec())?.leaseTransitions;
      frozen.kill('SIGCONT');
      await exited(frozen);
      const standing = await client.get(client.kinds.ConfigMap, inUse, namespace);
      assert.equal(standing.metadata.resourceVersion, before, 'it wrote after its lease');
      assert.equal((await leaseSpec())?.leaseTransitions, transitions);
      assert.notEqual(frozen.exitCode, 0, 'its supervisor starts it anew');
      assert.match(logs(), /lease lost|the lease could not be renewed in time/);
      running.delete(old.name);
      child(next.name).kill('SIGCONT');
      await startController(old.name);
      // Whoever leads now mends it.
      await waitFor(client, client.kinds.ConfigMap, inUse, (object) => object?.data?.state === 'Known', {
        namespace,
        timeoutMs: 60_000,
      });
    });
  });
}
