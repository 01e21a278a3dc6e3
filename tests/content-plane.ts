import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { names } from '../src/api/names.ts';
import type { ClusterVersionStatus, InternalReleaseImage } from '../src/api/resources.ts';
import { preload } from '../src/copy/preload.ts';
import { applyObject } from '../src/kube/apply.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { openMedia } from '../src/media/media.ts';
import { type ContentManager, createContentManager } from '../src/node/content.ts';
import { registerNode } from '../src/node/registration.ts';
import { keysFolder } from '../src/node/registry-side.ts';
import { nodeSocketPath, serveNodeSocket } from '../src/node/socket.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { createMetrics, type Metrics } from '../src/observe/metrics.ts';
import { type RunResult, run } from '../src/process/run.ts';
import { type RegistryServer, serveRegistry } from '../src/registry/server.ts';
import { clusterContent } from '../src/release/content.ts';
import { runReleaseController } from '../src/release/controller.ts';
import { trustedKeys } from '../src/release/trusted-keys.ts';
import { issue } from '../src/trust/authority.ts';
import { makeRelease, type TestRelease, testKey } from './bundles.ts';
import { Closing } from './closing.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { takeNetwork } from './network.ts';
import { playedNodeInfo } from './played-kubelet.ts';
import { shippedManifests } from './shipped.ts';
import { repository } from './tier.ts';

export const key = testKey('maker');

/** A node's files and address; its processes come and go. */
export interface TestNode {
  readonly name: string;
  readonly address: string;
  readonly dirs: { readonly store: string; readonly run: string; readonly state: string };
  readonly certFile: string;
  readonly keyFile: string;
  readonly kubeconfig: string;
  readonly client: KubeClient;
}

/** A real API, the release controller, and nodes that each have a registry and a content manager. */
export interface ContentPlane {
  readonly cluster: TestCluster;
  readonly dir: string;
  readonly keysDir: string;
  readonly caFile: string;
  readonly nodes: readonly TestNode[];
  startRegistry(node: TestNode): Promise<RegistryServer>;
  startManager(node: TestNode): Promise<RunningManager>;
  /** Ends the manager that runs and starts another, as a restart of the process does. */
  replaceManager(node: TestNode): Promise<RunningManager>;
  stopManager(node: TestNode): Promise<void>;
  /** The releases of the tests, built once. */
  release(version: '1.0.0' | '1.1.0'): Promise<TestRelease>;
  preload(node: TestNode, release: TestRelease): Promise<void>;
  startController(): void;
  setCurrent(release: TestRelease, history?: ClusterVersionStatus['history']): Promise<void>;
  ask(...names: string[]): Promise<void>;
  object(): Promise<InternalReleaseImage | undefined>;
  /** The program as people call it: with the cluster's kubeconfig, and for media with the first node's socket. */
  sluice(...args: string[]): Promise<RunResult & { readonly all: string }>;
  close(): Promise<void>;
}

export interface RunningManager {
  readonly manager: ContentManager;
  /** What its process tells Prometheus. */
  readonly metrics: Metrics;
  stop(): Promise<void>;
}

export async function startContentPlane(nodeCount: number): Promise<ContentPlane> {
  const closing = new Closing();
  return await closing.unless(() => bringUp(nodeCount, closing));
}

