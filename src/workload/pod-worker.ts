import { join } from 'node:path';
import type { Container, Pod } from '../api/core.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { stillWaits } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { isForbidden, isNotFound } from '../kube/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { containerSpec } from './container-spec.ts';
import { ConfigError, environment, type Variable } from './environment.ts';
import type { ImagePuller } from './image-puller.ts';
import {
  type Blocked,
  decidePod,
  type PodDecision,
  type PodFacts,
  type SeenContainer,
} from './pod-decision.ts';
import { podStatus, pullErrorShownMs } from './pod-status.ts';
import type { PodVolumes } from './pod-volumes.ts';
import type { Prober } from './probes.ts';
import type { ImageInfo, Runner } from './runner.ts';
import { unsupported } from './volumes.ts';

export type PodEvent = (pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string) => void;

export interface PodWorkerOptions {
  readonly client: Pick<KubeClient, 'kinds' | 'updateStatus' | 'delete'>;
  readonly runner: Runner;
  readonly puller: ImagePuller;
  readonly volumes: PodVolumes;
  readonly prober: Prober;
  readonly dir: string;
  readonly nodeAddress: string;
  /** Where containers find the cluster API. */
  readonly service: readonly Variable[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly event: PodEvent;
  /** What the runner knows of a Pod's containers now, with their last words. */
  readonly seen: (podUid: string) => readonly SeenContainer[];
  /** Looks at the runner anew. */
  readonly relist: () => Promise<void>;
  /** Something concerning this Pod has happened. */
  readonly wake: (pod: Pod) => void;
}

/** What the kubelet remembers of a Pod beyond what the runner and the API hold. */
interface Memory {
  readonly startedAt: number;
  readonly blocked: Map<string, Blocked & { failures: number }>;
  /** Starts that never came to a container. */
  readonly unborn: SeenContainer[];
  readonly stopping: Set<string>;
  toldFailure: boolean;
  /** The last written object, for as long as the informer shows an older one. */
  written?: { over: string | undefined; pod: Pod };
}

const blockedFirstMs = 10_000;
const blockedMostMs = 300_000;
/** How often the files of ConfigMaps and Secrets are looked at again. */
const refreshMs = 60_000;

/** Brings one Pod at a time nearer to what it should be. */
export interface PodWorker {
  /** Resolves to when to look again, Unix milliseconds. */
  sync(pod: Pod): Promise<number | undefined>;
  /** The Pod is gone from the API: ends what is left of it and removes its traces. */
  remove(podUid: string, graceMs: number): Promise<void>;
  known(): string[];
}

export function createPodWorker(options: PodWorkerOptions): PodWorker {
  const { client, runner, puller, volumes, prober, clock, event } = options;
  const memories = new Map<string, Memory>();

  function memoryOf(pod: Pod): Memory {
    const uid = pod.metadata.uid ?? '';
    const standing = memories.get(uid);
    if (standing !== undefined) return standing;
    const recorded = Date.parse(pod.status?.startTime ?? '');
    const fresh: Memory = {
      startedAt: Number.isNaN(recorded) ? clock.now() : recorded,
      blocked: new Map(),
      unborn: [],
      stopping: new Set(),
      toldFailure: false,
    };
    memories.set(uid, fresh);
    return fresh;
  }

  function factsOf(pod: Pod, memory: Memory): PodFacts {
    const seen = options.seen(pod.metadata.uid ?? '');
    const containers = [...seen, ...memory.unborn];
    const refused = unsupported(pod);
    const running = containers.filter(({ state }) => state.phase === 'running');
    return {
      now: clock.now(),
      containers: [...containers, ...lost(pod, containers)],
      images: puller.states(pod),
      blocked: memory.blocked,
      ...(refused === undefined ? {} : { refused }),
      startedAt: memory.startedAt,
      ready: new Set(running.filter(({ id }) => prober.isReady(id)).map(({ id }) => id)),
      unhealthy: new Set(running.filter(({ id }) => prober.isUnhealthy(id)).map(({ id }) => id)),
    };
  }

  async function sync(fromInformer: Pod): Promise<number | undefined> {
    const memory = memoryOf(fromInformer);
    const { written } = memory;
    const pod =
      written?.over === fromInformer.metadata.resourceVersion ? (written?.pod ?? fromInformer) : fromInformer;
    probeRunning(pod);
    const before = factsOf(pod, memory);
    const decision = decidePod(pod, before);
    for (const { id, graceMs, why } of decision.stop) stop(pod, memory, id, graceMs, why);
    if (decision.failed !== undefined && !memory.toldFailure) {
      memory.toldFailure = true;
      event(pod, 'Warning', decision.failed.reason, decision.failed.message);
    }
    let refreshAt: number | undefined;
    if (decision.start.length > 0 || before.containers.some(({ state }) => state.phase === 'running')) {
      const stays = decision.failed === undefined && pod.metadata.deletionTimestamp === undefined;
      if (stays) refreshAt = await startAll(pod, memory, decision);
    }
    probeRunning(pod);
    const after = factsOf(pod, memory);
    const settled = decidePod(pod, after);
    await writeStatus(fromInformer, pod, memory, after, settled);
    if (settled.ended) await confirmDeletion(pod);
    // What came due while containers were started is done in the next round, which is at once.
    if (settled.stop.some(({ id }) => !memory.stopping.has(id))) return after.now;
    return nextOf(after, settled, refreshAt);
  }

  function probeRunning(pod: Pod): void {
    const mains = new Map(pod.spec.containers.map((container) => [container.name, container]));
    for (const { id, container, state } of options.seen(pod.metadata.uid ?? '')) {
      const spec = mains.get(container);
      if (spec !== undefined && state.phase === 'running') prober.watch(id, spec, state.startedAt);
    }
  }

  function nextOf(facts: PodFacts, decision: PodDecision, refreshAt: number | undefined): number | undefined {
    const pulls = [...facts.images.values()]
      .filter((image) => image.state === 'failed')
      .flatMap((image) => [image.failedAt + pullErrorShownMs, image.retryAt])
      .filter((time) => time > facts.now);
    const times = [decision.nextAt, refreshAt, ...pulls].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  function stop(pod: Pod, memory: Memory, id: string, graceMs: number, why: string): void {
    if (memory.stopping.has(id)) return;
    memory.stopping.add(id);
    event(pod, 'Normal', 'Killing', why);
    void runner
      .stop(id, graceMs)
      .catch((error: unknown) =>
        options.logger.warn({ id, error: messageOf(error) }, 'container not stopped'),
      )
      .finally(async () => {
        memory.stopping.delete(id);
        await options.relist();
        options.wake(pod);
      });
  }

  /** Starts what is due. Resolves to when the files of the volumes want another look. */
  async function startAll(pod: Pod, memory: Memory, decision: PodDecision): Promise<number | undefined> {
    const ready: { container: Container; attempt: number; image: ImageInfo }[] = [];
    for (const { container, attempt } of decision.start) {
      const blocked = memory.blocked.get(container.name);
      if (blocked !== undefined && stillWaits(blocked.retryAt, clock.now(), blockedMostMs)) continue;
      const image = await puller.ensure(pod, container);
      if (image.state === 'present') ready.push({ container, attempt, image: image.info });
    }
    const running = options.seen(pod.metadata.uid ?? '').some(({ state }) => state.phase === 'running');
    if (ready.length === 0 && !running) return undefined;
    const complete = await volumes.complete(pod);
    let objects: Awaited<ReturnType<typeof volumes.objects>>;
    try {
      objects = await volumes.objects(complete);
      await volumes.write(complete, objects);
    } catch (error) {
      if (!(error instanceof ConfigError) && !isNotFound(error) && !isForbidden(error)) throw error;
      const [volume] = complete.spec.volumes?.map(({ name }) => name) ?? [];
      event(
        pod,
        'Warning',
        'FailedMount',
        `MountVolume.SetUp failed for volume "${volume}" : ${messageOf(error)}`,
      );
      return clock.now() + blockedFirstMs / 5;
    }
    for (const { container: plain, attempt, image } of ready) {
      const all = [...(complete.spec.initContainers ?? []), ...complete.spec.containers];
      const container = all.find(({ name }) => name === plain.name) ?? plain;
      await start(pod, complete, memory, container, attempt, image, objects);
    }
    if (ready.length > 0) await options.relist();
    const renewAt = volumes.renewAt(complete);
    return Math.min(clock.now() + refreshMs, renewAt ?? Number.POSITIVE_INFINITY);
  }

  async function start(
    pod: Pod,
    complete: Pod,
    memory: Memory,
    container: Container,
    attempt: number,
    image: ImageInfo,
    objects: Awaited<ReturnType<PodVolumes['objects']>>,
  ): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    const { name } = container;
    try {
      const env = environment(pod, container, {
        ...objects,
        image: image.env,
        service: options.service,
        nodeAddress: options.nodeAddress,
      });
      const spec = containerSpec({
        pod: complete,
        container,
        attempt,
        image,
        env,
        volumeDirectory: (volume) => volumes.directory(uid, volume),
        logPath: join(options.dir, uid, 'logs', name, `${attempt}.log`),
      });
      await runner.start(spec);
      memory.blocked.delete(name);
      event(pod, 'Normal', 'Created', `Created container: ${name}`);
      event(pod, 'Normal', 'Started', `Started container ${name}`);
      await removeOlder(uid, name, attempt);
    } catch (error) {
      const message = messageOf(error);
      if (isSluiceError(error, 'InputInvalid')) {
        // The container's own fault, not the node's: it has had its start, as with containerd.
        event(pod, 'Warning', 'Failed', `Error: ${message}`);
        const now = clock.now();
        memory.unborn.push({
          id: '',
          container: name,
          attempt,
          state: {
            phase: 'exited',
            startedAt: now,
            finishedAt: now,
            exitCode: 128,
            reason: 'StartError',
            message,
          },
        });
        return;
      }
      const reason = error instanceof ConfigError ? 'CreateContainerConfigError' : 'CreateContainerError';
      const failures = (memory.blocked.get(name)?.failures ?? 0) + 1;
      const waitMs = Math.min(blockedMostMs, blockedFirstMs * 2 ** (failures - 1));
      memory.blocked.set(name, { reason, message, failures, retryAt: clock.now() + waitMs });
      event(pod, 'Warning', 'Failed', `Error: ${message}`);
    }
  }

  /** One start before the last is kept, for its log and its exit code. */
  async function removeOlder(podUid: string, container: string, attempt: number): Promise<void> {
    for (const one of options.seen(podUid)) {
      if (one.container !== container || one.attempt > attempt - 2 || one.id === '') continue;
      prober.forget(one.id);
      await runner.remove(one.id);
    }
  }

  async function writeStatus(
    fromInformer: Pod,
    pod: Pod,
    memory: Memory,
    facts: PodFacts,
    decision: PodDecision,
  ): Promise<void> {
    const status = podStatus(pod, facts, decision, {
      address: options.nodeAddress,
      runner: runner.name,
    });
    if (sameJson(status, pod.status)) return;
    const written = await client.updateStatus(client.kinds.Pod, { ...pod, status });
    memory.written = { over: fromInformer.metadata.resourceVersion, pod: written };
  }

  async function confirmDeletion(pod: Pod): Promise<void> {
    const { name, namespace = '', uid = '' } = pod.metadata;
    await client.delete(client.kinds.Pod, name, { namespace, uid, gracePeriodSeconds: 0 });
  }

  return {
    sync,
    async remove(podUid, graceMs) {
      const all = options.seen(podUid);
      await Promise.all(
        all.map(async ({ id, state }) => {
          if (state.phase === 'running') await runner.stop(id, graceMs);
          prober.forget(id);
          await runner.remove(id);
        }),
      );
      memories.delete(podUid);
      puller.forget(podUid);
      await volumes.forget(podUid);
    },
    known: () => [...memories.keys()],
  };
}

/** Containers that the API has seen run and of which this node has no trace any more: their outcome is unknown. */
function lost(pod: Pod, containers: readonly SeenContainer[]): SeenContainer[] {
  const { phase, initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') return [];
  return [...initContainerStatuses, ...containerStatuses].flatMap((status): SeenContainer[] => {
    const { name, containerID, restartCount, state } = status;
    if (containerID === undefined || containers.some((one) => one.container === name)) return [];
    const ended = state?.terminated;
    const at = Date.parse(ended?.finishedAt ?? state?.running?.startedAt ?? '') || 0;
    return [
      {
        id: containerID.replace(/^.*:\/\//, ''),
        container: name,
        attempt: restartCount,
        state: {
          phase: 'exited',
          startedAt: Date.parse(ended?.startedAt ?? '') || at,
          finishedAt: at,
          exitCode: ended?.exitCode ?? 137,
          reason: ended?.reason ?? 'ContainerStatusUnknown',
          message: ended?.message ?? 'The container could not be located when the pod was terminated',
        },
      },
    ];
  });
}

/** Equal as JSON, whatever the order of the keys. */
function sameJson(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([x], [y]) => (x < y ? -1 : 1)))
      : part,
  );
}
