import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyObject, Job, Pod } from '../src/api/core.ts';
import { labels, names } from '../src/api/names.ts';
import { shippedManifests } from '../src/install/manifests.ts';
import { applyObject } from '../src/kube/apply.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { waitFor } from '../src/kube/wait.ts';
import { openMedia } from '../src/media/media.ts';
import { systemClock } from '../src/observe/clock.ts';
import { createLogger, silentLogger } from '../src/observe/log.ts';
import type { ContentSource } from '../src/oci/source.ts';
import { parseTrustedKey, type TrustedKey } from '../src/trust/keys.ts';
import { makeRelease, type ReleaseOptions, type TestRelease, testKey } from './bundles.ts';
import { Closing } from './closing.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { playedNodeInfo } from './played-kubelet.ts';

/** A cluster of real API, real signed bundles and nodes that are only told of, for the controllers above them. */
export interface ControlPlane {
  readonly cluster: TestCluster;
  readonly client: KubeClient;
  readonly dir: string;
  readonly content: ContentSource;
  readonly keys: readonly TrustedKey[];
  readonly keyFile: string;
  /** By version. */
  readonly releases: ReadonlyMap<string, TestRelease>;
  /** What every controller is given. */
  options(signal: AbortSignal): {
    client: KubeClient;
    content: ContentSource;
    trustedKeys: () => Promise<readonly TrustedKey[]>;
    clock: typeof systemClock;
    logger: typeof silentLogger;
    signal: AbortSignal;
    platform: 'standalone';
  };
  /** Says that every node holds the release whole, as nodes and the release controller do. */
  hold(version: string): Promise<void>;
  /** Says that the cluster runs this release, completed: for tests without an update controller. */
  runs(version: string): Promise<void>;
  /** Says that a node has media with the release attached. */
  mount(version: string, node: string): Promise<void>;
  close(): Promise<void>;
}

export const nodeNames = ['master-0', 'master-1', 'master-2'] as const;

/** The annotation by which a payload's objects are taken. */
export const included = 'include.release.openshift.io/self-managed-high-availability: "true"';

interface ControlPlaneOptions {
  readonly nodes?: readonly string[];
  /** Default: `startTestCluster`. */
  readonly startCluster?: (releases: ReadonlyMap<string, TestRelease>) => Promise<TestCluster>;
}

export async function startControlPlane(
  releases: readonly Omit<ReleaseOptions, 'dir' | 'key'>[],
  options: ControlPlaneOptions = {},
): Promise<ControlPlane> {
  const closing = new Closing();
  return await closing.unless(() => bringUp(releases, options, closing));
}

async function bringUp(
  releases: readonly Omit<ReleaseOptions, 'dir' | 'key'>[],
  options: ControlPlaneOptions,
  closing: Closing,
): Promise<ControlPlane> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-control-'));
  closing.add('the directory', () => rmSync(dir, { recursive: true, force: true }));
  const key = testKey();
  const built = new Map<string, TestRelease>();
  for (const release of releases) {
    built.set(release.version, await makeRelease({ ...release, dir, key: key.pair }));
  }
  const { writeFile } = await import('node:fs/promises');
  const keyFile = join(dir, 'test.pub');
  await writeFile(keyFile, key.trusted.publicPem);
  const media = await openBundles([...built.values()].map((release) => release.path));
  closing.add('the media', () => media.close());
  const cluster = await (options.startCluster?.(built) ?? startTestCluster());
  closing.add('the API', () => cluster.close());
  const { client } = cluster;
  for (const object of shippedManifests('standalone')) {
    // Policies have suites of their own, and nobody here is anything but an administrator.
    if (!object.kind.startsWith('ValidatingAdmission')) await applyObject(client, object);
  }
  const nodes = options.nodes ?? nodeNames;
  for (const name of nodes) await registerNode(client, name);
  const keys = [key.trusted];
  const note = (version: string) => releaseNote(built, version);
  return {
    cluster,
    client,
    dir,
    content: media.content,
    keys,
    keyFile,
    releases: built,
    options: (signal) => ({
      client,
      content: media.content,
      trustedKeys: async () => keys,
      clock: systemClock,
      logger: process.env.SLUICE_TEST_LOG === undefined ? silentLogger : createLogger('test'),
      signal,
      platform: 'standalone',
    }),
    async hold(version) {
      for (const node of nodes) await addToNode(client, node, 'store', note(version));
      await showAvailable(client, note(version).name);
    },
    runs: (version) => installedWith(client, note(version)),
    mount: (version, node) => addToNode(client, node, 'media', { ...note(version), verified: true }),
    close: () => closing.close(),
  };
}

