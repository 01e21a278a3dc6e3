import { cleanText } from './result.ts';

/** The parts of a pod that its check's outcome depends on. */
export interface ContainerView {
  readonly name: string;
  readonly init: boolean;
  readonly waiting?: { readonly reason: string; readonly message: string };
  readonly running?: boolean;
  readonly terminated?: { readonly exitCode: number; readonly reason: string; readonly message: string };
}

export interface PodView {
  readonly name: string;
  readonly createdAt: number;
  /** When it was given a node; undefined where it was not. */
  readonly scheduledAt?: number;
  readonly unschedulable?: string;
  readonly phase: string;
  /** Status reason of the pod itself: Evicted, NodeLost, … */
  readonly reason?: string;
  readonly message?: string;
  readonly containers: readonly ContainerView[];
}

/** What keeps a pod from doing its work: a word for programs and the cluster's own words. */
export interface PodTrouble {
  readonly reason: string;
  readonly message: string;
}

/** Milliseconds in which a pull may fail and be tried again before it counts. */
const pullGraceMs = 60_000;
/** Milliseconds that a pod may wait for a node. */
const scheduleGraceMs = 60_000;

const pullReasons = ['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable'];
/** Waiting reasons that no retry mends. */
const fatalReasons = [
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ImageInspectError',
  'InvalidImageName',
  'RunContainerError',
  'SignatureValidationFailed',
];
/** What a registry says when the content is not there; trying again cannot help. */
const goneForGood =
  /manifest unknown|name unknown|has no manifest|not found: manifest|unexpected status code 404|manifest .* not found/i;
/** What may pass: where one of several mirrors says it, another's "unknown" is not the last word. */
const mayPass =
  /refused|time(?:d )?out|no such host|unreachable|reset by peer|\bEOF\b|too many requests|\b(?:429|50\d)\b/i;

/** The trouble of a pod, or undefined while it may still come to its end by itself. */
export function podTrouble(pod: PodView, now: number): PodTrouble | undefined {
  if (
    pod.reason !== undefined &&
    pod.reason !== '' &&
    pod.phase === 'Failed' &&
    pod.reason !== 'DeadlineExceeded'
  ) {
    const ended = pod.containers.some((container) => !container.init && container.terminated !== undefined);
    if (!ended) return { reason: pod.reason, message: cleanText(pod.message ?? pod.reason) };
  }
  if (
    pod.scheduledAt === undefined &&
    pod.unschedulable !== undefined &&
    now - pod.createdAt >= scheduleGraceMs
  ) {
    return { reason: 'Unschedulable', message: `no node takes its pod: ${cleanText(pod.unschedulable)}` };
  }
  for (const container of pod.containers) {
    const trouble = containerTrouble(container, pod, now);
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}

function containerTrouble(container: ContainerView, pod: PodView, now: number): PodTrouble | undefined {
  const { waiting, terminated } = container;
  if (terminated !== undefined) return killed(container) ?? initFailed(container);
  if (waiting === undefined) return undefined;
  if (fatalReasons.includes(waiting.reason)) {
    return { reason: waiting.reason, message: inContainer(container, waiting.message || waiting.reason) };
  }
  if (!pullReasons.includes(waiting.reason)) return undefined;
  const since = pod.scheduledAt ?? pod.createdAt;
  const isFinal = goneForGood.test(waiting.message) && !mayPass.test(waiting.message);
  if (!isFinal && now - since < pullGraceMs) return undefined;
  return {
    reason: 'ImagePullFailed',
    message: inContainer(container, waiting.message || waiting.reason),
  };
}

/** Ended by a signal: the check said nothing about the cluster. */
function killed(container: ContainerView): PodTrouble | undefined {
  const ended = container.terminated;
  if (ended === undefined) return undefined;
  if (ended.reason === 'OOMKilled') {
    return {
      reason: 'OOMKilled',
      message: inContainer(container, `killed for its use of memory (exit code ${ended.exitCode})`),
    };
  }
  if (ended.exitCode === 137)
    return { reason: 'Killed', message: inContainer(container, 'killed (exit code 137)') };
  if (ended.exitCode === 143) {
    return {
      reason: 'Terminated',
      message: inContainer(container, 'told to end before it was done (exit code 143)'),
    };
  }
  return undefined;
}

function initFailed(container: ContainerView): PodTrouble | undefined {
  const ended = container.terminated;
  if (ended === undefined || !container.init || ended.exitCode === 0) return undefined;
  const words = ended.message === '' ? '' : `: ${ended.message}`;
  return {
    reason: 'InitFailed',
    message: inContainer(container, `ended with exit code ${ended.exitCode}${words}`),
  };
}

function inContainer(container: ContainerView, words: string): string {
  return `container ${container.name}: ${cleanText(words)}`;
}
