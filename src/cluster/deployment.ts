import { createHash } from 'node:crypto';
import type { Deployment, LooseCondition, Pod } from '../api/core.ts';
import { type ConditionUpdate, findCondition, removeCondition, setCondition } from '../kube/conditions.ts';
import { rfc3339 } from '../observe/clock.ts';
import { isReady, isTerminal, nameSuffix, readySince } from './pod-facts.ts';
import { scaled } from './quantity.ts';

export interface DeploymentDecision {
  /** Pods of the present template to create now. */
  readonly create: number;
  readonly remove: readonly Pod[];
  readonly status: NonNullable<Deployment['status']>;
  /** When to look again although nothing changed. */
  readonly requeueAfterMs?: number;
}

/** By which a Pod shows the template that it was made of. */
export const templateHashLabel = 'pod-template-hash';

/** Failed Pods that are kept to be looked at; the older ones go. */
const failedPodsKept = 3;
/** After a Pod failed, the next one waits: doubled with each failure that is kept, from one second. */
const replaceFirstMs = 1_000;
/** What comes due is looked at a moment later, since times are kept in whole seconds. */
const settleMs = 50;

/** The value of `templateHashLabel` for the present template: the same for the same template, whatever its order. */
export function templateHash({ spec }: Deployment): string {
  const digest = createHash('sha256').update(canonical(spec.template)).digest();
  let at = 0;
  return nameSuffix(() => (digest[at++] ?? 0) / 256, 10);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}

/** The Pods of a Deployment, sorted out. Those that are going count nowhere. */
interface Sorted {
  readonly fresh: readonly Pod[];
  readonly old: readonly Pod[];
  readonly terminating: readonly Pod[];
  /** Oldest first. */
  readonly failed: readonly Pod[];
}

/**
 * What a Deployment needs next, from what is there (kubernetes, pkg/controller/deployment). Its Pods are made
 * directly, with no ReplicaSet between; reasons and messages are those of Kubernetes all the same.
 *
 * @param pods all that the Deployment controls.
 * @param now Unix milliseconds.
 */
export function decideDeployment(
  deployment: Deployment,
  pods: readonly Pod[],
  now: number,
): DeploymentDecision {
  const sorted = sortPods(deployment, pods);
  const isAvailable = availability(deployment, now);
  const steps = stepsOf(deployment, sorted, isAvailable);
  const waitMs = steps.create === 0 ? 0 : failureWaitMs(sorted.failed, now);
  const tooOld = sorted.failed.slice(0, Math.max(0, sorted.failed.length - failedPodsKept));
  const status = statusOf(deployment, sorted, isAvailable, now);
  const due = [
    waitMs > 0 ? waitMs : Number.POSITIVE_INFINITY,
    nextAvailableMs(deployment, [...sorted.fresh, ...sorted.old], now),
    deadlineMs(deployment, status, now),
  ];
  const next = Math.min(...due);
  return {
    create: waitMs > 0 ? 0 : steps.create,
    remove: [...steps.remove, ...tooOld],
    status,
    ...(Number.isFinite(next) ? { requeueAfterMs: Math.max(0, next) + settleMs } : {}),
  };
}

function sortPods(deployment: Deployment, pods: readonly Pod[]): Sorted {
  const hash = templateHash(deployment);
  const running = pods.filter((pod) => !isTerminal(pod));
  const active = running.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  return {
    fresh: active.filter((pod) => pod.metadata.labels?.[templateHashLabel] === hash),
    old: active.filter((pod) => pod.metadata.labels?.[templateHashLabel] !== hash),
    terminating: running.filter((pod) => pod.metadata.deletionTimestamp !== undefined),
    failed: pods
      .filter((pod) => isTerminal(pod) && pod.metadata.deletionTimestamp === undefined)
      .sort((a, b) => createdAt(a) - createdAt(b)),
  };
}

const createdAt = (pod: Pod) => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;

type IsAvailable = (pod: Pod) => boolean;

function availability({ spec }: Deployment, now: number): IsAvailable {
  const minReadyMs = (spec.minReadySeconds ?? 0) * 1000;
  return (pod) => {
    const since = readySince(pod);
    return since !== undefined && (minReadyMs === 0 || since + minReadyMs <= now);
  };
}

interface Steps {
  readonly create: number;
  readonly remove: readonly Pod[];
}

