import { messageOf } from '../errors/error.ts';
import type { Finding } from './finding.ts';
import { type ContainerView, type PodTrouble, type PodView, podTrouble } from './pod.ts';
import { type CheckIdentity, cleanText, parseCheckOutput } from './result.ts';

/** The parts of a Job that its outcome depends on. */
export interface JobView {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}

/** All that is seen of one check of one run. */
export interface CheckObservation {
  readonly identity: CheckIdentity;
  readonly now: number;
  /** When the controller gives up, whatever the Job says. */
  readonly deadline: number;
  /** Whether the Job was seen before, so that its absence means that somebody removed it. */
  readonly jobWasSeen: boolean;
  readonly job: JobView | undefined;
  readonly pods: readonly PodView[];
  /** Events about the Job, newest last. */
  readonly events: readonly { readonly reason: string; readonly message: string }[];
  /** What the check wrote, once its container has ended; the words of why not, where it cannot be read. */
  readonly log?: { readonly bytes: Uint8Array } | { readonly unreadable: string };
}

export interface CheckOutcome {
  readonly result: Finding['result'];
  /** One CamelCase word: Passed, ImagePullFailed, OOMKilled, … */
  readonly reason: string;
  readonly message: string;
  readonly risks: ReturnType<typeof parseCheckOutput>['risks'];
}

/** Milliseconds that a Job may be without any pod before that is an error. */
const startGraceMs = 60_000;
/** Milliseconds that the creation of its pod may fail (the namespace may be new) before that is an error. */
const admissionGraceMs = 15_000;

/** Exit codes of the check contract: ran and wrote its result; ran, and a blocking risk is in it. */
export const exitRan = 0;
export const exitBlocked = 3;

/**
 * What the state of a Job and its pods says about the check. Passed needs positive evidence: a complete Job, exit
 * code 0 and a whole document bound to this run. Everything that keeps a check from answering is an Error in the
 * cluster's own words, found from the pods, since a Job stays active on most of it.
 */
export function checkOutcome(seen: CheckObservation): CheckOutcome {
  const trouble = firstTrouble(seen);
  if (trouble !== undefined) return { result: 'Error', ...trouble, risks: [] };
  const ended = endedContainer(seen);
  if (ended !== undefined) return fromContainer(seen, ended);
  const failed = failedJob(seen);
  if (failed !== undefined) return { result: 'Error', ...failed, risks: [] };
  if (seen.now > seen.deadline) {
    return error('DeadlineExceeded', `it did not end in time; its last state: ${lastState(seen)}`);
  }
  return { result: 'Running', reason: 'Running', message: lastState(seen), risks: [] };
}

function firstTrouble(seen: CheckObservation): PodTrouble | undefined {
  if (seen.job === undefined) {
    return seen.jobWasSeen
      ? { reason: 'JobVanished', message: 'its Job was deleted while it ran' }
      : undefined;
  }
  for (const pod of seen.pods) {
    const trouble = podTrouble(pod, seen.now);
    if (trouble !== undefined) return trouble;
  }
  if (seen.pods.length > 0 || jobCondition(seen.job, 'Failed') !== undefined) return undefined;
  const age = seen.now - seen.job.createdAt;
  const refused = seen.events.findLast((event) => event.reason === 'FailedCreate');
  if (refused !== undefined && age >= admissionGraceMs) {
    const quota = /exceeded quota/i.test(refused.message);
    return { reason: quota ? 'QuotaExceeded' : 'PodRefused', message: cleanText(refused.message) };
  }
  if (age >= startGraceMs) {
    return { reason: 'NotStarted', message: `its Job has no pod after ${Math.round(age / 1000)} s` };
  }
  return undefined;
}

function endedContainer(seen: CheckObservation) {
  for (const pod of seen.pods) {
    const ended = pod.containers.find((container) => !container.init && container.terminated !== undefined);
    if (ended?.terminated !== undefined) return ended.terminated;
  }
  return undefined;
}