/** Bundles on disk as one source: the first that has something answers. */
export async function openBundles(
  paths: readonly string[],
): Promise<{ content: ContentSource; close: () => Promise<void> }> {
  const media = await Promise.all(paths.map((path) => openMedia(path)));
  const sources = media.map((each) => each.content);
  const first = async <T>(ask: (source: ContentSource) => Promise<T | undefined>) => {
    for (const source of sources) {
      const found = await ask(source);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const all = async <T>(ask: (source: ContentSource) => Promise<T[]>) =>
    (await Promise.all(sources.map(ask))).flat();
  return {
    content: {
      label: 'the test bundles',
      manifest: (repo, reference) => first((source) => source.manifest(repo, reference)),
      blob: (repo, digest, wanted) => first((source) => source.blob(repo, digest, wanted)),
      tags: (repo) => all((source) => source.tags(repo)),
      referrers: (repo, digest) => all((source) => source.referrers(repo, digest)),
    },
    close: async () => {
      await Promise.all(media.map((each) => each.close()));
    },
  };
}

export async function readKeys(keyFile: string): Promise<TrustedKey[]> {
  return [parseTrustedKey('test', await readFile(keyFile, 'utf8'))];
}

function releaseNote(built: ReadonlyMap<string, TestRelease>, version: string) {
  const release = built.get(version);
  if (release === undefined) throw new Error(`no release ${version} was made`);
  return { name: release.name, bundleDigest: release.digest, version, payload: release.payload };
}

async function installedWith(client: KubeClient, { version, payload }: { version: string; payload: string }) {
  const kind = client.kinds.ClusterVersion;
  const object = await client.create(kind, {
    metadata: { name: names(client.platform).clusterVersion },
    spec: { clusterID: '8f9c2e4a-6f3a-4b0e-9d0c-1f2e3d4c5b6a' },
  });
  const image = `quay.example/release@${payload}`;
  const time = '2026-01-01T00:00:00Z';
  const entry = { version, image, startedTime: time, completionTime: time, verified: true };
  await client.updateStatus(kind, {
    ...object,
    status: {
      desired: { version, image },
      observedGeneration: 1,
      versionHash: '',
      availableUpdates: null,
      history: [{ state: 'Completed', ...entry }],
    },
  });
}

async function registerNode(client: KubeClient, name: string): Promise<void> {
  const { kinds } = client;
  await client.create(kinds.Node, {
    metadata: { name, labels: { [labels.controlPlane]: '', 'kubernetes.io/os': 'linux' } },
  });
  // A patch: controllers of a real cluster write to a new Node at once, too.
  const status = {
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      nodeInfo: playedNodeInfo(name, name),
    },
  };
  await client.patch(kinds.Node, name, status, { subresource: 'status' });
  await client.create(kinds.NodeUpdate, { metadata: { name }, spec: {} });
}

async function addToNode(
  client: KubeClient,
  name: string,
  where: 'store' | 'media',
  entry: ReturnType<typeof releaseNote> & { verified?: boolean },
): Promise<void> {
  const kind = client.kinds.NodeUpdate;
  const update = await client.get(kind, name);
  const status = { ...update.status, [where]: [...(update.status?.[where] ?? []), entry] };
  await client.updateStatus(kind, { ...update, status });
}

async function showAvailable(client: KubeClient, bundle: string): Promise<void> {
  const kind = client.kinds.InternalReleaseImage;
  const { internalReleaseImage: name } = names(client.platform);
  const standing =
    (await client.tryGet(kind, name)) ??
    (await client.create(kind, { metadata: { name }, spec: { releases: [{ name: bundle }] } }));
  const condition = { type: 'Available', status: 'True', reason: 'Available', message: 'on all' } as const;
  const entry = { name: bundle, conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }] };
  await client.updateStatus(kind, {
    ...standing,
    status: { ...standing.status, releases: [...(standing.status?.releases ?? []), entry] },
  });
}

/** How a Job's one pod ends, in the hands of a test that plays kubelet and Job controller. */
export interface PodEnd {
  readonly exitCode: number;
  readonly output?: (environment: Record<string, string>) => Uint8Array;
  /** Instead of ending, the pod waits like this for ever. */
  readonly waiting?: { reason: string; message: string };
  /** It ends only when this resolves. */
  readonly after?: Promise<void>;
}

/**
 * Plays the Job controller and the kubelet for preflight Jobs until the signal aborts: makes each Job's pod and lets
 * it end as `endOf` says of the check's name. Returns the client with the logs that these pods wrote.
 */
