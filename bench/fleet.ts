/**
 * A fleet on a real kube-apiserver: 3 control-plane and many worker nodes that are only told of, one release added, one
 * update that gives every node a new operating system. The controller is the shipped command with the shipped rights.
 * Prints its memory, its requests to the API (from the API server's audit log), what it writes at rest, and how long it
 * takes from the word of one node to what follows from it. `--workers N,N` (each size is a cluster of its own), `--rest
 * SECONDS`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { AnyObject } from '../src/api/core.ts';
import { labels, names } from '../src/api/names.ts';
import type { ClusterVersion, NodeUpdate } from '../src/api/resources.ts';
import { applyObject } from '../src/kube/apply.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { createInformer } from '../src/kube/informer.ts';
import { waitFor } from '../src/kube/wait.ts';
import { silentLogger } from '../src/observe/log.ts';
import { run } from '../src/process/run.ts';
import { rulesConfigMap } from '../src/rollout/rules.ts';
import { makeRelease, type TestRelease, testKey } from '../tests/bundles.ts';
import { type KubernetesCluster, startKubernetes } from '../tests/engine/kubernetes.ts';
import { repository } from '../tests/tier.ts';
import { cpuSeconds, keep, median, memoryOf, say } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    workers: { type: 'string', default: '500,1000,2000' },
    rest: { type: 'string', default: '60' },
  },
});
const restMs = Number(options.rest) * 1000;
/** Rest begins when it has written nothing for so long; where it never does, that is what is then shown. */
const settleMs = 15_000;
const settleMsMax = 120_000;
const goals = { rssMiB: 250, medianMs: 300 };
const where = names('kubernetes');
const controllerUser = 'system:serviceaccount:sluice-system:sluice-controller';
/** Workers that may be away at once: without it they would go one after another for hours. */
const workersAtOnce = 50;
/** Objects made at once; more only wait in the API server. */
const makersMax = 32;

interface Result {
  readonly workers: number;
  readonly rssMiB: number;
  readonly peakMiB: number;
  readonly updateSeconds: number;
  readonly requests: number;
  readonly writesAtRest: Readonly<Record<string, number>>;
  /** Of one core. */
  readonly cpuAtRest: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly reactions: number;
}

const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-bench-fleet-'));
const key = testKey();
const osImage = (version: string) => ({
  files: [{ path: '/etc/os', data: version }],
  config: { labels: { 'ostree.linux': '6.1.0', 'org.opencontainers.image.version': version } },
});
const releases = new Map<string, TestRelease>();
for (const [version, previous] of [
  ['1.0.0', []],
  ['1.1.0', ['1.0.0']],
] as const) {
  const images = { 'node-os': osImage(version) };
  releases.set(version, await makeRelease({ version, previous: [...previous], dir, key: key.pair, images }));
}

/** Plays a fleet of nodes: whatever image one is given, it stages and boots at once, and says so. */
function playNodes(client: KubeClient, signal: AbortSignal) {
  const kind = client.kinds.NodeUpdate;
  const updates = createInformer<NodeUpdate>(client, kind, { logger: silentLogger, signal });
  /** By node, when its last word was written. */
  const said: number[] = [];
  const reactions: number[] = [];
  let open = 0;
  updates.onChange(({ type, object }) => {
    const { name } = object.metadata;
    const wanted = object.spec.osImage;
    if (type === 'deleted' || wanted === undefined || !name.startsWith('worker-')) return;
    if (object.status?.booted?.image === wanted) return;
    // The controller has just given this node its image: it follows from the word of one that was done before it.
    const word = said.shift();
    if (word !== undefined) reactions.push(performance.now() - word);
    open += 1;
    void boot(name, wanted).finally(() => {
      open -= 1;
    });
  });
  async function boot(name: string, image: string): Promise<void> {
    const version = image.slice(-12);
    await client.patch(
      kind,
      name,
      { status: { agent, state: 'Idle', booted: { image, version }, holds: [] } },
      { subresource: 'status' },
    );
    said.push(performance.now());
  }
  updates.start();
  return { reactions, open: () => open };
}

const agent = '0.1.0';
/** As many as a kubelet names, with a digest and a tag each. */
const nodeImages = Array.from({ length: 50 }, (_, index) => ({
  names: [
    `registry.example.org/platform/component-${index}@sha256:${String(index).padStart(64, '0')}`,
    `registry.example.org/platform/component-${index}:v1.34.4`,
  ],
  sizeBytes: 100_000_000 + index,
}));

async function makeWorkers(client: KubeClient, count: number): Promise<void> {
  const { kinds } = client;
  let next = 0;
  const maker = async () => {
    for (let index = next++; index < count; index = next++) {
      const name = `worker-${String(index).padStart(4, '0')}`;
      const id = randomBytes(16).toString('hex');
      await client.create(kinds.Node, {
        metadata: { name, labels: { [labels.hostname]: name, 'kubernetes.io/os': 'linux' } },
      });
      const status = {
        addresses: [{ type: 'InternalIP', address: `10.1.${index >> 8}.${index & 255}` }],
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }],
        images: nodeImages,
        nodeInfo: {
          machineID: id,
          systemUUID: id,
          bootID: id,
          kernelVersion: '6.1',
          osImage: 'played',
          containerRuntimeVersion: 'x://1',
          kubeletVersion: 'v1.34.4',
          kubeProxyVersion: '',
          operatingSystem: 'linux',
          architecture: 'amd64',
        },
      };
      await client.patch(kinds.Node, name, { status }, { subresource: 'status' });
      await client.create(kinds.NodeUpdate, { metadata: { name }, spec: {} });
      await client.patch(
        kinds.NodeUpdate,
        name,
        { status: { agent, state: 'Idle', bootID: id } },
        { subresource: 'status' },
      );
    }
  };
  await Promise.all(Array.from({ length: makersMax }, maker));
}