function fromContainer(
  seen: CheckObservation,
  ended: NonNullable<ContainerView['terminated']>,
): CheckOutcome {
  if (ended.exitCode !== exitRan && ended.exitCode !== exitBlocked) {
    const words = ended.message === '' ? '' : `: ${cleanText(ended.message, 1000)}`;
    return error('CheckFailed', `it ended with exit code ${ended.exitCode}${words}`);
  }
  if (seen.log === undefined) {
    return {
      result: 'Running',
      reason: 'ReadingResult',
      message: 'it has ended; its result is being read',
      risks: [],
    };
  }
  if ('unreadable' in seen.log) {
    if (seen.now <= seen.deadline) {
      return {
        result: 'Running',
        reason: 'ReadingResult',
        message: `its result cannot be read yet: ${seen.log.unreadable}`,
        risks: [],
      };
    }
    return error(
      'ResultUnreadable',
      `it ended, and its output cannot be read: ${cleanText(seen.log.unreadable)}`,
    );
  }
  try {
    const document = parseCheckOutput(seen.log.bytes, seen.identity);
    return fromDocument(seen, ended.exitCode, document);
  } catch (problem) {
    return error('ResultInvalid', cleanText(messageOf(problem)));
  }
}

function fromDocument(
  seen: CheckObservation,
  exitCode: number,
  document: ReturnType<typeof parseCheckOutput>,
): CheckOutcome {
  const blocking = document.risks.some((risk) => risk.severity === 'blocking');
  if (blocking !== (exitCode === exitBlocked)) {
    const says = blocking ? 'names a blocking risk' : 'names no blocking risk';
    return error('ResultContradicts', `it ended with exit code ${exitCode}, but its result ${says}`);
  }
  if (document.risks.length > 0) {
    const message = document.risks.map((risk) => risk.message).join('; ');
    return { result: 'Risk', reason: 'RisksFound', message, risks: document.risks };
  }
  if (seen.job !== undefined && jobCondition(seen.job, 'Complete') === undefined) {
    if (seen.now > seen.deadline)
      return error('DeadlineExceeded', 'it ended well, but its Job was never completed');
    return {
      result: 'Running',
      reason: 'Completing',
      message: 'it has ended; its Job is not complete yet',
      risks: [],
    };
  }
  return { result: 'Passed', reason: 'Passed', message: document.message || 'nothing was found', risks: [] };
}

function failedJob({ job }: CheckObservation): PodTrouble | undefined {
  const failed = job === undefined ? undefined : jobCondition(job, 'Failed');
  if (failed === undefined) return undefined;
  return {
    reason: failed.reason === undefined || failed.reason === '' ? 'JobFailed' : failed.reason,
    message: `its Job failed: ${cleanText(failed.message ?? failed.reason ?? 'no reason given')}`,
  };
}

function jobCondition(job: JobView, type: string) {
  return job.conditions.find((condition) => condition.type === type && condition.status === 'True');
}

function lastState({ job, pods }: CheckObservation): string {
  if (job === undefined) return 'its Job is not created yet';
  const pod = pods.at(-1);
  if (pod === undefined) return 'its Job has no pod yet';
  if (pod.scheduledAt === undefined)
    return `pod ${pod.name} waits for a node${pod.unschedulable === undefined ? '' : `: ${cleanText(pod.unschedulable)}`}`;
  for (const { name, waiting } of pod.containers) {
    if (waiting !== undefined && waiting.reason !== 'PodInitializing' && waiting.reason !== '') {
      return `container ${name}: ${waiting.reason}${waiting.message === '' ? '' : `: ${cleanText(waiting.message)}`}`;
    }
  }
  return `pod ${pod.name} is ${pod.phase}`;
}

function error(reason: string, message: string): CheckOutcome {
  return { result: 'Error', reason, message, risks: [] };
}
