import { mkdir, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Pod } from '../api/core.ts';
import { names } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import { hostPort } from '../http/client.ts';
import { keyOf, parseKey } from '../kube/cache.ts';
import type { KubeClient } from '../kube/client.ts';
import { createEventRecorder } from '../kube/events.ts';
import { createInformer } from '../kube/informer.ts';
import { createQueue } from '../kube/queue.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { createImagePuller } from './image-puller.ts';
import { serveLogs } from './log-server.ts';
import { logTail } from './logs.ts';
import type { SeenContainer } from './pod-decision.ts';
import { createPodVolumes } from './pod-volumes.ts';
import { createPodWorker } from './pod-worker.ts';
import { createProber } from './probes.ts';
import type { RegistryTrust, Runner, RunnerContainer } from './runner.ts';

export interface KubeletOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** Of this node: what Pods, probes and the API server dial. */
  readonly address: string;
  /** Holds the Pods' volumes and logs; on the same file system as the runner's own. */
  readonly dir: string;
  readonly runner: Runner;
  /** Serving certificate, valid for `address`. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** PEM of the authority of the API server's client certificate. */
  readonly clientCa: string;
  /** 0 takes a free port. */
  readonly port?: number;
  /** Where containers find the cluster API. */
  readonly apiServer: { readonly host: string; readonly port: number };
  readonly registryPort: number;
  /** Whom pulls believe, and the password of the control plane's registries, asked for at each pull. */
  readonly registryTrust: () => RegistryTrust;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

export interface Kubelet {
  /** Where logs are served, for the Node's `daemonEndpoints`. */
  readonly port: number;
  /** Works until the signal aborts, then ends its own business; containers go on. Never rejects. */
  run(): Promise<void>;
  /** Ends every container, as a reboot does. After `run`. */
  end(graceMs: number): Promise<void>;
  /** Closes the log server and the runner; containers go on. */
  close(): Promise<void>;
}

const workers = 4;
/** Events that are not written by then are lost: a node that stops must not wait for an API that is gone. */
const eventsFlushMs = 1_000;
/** A look at the runner although it told nothing: hints can be lost. */
const relistMs = 5_000;
/** kubernetes: 4096 bytes per container, 12 KiB per Pod; 2048 bytes or 80 lines of its log where it left none. */
const messageBytesMax = 4096;
const podMessageBytesMax = 12 * 1024;
const logMessageBytesMax = 2048;
const logMessageLinesMax = 80;
/** For containers whose Pod is gone from the API. */
const orphanGraceMs = 2_000;

