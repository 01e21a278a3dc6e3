import type { Job, LooseCondition, Pod } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';
import { finishedAt, isReady, isTerminal } from './pod-facts.ts';
import { failureRule } from './pod-failure-policy.ts';

export interface JobDecision {
  /** Pods to create now. */
  readonly create: number;
  /** Names of Pods to delete. */
  readonly remove: readonly string[];
  readonly status: NonNullable<Job['status']>;
  /** The Job itself is to go: its time to live after the end is over. */
  readonly expired: boolean;
  readonly events: readonly { type: 'Normal' | 'Warning'; reason: string; message: string }[];
  /** When to look again although nothing changed. */
  readonly requeueAfterMs?: number;
}

const backoffLimitDefault = 6;
/** A failed Pod is replaced after this, doubled with each further failure (kubernetes, pkg/controller/job). */
const replaceFirstMs = 10_000;
const replaceMostMs = 360_000;
/** What comes due is looked at a moment later, since times are kept in whole seconds. */
const settleMs = 50;

interface Ending {
  readonly reason: string;
  readonly message: string;
}

/**
 * What a Job needs next, from what is there. A Job ends in two steps (kubernetes 1.31 and later): the verdict
 * (`SuccessCriteriaMet`, `FailureTarget`), and once no Pod of it runs any more `Complete` or `Failed`.
 *
 * @param pods all that the Job controls.
 * @param now Unix milliseconds.
 */
export function decideJob(job: Job, pods: readonly Pod[], now: number): JobDecision {
  const { spec } = job;
  const old = job.status ?? {};
  if (isFinished(job)) return finished(job, old, now);

  const counted = countPods(job, pods);
  const suspended = spec.suspend === true;
  const base: NonNullable<Job['status']> = {
    ...old,
    active: counted.active.length,
    ready: counted.active.filter(isReady).length,
    terminating: counted.terminating.length,
    // Pods that were counted once stay counted, though somebody has removed them.
    succeeded: Math.max(old.succeeded ?? 0, counted.succeeded.length),
    failed: Math.max(old.failed ?? 0, counted.failed.length),
  };
  const started = suspended ? undefined : (old.startTime ?? rfc3339(now));
  const conditions = [...(old.conditions ?? [])];
  const standing = targetOf(conditions);
  const ending = standing ?? verdict(job, pods, base, counted, started, now);

  if (ending !== undefined) {
    return end({ job, base, counted, conditions, ending, standing: standing !== undefined, started, now });
  }
  if (suspended) return suspend(base, counted, conditions, now);
  return carryOn({ job, base, counted, conditions, started: started as string, now });
}