async function bringUp(nodeCount: number, closing: Closing): Promise<ContentPlane> {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-plane-'));
  closing.add('the directory', () => rm(dir, { recursive: true, force: true }));
  const cluster = await startTestCluster();
  closing.add('the API', () => cluster.close());
  const { client } = cluster;
  const platformNames = names(client.platform);
  const { configNamespace, machineConfigNamespace, apiInt } = platformNames;
  for (const name of [configNamespace, machineConfigNamespace]) {
    await client.create(client.kinds.Namespace, { metadata: { name } });
  }
  await client.create(client.kinds.ConfigMap, {
    metadata: { name: platformNames.trustedKeys, namespace: configNamespace },
    data: { 'maker.pub': key.pair.publicPem },
  });
  // Nodes have the rights that they are shipped with, and no others; what is in use is guarded as it is there.
  for (const object of await shippedManifests([
    '30-nodes.yaml',
    '35-kubelets.yaml',
    '40-release-guard.yaml',
  ])) {
    await applyObject(client, object);
  }
  const keysDir = join(dir, 'keys');
  const caFile = join(dir, 'ca.crt');
  await writeFile(caFile, cluster.caPem);
  await mkdir(keysDir);
  await writeFile(join(keysDir, 'maker.pub'), key.pair.publicPem);

  const network = await takeNetwork(platformNames.registryPort);
  closing.add('the network', network.release);
  const nodes: TestNode[] = [];
  for (let index = 0; index < nodeCount; index += 1) {
    const name = `master-${index}`;
    const address = `${network.prefix}.${11 + index}`;
    const base = join(dir, name);
    const pair = await issue(cluster.authority, {
      commonName: `system:node:${name}`,
      organizations: ['system:nodes'],
      dnsNames: [apiInt],
      ipAddresses: [address],
      usage: 'both',
    });
    const [certFile, keyFile] = [`${base}.crt`, `${base}.key`];
    await writeFile(certFile, pair.certPem);
    await writeFile(keyFile, pair.keyPem);
    nodes.push({
      name,
      address,
      certFile,
      keyFile,
      dirs: { store: join(base, 'store'), run: join(base, 'run'), state: join(base, 'state') },
      kubeconfig: await cluster.kubeconfigAs(`system:node:${name}`, ['system:nodes']),
      client: await cluster.clientAs(`system:node:${name}`, ['system:nodes']),
    });
  }

  const stop = new AbortController();
  const managers = new Map<string, RunningManager>();
  const releases = new Map<string, Promise<TestRelease>>();

  const plane: ContentPlane = {
    cluster,
    dir,
    keysDir,
    caFile,
    nodes,
    async startRegistry(node) {
      const registry = await serveRegistry({
        storePath: node.dirs.store,
        treesFile: join(node.dirs.run, 'trees.json'),
        address: node.address,
        port: platformNames.registryPort,
        tls: { certFile: node.certFile, keyFile: node.keyFile, clientCaFile: caFile },
        htpasswdFile: join(node.dirs.run, 'htpasswd'),
        peer: { certFile: node.certFile, keyFile: node.keyFile, caFile, servername: apiInt },
        trustedKeys: join(node.dirs.run, keysFolder),
        logger: silentLogger,
        pollMs: 200,
      });
      closing.add(`the registry of ${node.name}`, () => registry.close(0));
      return registry;
    },
    async stopManager(node) {
      await managers.get(node.name)?.stop();
    },
    async replaceManager(node) {
      await plane.stopManager(node);
      return await plane.startManager(node);
    },
    async startManager(node) {
      const end = new AbortController();
      const signal = AbortSignal.any([stop.signal, end.signal]);
      await registerNode({ ...registration(node), signal });
      const metrics = createMetrics();
      const manager = await createContentManager({
        client: node.client,
        nodeName: node.name,
        address: node.address,
        dirs: node.dirs,
        identity: {
          caPem: cluster.caPem,
          certPem: await readFile(node.certFile, 'utf8'),
          keyPem: await readFile(node.keyFile, 'utf8'),
        },
        metrics,
        logger: silentLogger,
        clock: systemClock,
        signal,
        watchRegistry: true,
      });
      const ended = manager.run();
      const socket = await serveNodeSocket(nodeSocketPath(node.dirs.run), manager.routes, silentLogger);
      let stopping: Promise<void> | undefined;
      const handle: RunningManager = {
        manager,
        metrics,
        stop() {
          stopping ??= (async () => {
            end.abort();
            if (managers.get(node.name) === handle) managers.delete(node.name);
            await socket.close();
            await ended;
          })();
          return stopping;
        },
      };
      managers.set(node.name, handle);
      closing.add(`the node ${node.name}`, () => handle.stop());
      return handle;
    },
    release(version) {
      const built =
        releases.get(version) ??
        makeRelease({
          version,
          previous: version === '1.1.0' ? ['1.0.0'] : [],
          dir,
          key: key.pair,
          // `base` is the same in both, so that they share it.
          images: {
            web: {},
            base: { files: [{ path: '/base', data: 'the same in every release' }] },
          },
          blobBytes: 2 * 1024 * 1024,
        });
      releases.set(version, built);
      return built;
    },
    async preload(node, release) {
      const media = await openMedia(release.path);
      await preload(media.content, release.name, node.dirs.store, { keys: [key.trusted] });
      await media.close();
    },
    startController() {
      const content = clusterContent(client, { caPem: cluster.caPem });
      const running = runReleaseController({
        client,
        content,
        keys: () => trustedKeys(client),
        logger: silentLogger,
        clock: systemClock,
        signal: stop.signal,
      });
      closing.add('the client of the registries', () => content.close());
      closing.add('the release controller', () => running);
    },
    async setCurrent(release, history) {
      const { kinds } = client;
      const { clusterVersion } = platformNames;
      const image = imageOf(release);
      const { version } = release.document;
      const standing =
        (await client.tryGet(kinds.ClusterVersion, clusterVersion)) ??
        (await client.create(kinds.ClusterVersion, {
          metadata: { name: clusterVersion },
          spec: { clusterID: '00000000-0000-4000-8000-000000000000' },
        }));
      const completed = {
        state: 'Completed',
        version,
        image,
        startedTime: '2026-01-01T00:00:00Z',
        completionTime: '2026-01-01T00:10:00Z',
        verified: true,
      };
      await client.updateStatus(kinds.ClusterVersion, {
        ...standing,
        status: {
          desired: { version, image },
          history: history ?? [completed],
          observedGeneration: 1,
          versionHash: 'x',
          availableUpdates: null,
        },
      });
    },
    async ask(...wanted) {
      const spec = { releases: wanted.map((name) => ({ name })) };
      await client.patch(client.kinds.InternalReleaseImage, 'cluster', { spec });
    },
    object: () => client.tryGet(client.kinds.InternalReleaseImage, 'cluster'),
    async sluice(...args) {
      const socket = nodeSocketPath(nodes[0]?.dirs.run ?? '');
      const local = args[0] === 'media' && args[1] !== 'ls' ? ['--socket', socket] : [];
      const result = await run(join(repository, 'sluice'), [...args, ...local], {
        env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
      });
      return { ...result, all: `${result.stdout}${result.stderr}` };
    },
    async close() {
      stop.abort();
      await closing.close();
    },
  };
  return plane;
}