/** Runs the Pods that are bound to one node. The caller registers the Node. */
export async function createKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { client, runner, logger, signal, nodeName } = options;
  const clock = options.clock ?? systemClock;
  const dir = resolve(options.dir);
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const queue = createQueue({ clock });
  const recorder = createEventRecorder(client, { component: 'kubelet', logger, clock });
  const event = (pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string) =>
    recorder.record({ kind: client.kinds.Pod, object: pod, type, reason, message });
  const pods = createInformer(client, client.kinds.Pod, {
    fieldSelector: `spec.nodeName=${nodeName}`,
    logger,
    signal,
    clock,
  });
  const mirrors = createInformer(client, client.kinds.ImageDigestMirrorSet, { logger, signal, clock });
  const wake = (pod: Pod) => queue.add(keyOf(pod));

  let listed: readonly RunnerContainer[] = [];
  const messages = new Map<string, string>();

  function podOf(uid: string): Pod | undefined {
    return pods.list().find((pod) => pod.metadata.uid === uid);
  }

  let listing: Promise<void> | undefined;
  let again = false;
  /** One look at a time; who asks while one is under way gets the next, which begins after the question. */
  async function relist(): Promise<void> {
    if (signal.aborted) return;
    if (listing !== undefined) {
      again = true;
      await listing;
      if (again) {
        again = false;
        listing ??= lookNow().finally(() => {
          listing = undefined;
        });
      }
      return await (listing ?? Promise.resolve());
    }
    listing = lookNow().finally(() => {
      listing = undefined;
    });
    await listing;
  }

  async function lookNow(): Promise<void> {
    const before = new Map(listed.map((one) => [one.id, one.state.phase]));
    const now = await runner.list();
    for (const one of now) {
      if (one.state.phase === 'exited' && !messages.has(one.id)) {
        messages.set(one.id, await lastWords(one).catch(() => ''));
      }
    }
    listed = now;
    const present = new Set(now.map(({ id }) => id));
    for (const id of messages.keys()) if (!present.has(id)) messages.delete(id);
    const changed = [
      ...now.filter((one) => before.get(one.id) !== one.state.phase),
      ...[...before.keys()].filter((id) => !present.has(id)).map(() => undefined),
    ];
    for (const one of changed) {
      const pod = one === undefined ? undefined : podOf(one.podUid);
      if (pod !== undefined) wake(pod);
    }
  }

  async function lastWords(one: RunnerContainer): Promise<string> {
    const pod = podOf(one.podUid);
    const all = [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])];
    const bytesMax = Math.min(messageBytesMax, Math.floor(podMessageBytesMax / Math.max(1, all.length)));
    const said = await runner.terminationMessage(one.id, bytesMax);
    const container = all.find(({ name }) => name === one.container);
    const failed = one.state.phase === 'exited' && one.state.exitCode !== 0;
    if (said !== '' || !failed || container?.terminationMessagePolicy !== 'FallbackToLogsOnError')
      return said;
    return await logTail(one.logPath, logMessageLinesMax, Math.min(bytesMax, logMessageBytesMax));
  }

  function seen(podUid: string): SeenContainer[] {
    return listed
      .filter((one) => one.podUid === podUid)
      .map(({ id, container, attempt, state }) =>
        state.phase === 'running'
          ? { id, container, attempt, state }
          : {
              id,
              container,
              attempt,
              state: {
                phase: 'exited',
                startedAt: state.startedAt,
                finishedAt: state.finishedAt,
                exitCode: state.exitCode,
                reason: state.oomKilled ? 'OOMKilled' : state.exitCode === 0 ? 'Completed' : 'Error',
                message: messages.get(id) || (state.error ?? ''),
              },
            },
      );
  }

  const wakeOwner = (id: string) => {
    const pod = podOf(listed.find((one) => one.id === id)?.podUid ?? '');
    if (pod !== undefined) wake(pod);
  };
  const puller = createImagePuller({
    runner,
    mirrorSets: () => mirrors.list(),
    ownHost: hostPort(options.address, options.registryPort),
    commonHost: hostPort(names(client.platform).apiInt, options.registryPort),
    trust: options.registryTrust,
    clock,
    signal,
    onChange: wake,
    event,
  });
  const volumes = createPodVolumes({ dir, client, runner, nodeAddress: options.address, clock });
  const prober = createProber({
    runner,
    nodeAddress: options.address,
    clock,
    signal,
    onChange: wakeOwner,
    event: (id, message) => {
      const pod = podOf(listed.find((one) => one.id === id)?.podUid ?? '');
      if (pod !== undefined) event(pod, 'Warning', 'Unhealthy', message);
    },
  });
  const { host, port } = options.apiServer;
  const worker = createPodWorker({
    client,
    runner,
    puller,
    volumes,
    prober,
    dir,
    nodeAddress: options.address,
    service: [
      { name: 'KUBERNETES_SERVICE_HOST', value: host },
      { name: 'KUBERNETES_SERVICE_PORT', value: String(port) },
      { name: 'KUBERNETES_SERVICE_PORT_HTTPS', value: String(port) },
    ],
    clock,
    logger,
    event,
    seen,
    relist,
    wake,
  });

  async function reconcile(key: string): Promise<void> {
    const { name, namespace } = parseKey(key);
    const pod = pods.get(name, namespace);
    if (pod === undefined) return;
    const nextAt = await worker.sync(pod);
    queue.forget(key);
    if (nextAt !== undefined) queue.addAfter(key, Math.max(10, nextAt - clock.now()));
  }

  async function work(): Promise<void> {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      try {
        if (key.startsWith('uid ')) await worker.remove(key.slice('uid '.length), orphanGraceMs);
        else await reconcile(key);
      } catch (error) {
        const waitMs = queue.addAfterFailure(key);
        if (!signal.aborted) logger.info({ key, waitMs, error: messageOf(error) }, 'pod tried again');
      }
      queue.done(key);
    }
  }

  /** Whatever runs or lies here for a Pod that the API does not know, or that is bound elsewhere, is ended. */
  async function removeOrphans(): Promise<void> {
    const known = new Set(pods.list().map((pod) => pod.metadata.uid));
    const uids = new Set([
      ...listed.map((one) => one.podUid),
      ...worker.known(),
      ...(await readdir(dir).catch(() => [])),
    ]);
    for (const uid of uids) if (!known.has(uid)) queue.add(`uid ${uid}`);
  }

  async function look(): Promise<void> {
    try {
      await relist();
      await removeOrphans();
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'containers could not be listed');
    }
  }

  const server = await serveLogs({
    address: options.address,
    port: options.port ?? 0,
    tls: options.tls,
    clientCa: options.clientCa,
    find(namespace, name, container, previous) {
      const pod = pods.get(name, namespace);
      const starts = listed
        .filter((one) => one.podUid === pod?.metadata.uid && one.container === container)
        .sort((a, b) => b.attempt - a.attempt);
      const one = starts[previous ? 1 : 0];
      if (one !== undefined) {
        const { id, logPath } = one;
        const isRunning = () => listed.some((other) => other.id === id && other.state.phase === 'running');
        return { path: logPath, isRunning };
      }
      if (previous) return `previous terminated container "${container}" in pod "${name}" not found`;
      return `container "${container}" in pod "${name}" is waiting to start: ${waitingReason(pod, container)}`;
    },
  });

  return {
    port: server.port,
    async run() {
      pods.onChange((change) => {
        if (change.type === 'deleted') queue.add(`uid ${change.object.metadata.uid}`);
        else wake(change.object);
      });
      pods.start();
      mirrors.start();
      const aborted = new Promise<void>((done) => {
        if (signal.aborted) done();
        signal.addEventListener('abort', () => done(), { once: true });
      });
      await Promise.race([Promise.all([pods.synced(), mirrors.synced()]), aborted]);
      if (signal.aborted) return;
      await look();
      const off = runner.onChange(() => void look());
      signal.addEventListener('abort', () => queue.close(), { once: true });
      const looking = (async () => {
        while (!signal.aborted) {
          await clock.sleep(relistMs, signal);
          if (!signal.aborted) await look();
        }
      })();
      await Promise.all([looking, ...Array.from({ length: workers }, () => work())]);
      off();
      // Whoever ends the containers next must find nobody asking for them.
      await (listing ?? Promise.resolve()).catch(() => {});
      await Promise.race([recorder.flushed(), clock.sleep(eventsFlushMs)]);
    },
    async end(graceMs) {
      await runner.endAll(graceMs);
    },
    async close() {
      await server.close();
      await runner.close();
    },
  };
}

function waitingReason(pod: Pod | undefined, container: string): string {
  const all = [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
  const waiting = all.find(({ name }) => name === container)?.state?.waiting;
  return waiting?.message ?? waiting?.reason ?? 'ContainerCreating';
}