/** Whether a Job has its last condition. */
export function isFinished(job: Job): boolean {
  return (job.status?.conditions ?? []).some(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
}

interface Counted {
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
  readonly succeeded: readonly Pod[];
  /** Without those that the failure policy ignores. */
  readonly failed: readonly Pod[];
}

function countPods(job: Job, pods: readonly Pod[]): Counted {
  const failed = pods.filter((pod) => pod.status?.phase === 'Failed');
  const running = pods.filter((pod) => !isTerminal(pod));
  return {
    active: running.filter((pod) => pod.metadata.deletionTimestamp === undefined),
    terminating: running.filter((pod) => pod.metadata.deletionTimestamp !== undefined),
    succeeded: pods.filter((pod) => pod.status?.phase === 'Succeeded'),
    failed: failed.filter((pod) => failureRule(job, pod)?.action !== 'Ignore'),
  };
}

interface Target extends Ending {
  readonly target: 'SuccessCriteriaMet' | 'FailureTarget';
}

function targetOf(conditions: readonly LooseCondition[]): Target | undefined {
  for (const target of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const found = conditions.find(({ type, status }) => type === target && status === 'True');
    if (found !== undefined) return { target, reason: found.reason ?? '', message: found.message ?? '' };
  }
  return undefined;
}

/** Whether the Job is decided now. Failures come first, as there. */
function verdict(
  job: Job,
  pods: readonly Pod[],
  status: NonNullable<Job['status']>,
  counted: Counted,
  started: string | undefined,
  now: number,
): Target | undefined {
  const { spec } = job;
  const fail = (reason: string, message: string): Target => ({ target: 'FailureTarget', reason, message });
  if (spec.completionMode === 'Indexed') {
    return fail('NotSupported', 'completionMode Indexed is not in the scope of this cluster');
  }
  for (const pod of pods) {
    if (pod.status?.phase !== 'Failed') continue;
    const rule = failureRule(job, pod);
    if (rule?.action === 'FailJob') return fail('PodFailurePolicy', rule.message);
  }
  const limit = spec.backoffLimit ?? backoffLimitDefault;
  if ((status.failed ?? 0) > limit || restartsExceed(job, pods, limit)) {
    return fail('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  }
  if (spec.activeDeadlineSeconds !== undefined && started !== undefined) {
    if (now - Date.parse(started) >= spec.activeDeadlineSeconds * 1000) {
      return fail('DeadlineExceeded', 'Job was active longer than specified deadline');
    }
  }
  const succeeded = status.succeeded ?? 0;
  const done =
    spec.completions === undefined || spec.completions === null
      ? succeeded > 0 && counted.active.length === 0
      : succeeded >= spec.completions;
  return done
    ? {
        target: 'SuccessCriteriaMet',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined;
}

/** With restartPolicy OnFailure a Pod tries again itself; its restarts count. */
function restartsExceed(job: Job, pods: readonly Pod[], limit: number): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const pod of pods) {
    if (pod.status?.phase !== 'Running' && pod.status?.phase !== 'Pending') continue;
    const all = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])];
    restarts += all.reduce((sum, container) => sum + container.restartCount, 0);
  }
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

interface Ends {
  readonly job: Job;
  readonly base: NonNullable<Job['status']>;
  readonly counted: Counted;
  readonly conditions: readonly LooseCondition[];
  readonly ending: Target;
  /** The verdict was written before. */
  readonly standing: boolean;
  readonly started: string | undefined;
  readonly now: number;
}

function end({ job, base, counted, conditions, ending, standing, started, now }: Ends): JobDecision {
  const success = ending.target === 'SuccessCriteriaMet';
  const { target, reason, message } = ending;
  const withTarget = standing ? [...conditions] : [...conditions, condition(target, reason, message, now)];
  const startTime = started === undefined ? {} : { startTime: started };
  // First the verdict is on record, then Pods go, then the last word is said.
  const left = counted.active.length + counted.terminating.length;
  if (!standing || left > 0) {
    return {
      create: 0,
      remove: standing ? counted.active.map((pod) => pod.metadata.name) : [],
      status: { ...base, ...startTime, conditions: withTarget },
      expired: false,
      events: [],
      ...(standing ? {} : { requeueAfterMs: 0 }),
    };
  }
  const last = success
    ? condition('Complete', reason, message, now)
    : condition('Failed', reason, message, now);
  const completed = success ? { completionTime: rfc3339(now) } : {};
  return {
    create: 0,
    remove: [],
    status: {
      ...base,
      ...startTime,
      ...completed,
      active: 0,
      ready: 0,
      terminating: 0,
      conditions: [...withTarget, last],
    },
    expired: false,
    events: [
      success
        ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
        : { type: 'Warning', reason, message },
    ],
    ...(job.spec.ttlSecondsAfterFinished === undefined
      ? {}
      : { requeueAfterMs: job.spec.ttlSecondsAfterFinished * 1000 + settleMs }),
  };
}

function suspend(
  base: NonNullable<Job['status']>,
  counted: Counted,
  conditions: readonly LooseCondition[],
  now: number,
): JobDecision {
  const already = conditions.some(({ type, status }) => type === 'Suspended' && status === 'True');
  const { startTime: _stopped, ...rest } = base;
  return {
    create: 0,
    remove: counted.active.map((pod) => pod.metadata.name),
    status: {
      ...rest,
      conditions: already
        ? [...conditions]
        : [
            ...conditions.filter(({ type }) => type !== 'Suspended'),
            condition('Suspended', 'JobSuspended', 'Job suspended', now),
          ],
    },
    expired: false,
    events: already ? [] : [{ type: 'Normal', reason: 'Suspended', message: 'Job suspended' }],
  };
}