interface Request {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly requestReceivedTimestamp: string;
}

/** Requests of the controller since a time, from the audit log. */
function requestsSince(cluster: KubernetesCluster, since: Date): Request[] {
  return readFileSync(join(cluster.real.dir, 'audit.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes(controllerUser))
    .map((line) => JSON.parse(line) as Request)
    .filter(
      (each) => each.user.username === controllerUser && new Date(each.requestReceivedTimestamp) >= since,
    );
}

const leaseWrite = 'update leases';

/** Its writes since a time, by verb and resource. */
function writesSince(cluster: KubernetesCluster, since: Date): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, objectRef } of requestsSince(cluster, since)) {
    if (['get', 'list', 'watch'].includes(verb)) continue;
    const what = `${verb} ${objectRef?.resource ?? ''}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

const peakMiB = (pid: number) =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;

async function measure(workers: number): Promise<Result> {
  const cluster = await startKubernetes({
    nodes: 3,
    controllers: 1,
    pods: false,
    audit: true,
    silentNodes: true,
    trustedKeys: { 'test.pub': key.pair.publicPem },
  });
  const stop = new AbortController();
  const sluice = async (...words: string[]) => {
    const result = await run(join(repository, 'sluice'), words, {
      timeoutMs: 600_000,
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
    });
    // A gate that is still looking lets the request through by itself a moment later.
    const isRefused = words[0] === 'upgrade' && result.code === 3;
    if (result.code !== 0 && !isRefused)
      throw new Error(`sluice ${words.join(' ')}: ${result.stderr}${result.stdout}`);
  };
  try {
    const { client } = cluster;
    await applyObject(client, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: rulesConfigMap, namespace: where.configNamespace },
      data: { worker: `maxUnavailable: ${workersAtOnce}\ncanaries: 1\n` },
    } as AnyObject);
    const nodes = playNodes(client, stop.signal);
    for (const { name } of cluster.nodes) {
      await waitFor(client, client.kinds.NodeUpdate, name, (each) => each?.status?.driver !== undefined, {
        timeoutMs: 60_000,
      });
    }
    const first = cluster.nodes[0]?.name ?? '';
    const to = async (version: string) => {
      await sluice('media', 'attach', releases.get(version)?.path ?? '', '--node', first);
      await sluice('release', 'add', version, '--wait', '--timeout', '5m');
      await sluice('upgrade', '--to', version, '--no-wait');
      await waitFor(
        client,
        client.kinds.ClusterVersion,
        where.clusterVersion,
        (each) =>
          each?.status?.history?.[0]?.version === version && each.status.history[0].state === 'Completed',
        {
          timeoutMs: 1_800_000,
          describe: (each) => JSON.stringify((each as ClusterVersion | undefined)?.status?.conditions),
        },
      );
    };
    // The control plane is held by its marker file; the window lets it go.
    await sluice(
      'window',
      'open',
      '--until',
      '12h',
      '--nodes',
      cluster.nodes.map(({ name }) => name).join(','),
    );
    await to('1.0.0');
    await makeWorkers(client, workers);
    const began = new Date();
    await to('1.1.0');
    const updateSeconds = (Date.now() - began.getTime()) / 1000;
    const requests = requestsSince(cluster, began).length;
    // The last words of the update, its signed report for one, are no rest yet; on a busy machine they take their time.
    const settledBy = Date.now() + settleMsMax;
    for (let since = new Date(); Date.now() < settledBy; since = new Date()) {
      await sleep(settleMs);
      if (Object.keys(writesSince(cluster, since)).every((what) => what === leaseWrite)) break;
    }
    const pid = cluster.pids()['controller-0'] ?? 0;
    const cpu = cpuSeconds(pid);
    const rested = new Date();
    await sleep(restMs);
    const writesAtRest = writesSince(cluster, rested);
    const cpuAtRest = (cpuSeconds(pid) - cpu) / (restMs / 1000);
    const sorted = nodes.reactions.toSorted((a, b) => a - b);
    return {
      workers,
      rssMiB: memoryOf(pid).rssMiB,
      peakMiB: peakMiB(pid),
      updateSeconds,
      requests,
      writesAtRest,
      cpuAtRest,
      medianMs: median(sorted),
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      reactions: sorted.length,
    };
  } finally {
    stop.abort();
    await cluster.close();
  }
}

const results: Result[] = [];
try {
  for (const size of options.workers.split(',')) {
    const result = await measure(Number(size));
    results.push(result);
    say(
      `${size.padStart(5)} workers   RSS ${result.rssMiB.toFixed(0)} MiB (peak ${result.peakMiB.toFixed(0)}, goal ${goals.rssMiB})   update ${result.updateSeconds.toFixed(0)} s   requests ${result.requests} (${(result.requests / (result.workers + 3)).toFixed(1)} a node)   reaction median ${result.medianMs.toFixed(0)} ms (goal ${goals.medianMs}), p99 ${result.p99Ms.toFixed(0)} ms of ${result.reactions}   writes at rest ${JSON.stringify(result.writesAtRest)}, CPU ${(100 * result.cpuAtRest).toFixed(1)} %`,
    );
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
keep('fleet', { restSeconds: restMs / 1000, workersAtOnce, results });
process.exit(0);