function stepsOf(deployment: Deployment, sorted: Sorted, isAvailable: IsAvailable): Steps {
  const { spec } = deployment;
  const { fresh, old } = sorted;
  const wanted = spec.replicas ?? 1;
  if (spec.paused === true) return scaleOnly(wanted, sorted);
  const surplus =
    fresh.length > wanted ? dispensable(fresh, isAvailable).slice(0, fresh.length - wanted) : [];
  if (old.length === 0 && spec.strategy?.type !== 'Recreate') {
    return { create: Math.max(0, wanted - fresh.length), remove: surplus };
  }
  if (spec.strategy?.type === 'Recreate') {
    const oldRuns = old.length > 0 || sorted.terminating.some((pod) => !isFresh(deployment, pod));
    return { create: oldRuns ? 0 : Math.max(0, wanted - fresh.length), remove: [...surplus, ...old] };
  }
  return rollOn(deployment, sorted, surplus, isAvailable);
}

const isFresh = (deployment: Deployment, pod: Pod) =>
  pod.metadata.labels?.[templateHashLabel] === templateHash(deployment);

/** A paused Deployment keeps its number of Pods, and changes none of them for a new template. */
function scaleOnly(wanted: number, { fresh, old }: Sorted): Steps {
  const all = [...old, ...fresh];
  const over = all.length - wanted;
  return over >= 0
    ? { create: 0, remove: dispensable(all, isReady).slice(0, over) }
    : { create: -over, remove: [] };
}

/** The bounds of a rolling update; at least one of them lets it move. */
export function rollingBounds({ spec }: Deployment): { surge: number; unavailable: number } {
  const wanted = spec.replicas ?? 1;
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {};
  const surge = scaled(maxSurge, wanted, 'up') ?? 0;
  const unavailable = scaled(maxUnavailable, wanted, 'down') ?? 0;
  return { surge, unavailable: Math.min(surge === 0 && unavailable === 0 ? 1 : unavailable, wanted) };
}

/** One step of a rolling update: as many new Pods as the surge allows, as few old ones as availability allows. */
function rollOn(
  deployment: Deployment,
  sorted: Sorted,
  surplus: readonly Pod[],
  isAvailable: IsAvailable,
): Steps {
  const { old } = sorted;
  const fresh = sorted.fresh.filter((pod) => !surplus.includes(pod));
  const wanted = deployment.spec.replicas ?? 1;
  const { surge, unavailable } = rollingBounds(deployment);
  const total = fresh.length + old.length;
  const create = Math.max(0, Math.min(wanted - fresh.length, wanted + surge - total));
  const needed = wanted - unavailable;
  // Pods of the new template that are not available yet must not be paid for with old ones that are.
  const newUnavailable = fresh.filter((pod) => !isAvailable(pod)).length;
  let mayGo = total - needed - newUnavailable;
  const remove: Pod[] = [];
  for (const pod of dispensable(old, isAvailable)) {
    if (isAvailable(pod)) continue;
    if (mayGo <= 0) break;
    remove.push(pod);
    mayGo -= 1;
  }
  const available = [...fresh, ...old].filter(isAvailable);
  const spare = Math.min(available.length - needed, mayGo);
  const healthy = dispensable(old, isAvailable).filter(isAvailable);
  remove.push(...healthy.slice(0, Math.max(0, spare)));
  return { create, remove: [...surplus, ...remove] };
}

/** Those that can be spared first: without a node, not ready, ready only lately (kubernetes, ActivePods order). */
function dispensable(pods: readonly Pod[], isAvailable: IsAvailable): Pod[] {
  const rank = (pod: Pod) =>
    (pod.spec.nodeName === undefined ? 0 : 1) +
    (pod.status?.phase === 'Running' ? 1 : 0) +
    (isReady(pod) ? 1 : 0) +
    (isAvailable(pod) ? 1 : 0);
  return [...pods].sort(
    (a, b) => rank(a) - rank(b) || (readySince(b) ?? 0) - (readySince(a) ?? 0) || createdAt(b) - createdAt(a),
  );
}

function failureWaitMs(failed: readonly Pod[], now: number): number {
  const last = failed.at(-1);
  if (last === undefined) return 0;
  const wait = replaceFirstMs * 2 ** Math.min(failed.length - 1, failedPodsKept);
  return Math.max(0, createdAt(last) + wait - now);
}

type Status = NonNullable<Deployment['status']>;

function statusOf(deployment: Deployment, sorted: Sorted, isAvailable: IsAvailable, now: number): Status {
  const { fresh, old } = sorted;
  const active = [...fresh, ...old];
  const available = active.filter(isAvailable).length;
  const wanted = deployment.spec.replicas ?? 1;
  const counts: Status = {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: active.length,
    updatedReplicas: fresh.length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: available,
    unavailableReplicas: Math.max(0, Math.max(wanted, active.length) - available),
  };
  const conditions = conditionsOf(deployment, counts, now);
  return { ...deployment.status, ...counts, conditions };
}

