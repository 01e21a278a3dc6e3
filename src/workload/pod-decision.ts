import type { Container, Pod } from '../api/core.ts';
import { stillWaits } from '../kube/backoff.ts';
import type { ImageInfo } from './runner.ts';

/** How the image of a container stands on this node. */
export type ImageState =
  | { readonly state: 'pulling' }
  | { readonly state: 'present'; readonly info: ImageInfo }
  | {
      readonly state: 'failed';
      readonly reason: 'ErrImagePull' | 'InvalidImageName' | 'ErrImageNeverPull';
      readonly message: string;
      readonly failedAt: number;
      readonly retryAt: number;
    };

/** One start of a container, as the runner or the kubelet's memory tells it. */
export interface SeenContainer {
  /** Of the runner; '' where it never came to a container. */
  readonly id: string;
  readonly container: string;
  readonly attempt: number;
  readonly state:
    | { readonly phase: 'running'; readonly startedAt: number }
    | {
        readonly phase: 'exited';
        readonly startedAt: number;
        readonly finishedAt: number;
        readonly exitCode: number;
        readonly reason: string;
        /** The last words of the container. */
        readonly message: string;
      };
}

/** Why a container is not started, in the words of a kubelet. */
export interface Blocked {
  readonly reason: 'CreateContainerConfigError' | 'CreateContainerError';
  readonly message: string;
  readonly retryAt: number;
}

/** What is known of a Pod on this node. Times are Unix milliseconds. */
export interface PodFacts {
  readonly now: number;
  readonly containers: readonly SeenContainer[];
  readonly images: ReadonlyMap<string, ImageState>;
  readonly blocked: ReadonlyMap<string, Blocked>;
  /** What the Pod asks for that this node does not do. */
  readonly refused?: string;
  /** When the kubelet took the Pod in hand. */
  readonly startedAt: number;
  /** Ids whose readiness probe succeeds, or that have none. */
  readonly ready: ReadonlySet<string>;
  /** Ids whose liveness probe has failed. */
  readonly unhealthy: ReadonlySet<string>;
}

export interface PodDecision {
  readonly start: readonly { readonly container: Container; readonly attempt: number }[];
  readonly stop: readonly { readonly id: string; readonly graceMs: number; readonly why: string }[];
  /** The Pod is being deleted, and nothing of it runs any more. */
  readonly ended: boolean;
  /** The Pod fails as a whole, whatever its containers say. */
  readonly failed?: { readonly reason: string; readonly message: string };
  /** Containers that wait for their next start, until when. */
  readonly backingOff: ReadonlyMap<string, { readonly untilMs: number; readonly delayMs: number }>;
  /** When to look again although nothing changed, Unix milliseconds. */
  readonly nextAt?: number;
}

const graceDefaultSeconds = 30;
const restartFirstMs = 10_000;
const restartMostMs = 300_000;
/** A container that ran this long starts afresh, without a wait. */
const restartForgetMs = 600_000;

/** What to do with a Pod now. A start still needs its image, its volumes and its configuration. */
export function decidePod(pod: Pod, facts: PodFacts): PodDecision {
  const running = facts.containers.filter(({ state }) => state.phase === 'running');
  const graceMs =
    1000 *
    (pod.metadata.deletionGracePeriodSeconds ??
      pod.spec.terminationGracePeriodSeconds ??
      graceDefaultSeconds);
  const stopAll = (why: string, ms = graceMs) => running.map(({ id }) => ({ id, graceMs: ms, why }));
  const nothing = { start: [], backingOff: new Map() };

  if (pod.metadata.deletionTimestamp !== undefined) {
    return { ...nothing, stop: stopAll('Stopping container'), ended: running.length === 0 };
  }
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') {
    return { ...nothing, stop: stopAll('Stopping container'), ended: false };
  }
  if (facts.refused !== undefined) {
    return {
      ...nothing,
      stop: stopAll('Stopping container'),
      ended: false,
      failed: { reason: 'NotSupported', message: `Pod was rejected: ${facts.refused}` },
    };
  }
  const deadline = pod.spec.activeDeadlineSeconds;
  const deadlineAt =
    deadline === undefined || deadline === null ? undefined : facts.startedAt + deadline * 1000;
  if (deadlineAt !== undefined && facts.now >= deadlineAt) {
    return {
      ...nothing,
      stop: stopAll('Stopping container'),
      ended: false,
      failed: {
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      },
    };
  }
  return carryOn(pod, facts, deadlineAt);
}