interface Goes {
  readonly job: Job;
  readonly base: NonNullable<Job['status']>;
  readonly counted: Counted;
  readonly conditions: readonly LooseCondition[];
  readonly started: string;
  readonly now: number;
}

function carryOn({ job, base, counted, conditions, started, now }: Goes): JobDecision {
  const { spec } = job;
  const wasSuspended = conditions.some(({ type, status }) => type === 'Suspended' && status === 'True');
  const startTime = wasSuspended ? rfc3339(now) : started;
  const resumed = wasSuspended
    ? [
        ...conditions.filter(({ type }) => type !== 'Suspended'),
        { ...condition('Suspended', 'JobResumed', 'Job resumed', now), status: 'False' as const },
      ]
    : [...conditions];

  const parallelism = spec.parallelism ?? 1;
  const succeeded = base.succeeded ?? 0;
  const open = spec.completions === undefined || spec.completions === null;
  // Without a number of completions no new Pod begins once one has succeeded.
  const remaining = open
    ? succeeded > 0
      ? 0
      : parallelism
    : Math.max(0, (spec.completions ?? 0) - succeeded);
  const wanted = open && succeeded > 0 ? counted.active.length : Math.min(parallelism, remaining);
  const surplus = Math.max(0, counted.active.length - wanted);
  // With `Failed` a Pod that is going is replaced only once it has gone.
  const { podReplacementPolicy } = spec as { podReplacementPolicy?: string };
  const going = podReplacementPolicy === 'Failed' ? counted.terminating.length : 0;
  const missing = Math.max(0, wanted - counted.active.length - going);
  const waitMs = missing === 0 ? 0 : replacementWaitMs(counted, now);

  const deadline =
    spec.activeDeadlineSeconds === undefined
      ? Number.POSITIVE_INFINITY
      : Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - now + settleMs;
  const next = Math.min(deadline, waitMs > 0 ? waitMs : Number.POSITIVE_INFINITY);
  const youngest = [...counted.active].sort((a, b) => Number(isReady(a)) - Number(isReady(b)));
  return {
    create: waitMs > 0 ? 0 : missing,
    remove: youngest.slice(0, surplus).map((pod) => pod.metadata.name),
    status: { ...base, startTime, conditions: resumed },
    expired: false,
    events: wasSuspended ? [{ type: 'Normal', reason: 'Resumed', message: 'Job resumed' }] : [],
    ...(Number.isFinite(next) ? { requeueAfterMs: Math.max(settleMs, next) } : {}),
  };
}

/** Milliseconds until a failed Pod may be replaced; failures before the last success do not count. */
function replacementWaitMs(counted: Counted, now: number): number {
  const ends = (pods: readonly Pod[]) =>
    pods.map((pod) => finishedAt(pod) ?? Date.parse(pod.metadata.creationTimestamp ?? ''));
  const lastSuccess = Math.max(0, ...ends(counted.succeeded));
  const since = ends(counted.failed).filter((at) => at > lastSuccess);
  if (since.length === 0) return 0;
  const wait = Math.min(replaceMostMs, replaceFirstMs * 2 ** (since.length - 1));
  return Math.max(0, Math.max(...since) + wait - now);
}

function finished(job: Job, status: NonNullable<Job['status']>, now: number): JobDecision {
  const ttl = job.spec.ttlSecondsAfterFinished;
  const nothing = { create: 0, remove: [], status, events: [] };
  if (ttl === undefined || ttl === null) return { ...nothing, expired: false };
  const last = status.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed');
  const dueMs = Date.parse(last?.lastTransitionTime ?? '') + ttl * 1000 - now;
  return dueMs <= 0
    ? { ...nothing, expired: true }
    : { ...nothing, expired: false, requeueAfterMs: dueMs + settleMs };
}

function condition(type: string, reason: string, message: string, now: number): LooseCondition {
  const time = rfc3339(now);
  return { type, status: 'True', reason, message, lastProbeTime: time, lastTransitionTime: time };
}