function conditionsOf(deployment: Deployment, counts: Status, now: number): LooseCondition[] {
  const { availableReplicas = 0 } = counts;
  const wanted = deployment.spec.replicas ?? 1;
  const unavailable =
    deployment.spec.strategy?.type === 'Recreate' ? 0 : rollingBounds(deployment).unavailable;
  const enough = availableReplicas >= wanted - unavailable;
  let conditions = put(deployment.status?.conditions ?? [], now, {
    type: 'Available',
    status: enough ? 'True' : 'False',
    reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: enough
      ? 'Deployment has minimum availability.'
      : 'Deployment does not have minimum availability.',
  });
  if (counts.updatedReplicas === wanted) conditions = removeCondition(conditions, 'ReplicaFailure');
  const progressing = progressOf(deployment, counts, now);
  return progressing === undefined ? conditions : put(conditions, now, progressing);
}

/** Whether every Pod wanted is there, of the present template and available, and none beside them. */
function isComplete(wanted: number, counts: Status): boolean {
  return (
    counts.updatedReplicas === wanted && counts.replicas === wanted && counts.availableReplicas === wanted
  );
}

/** What Progressing should say; undefined where it stays as it is. */
function progressOf(deployment: Deployment, counts: Status, now: number): ConditionUpdate | undefined {
  const { spec, status: before = {} } = deployment;
  const standing = findCondition(before.conditions, 'Progressing');
  const set = `ReplicaSet "${deployment.metadata.name}-${templateHash(deployment)}"`;
  const say = (status: ConditionUpdate['status'], reason: string, message: string): ConditionUpdate => ({
    type: 'Progressing',
    status,
    reason,
    message,
  });
  if (spec.paused === true) {
    return standing?.reason === 'ProgressDeadlineExceeded'
      ? undefined
      : say('Unknown', 'DeploymentPaused', 'Deployment is paused');
  }
  if (standing?.reason === 'DeploymentPaused')
    return say('Unknown', 'DeploymentResumed', 'Deployment is resumed');
  const done = say('True', 'NewReplicaSetAvailable', `${set} has successfully progressed.`);
  if (isComplete(spec.replicas ?? 1, counts)) return done;
  const rolledOut = standing?.reason === 'NewReplicaSetAvailable' && standing.message === done.message;
  // Of a Deployment that has got there once, a Pod that is lost is no progress and no lack of it.
  if (rolledOut && counts.replicas === counts.updatedReplicas) return undefined;
  const goesOn = say('True', 'ReplicaSetUpdated', `${set} is progressing.`);
  const moved =
    (counts.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    oldOf(counts) < oldOf(before) ||
    (counts.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (counts.availableReplicas ?? 0) > (before.availableReplicas ?? 0);
  if (standing === undefined || moved || counts.observedGeneration !== before.observedGeneration)
    return goesOn;
  if (standing.reason === 'ProgressDeadlineExceeded') return undefined;
  const since = Date.parse(standing.lastUpdateTime ?? standing.lastTransitionTime ?? '') || now;
  if (now - since < progressDeadlineMs(deployment)) return undefined;
  return say('False', 'ProgressDeadlineExceeded', `${set} has timed out progressing.`);
}

const oldOf = ({ replicas = 0, updatedReplicas = 0 }: Status) => replicas - updatedReplicas;

function progressDeadlineMs({ spec }: Deployment): number {
  return (spec.progressDeadlineSeconds ?? 600) * 1000;
}

/** The conditions with this one; `lastUpdateTime` says when it last had something new to say. */
function put(conditions: readonly LooseCondition[], now: number, update: ConditionUpdate): LooseCondition[] {
  const goesOn = update.reason === 'ReplicaSetUpdated';
  const set = setCondition(conditions, update, now);
  if (set === conditions && !goesOn) return set;
  const lastUpdateTime = rfc3339(now);
  return set.map((condition) =>
    condition.type === update.type ? { ...condition, lastUpdateTime } : condition,
  );
}

/** Milliseconds until a ready Pod will have been ready for long enough. */
function nextAvailableMs({ spec }: Deployment, pods: readonly Pod[], now: number): number {
  const minReadyMs = (spec.minReadySeconds ?? 0) * 1000;
  const waits = pods
    .map((pod) => (readySince(pod) ?? Number.NEGATIVE_INFINITY) + minReadyMs - now)
    .filter((ms) => ms > 0);
  return minReadyMs === 0 ? Number.POSITIVE_INFINITY : Math.min(...waits, Number.POSITIVE_INFINITY);
}

function deadlineMs(deployment: Deployment, status: Status, now: number): number {
  const standing = findCondition(status.conditions, 'Progressing');
  if (standing?.status !== 'True' || standing.reason === 'NewReplicaSetAvailable')
    return Number.POSITIVE_INFINITY;
  const since = Date.parse(standing.lastUpdateTime ?? standing.lastTransitionTime ?? '') || now;
  return since + progressDeadlineMs(deployment) - now;
}