/** A plane whose nodes hold 1.0.0, which the cluster runs; 1.1.0 is on no node yet. */
export async function startRunningPlane(
  nodeCount: number,
): Promise<{ plane: ContentPlane; one: TestRelease; two: TestRelease }> {
  const closing = new Closing();
  const plane = await startContentPlane(nodeCount);
  closing.add('the plane', () => plane.close());
  return await closing.unless(async () => {
    const [one, two] = [await plane.release('1.0.0'), await plane.release('1.1.0')];
    for (const node of plane.nodes) {
      await plane.preload(node, one);
      await plane.startManager(node);
      await plane.startRegistry(node);
    }
    await plane.setCurrent(one);
    plane.startController();
    return { plane, one, two };
  });
}

function registration(node: TestNode) {
  return {
    client: node.client,
    nodeName: node.name,
    address: node.address,
    controlPlane: true,
    kubelet: {
      nodeInfo: playedNodeInfo(node.name, 'boot-1'),
      capacity: { cpu: '2', memory: '4Gi', pods: '110' },
    },
    logger: silentLogger,
    clock: systemClock,
  };
}

export function imageOf(release: TestRelease): string {
  return `api-int.sluice.internal:22625/openshift/release-images@${release.payload}`;
}

/** Asks until it answers something; fails with how it stood last. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  options: { timeoutMs?: number; describe?: () => Promise<unknown> } = {},
): Promise<T> {
  const endsAt = Date.now() + (options.timeoutMs ?? 30_000);
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > endsAt) {
      const stands = JSON.stringify((await options.describe?.()) ?? answer, null, 1);
      throw new Error(`waited in vain for ${what}: ${stands}`);
    }
    await sleep(100);
  }
}