function carryOn(pod: Pod, facts: PodFacts, deadlineAt: number | undefined): PodDecision {
  const start: { container: Container; attempt: number }[] = [];
  const backingOff = new Map<string, { untilMs: number; delayMs: number }>();
  const consider = (container: Container, mayRestart: (exitCode: number) => boolean) => {
    const last = latestOf(facts.containers, container.name);
    if (last?.state.phase === 'running') return;
    if (last !== undefined && !mayRestart(last.state.exitCode)) return;
    const attempt = last === undefined ? 0 : last.attempt + 1;
    const delayMs = last === undefined ? 0 : restartDelayMs(last);
    const untilMs = (last?.state.phase === 'exited' ? last.state.finishedAt : 0) + delayMs;
    if (stillWaits(untilMs, facts.now, delayMs)) backingOff.set(container.name, { untilMs, delayMs });
    else start.push({ container, attempt });
  };
  const policy = pod.spec.restartPolicy ?? 'Always';
  const initial = currentInit(pod, facts);
  if (initial !== undefined) {
    consider(initial, (exitCode) => exitCode !== 0 && policy !== 'Never');
  } else {
    for (const container of pod.spec.containers) {
      consider(container, (exitCode) => policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0));
    }
  }
  const stop = facts.containers
    .filter(({ id, state }) => state.phase === 'running' && facts.unhealthy.has(id))
    .map(({ id, container }) => ({
      id,
      graceMs: 1000 * (pod.spec.terminationGracePeriodSeconds ?? graceDefaultSeconds),
      why: `Container ${container} failed liveness probe, will be restarted`,
    }));
  const times = [
    ...[...backingOff.values()].map(({ untilMs }) => untilMs),
    ...start.map(({ container }) => facts.blocked.get(container.name)?.retryAt),
    ...start.map(({ container }) => {
      const image = facts.images.get(container.name);
      return image?.state === 'failed' ? image.retryAt : undefined;
    }),
    deadlineAt,
  ].filter((time) => time !== undefined && time > facts.now) as number[];
  return {
    start,
    stop,
    ended: false,
    backingOff,
    ...(times.length === 0 ? {} : { nextAt: Math.min(...times) }),
  };
}

/** The init container whose turn it is; undefined when all have succeeded. A failed one keeps its turn. */
export function currentInit(pod: Pod, facts: Pick<PodFacts, 'containers'>): Container | undefined {
  // A main container that has begun says that all of them had succeeded, though their records may be gone.
  if (pod.spec.containers.some(({ name }) => latestOf(facts.containers, name) !== undefined))
    return undefined;
  return (pod.spec.initContainers ?? []).find(({ name }) => {
    const last = latestOf(facts.containers, name);
    return last?.state.phase !== 'exited' || last.state.exitCode !== 0;
  });
}

export function latestOf(containers: readonly SeenContainer[], name: string): SeenContainer | undefined {
  return containers
    .filter((one) => one.container === name)
    .reduce<SeenContainer | undefined>(
      (best, one) => (best === undefined || one.attempt > best.attempt ? one : best),
      undefined,
    );
}

/** The first restart is at once, the second after 10 s, then twice as long each time. */
function restartDelayMs(last: SeenContainer): number {
  if (last.state.phase !== 'exited' || last.attempt === 0) return 0;
  if (last.state.finishedAt - last.state.startedAt >= restartForgetMs) return 0;
  return Math.min(restartMostMs, restartFirstMs * 2 ** (last.attempt - 1));
}