export function playJobs(
  client: KubeClient,
  endOf: (check: string) => PodEnd,
  signal: AbortSignal,
): { client: KubeClient; started: string[]; done: Promise<void> } {
  const { preflightNamespace: namespace } = names(client.platform);
  const outputs = new Map<string, Uint8Array>();
  const started: string[] = [];
  const played = new Set<string>();
  const play = async () => {
    while (!signal.aborted) {
      const jobs = await client.list(client.kinds.Job, { namespace }).catch(() => ({ items: [] as Job[] }));
      for (const job of jobs.items) {
        if (played.has(job.metadata.uid ?? '')) continue;
        played.add(job.metadata.uid ?? '');
        started.push(job.metadata.name);
        const check = job.metadata.labels?.[labels.preflightCheck] ?? '';
        void playJob(client, job, endOf(check), outputs).catch(() => {});
      }
      await systemClock.sleep(50, signal);
    }
  };
  return {
    client: { ...client, podLog: async (_namespace, name) => Buffer.from(outputs.get(name) ?? '') },
    started,
    done: play(),
  };
}

/** The Pod that the Job controller made, put on a node. */
async function podOfJob(client: KubeClient, job: Job): Promise<Pod> {
  const { namespace = '', name } = job.metadata;
  const { kinds } = client;
  for (;;) {
    const labelSelector = `batch.kubernetes.io/job-name=${name}`;
    const [pod] = (await client.list(kinds.Pod, { namespace, labelSelector })).items;
    if (pod === undefined) {
      await systemClock.sleep(50);
      continue;
    }
    await client.raw({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/binding`,
      body: { metadata: { name: pod.metadata.name }, target: { kind: 'Node', name: 'master-0' } },
    });
    return await client.get(kinds.Pod, pod.metadata.name, namespace);
  }
}

async function playJob(
  client: KubeClient,
  job: Job,
  end: PodEnd,
  outputs: Map<string, Uint8Array>,
): Promise<void> {
  const { kinds } = client;
  const { namespace = '', name } = job.metadata;
  const template = job.spec.template;
  // A real cluster has a Job controller of its own: there only the kubelet is played.
  const isReal = process.env.SLUICE_TEST_ENGINE === 'real';
  const pod = isReal
    ? await podOfJob(client, job)
    : await client.create(kinds.Pod, {
        metadata: { name: `${name}-pod`, namespace, labels: template.metadata?.labels ?? {} },
        spec: { ...template.spec, nodeName: 'master-0' },
      });
  await end.after;
  const environment = Object.fromEntries(
    (template.spec.containers[0]?.env ?? []).map((each) => [each.name, each.value ?? '']),
  );
  if (end.output !== undefined) outputs.set(pod.metadata.name, end.output(environment));
  const failed = end.exitCode !== 0;
  const state =
    end.waiting === undefined
      ? { terminated: { exitCode: end.exitCode, reason: failed ? 'Error' : 'Completed' } }
      : { waiting: end.waiting };
  const phase = end.waiting === undefined ? (failed ? 'Failed' : 'Succeeded') : 'Pending';
  await client.updateStatus(kinds.Pod, {
    ...(await client.get(kinds.Pod, pod.metadata.name, namespace)),
    status: {
      phase,
      containerStatuses: [
        {
          name: template.spec.containers[0]?.name ?? '',
          ready: false,
          restartCount: 0,
          image: '',
          imageID: '',
          state,
        },
      ],
    },
  } as Pod);
  if (end.waiting !== undefined || isReal) return;
  const current = await client.get(kinds.Job, name, namespace);
  const times = { startTime: new Date().toISOString(), completionTime: new Date().toISOString() };
  const condition = {
    status: 'True',
    lastProbeTime: times.startTime,
    lastTransitionTime: times.startTime,
  } as const;
  await client.updateStatus(kinds.Job, {
    ...current,
    status: failed
      ? {
          startTime: times.startTime,
          failed: 1,
          conditions: [
            { ...condition, type: 'FailureTarget', reason: 'BackoffLimitExceeded' },
            { ...condition, type: 'Failed', reason: 'BackoffLimitExceeded' },
          ],
        }
      : {
          ...times,
          succeeded: 1,
          conditions: [
            { ...condition, type: 'SuccessCriteriaMet' },
            { ...condition, type: 'Complete' },
          ],
        },
  });
}

/** Waits until a condition of ClusterVersion is as wanted. */
export async function untilVersion(
  client: KubeClient,
  what: string,
  holds: (version: NonNullable<Awaited<ReturnType<typeof readVersion>>>) => boolean,
): Promise<void> {
  await waitFor(
    client,
    client.kinds.ClusterVersion,
    names(client.platform).clusterVersion,
    (version) => version !== undefined && holds(version),
    {
      timeoutMs: 30_000,
      what,
      describe: (object) => JSON.stringify((object as AnyObject)?.status).slice(0, 3000),
    },
  );
}

export async function readVersion(client: KubeClient) {
  return await client.tryGet(client.kinds.ClusterVersion, names(client.platform).clusterVersion);
}
