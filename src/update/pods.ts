import type { AnyObject, Pod } from '../api/core.ts';
import { cleanText } from '../gates/result.ts';
import type { KubeClient } from '../kube/client.ts';
import { findCondition } from '../kube/conditions.ts';
import { counted } from '../observe/count.ts';
import { sinceOf } from './ready.ts';
import type { TaskWait } from './wait.ts';

/** Milliseconds in which a Pod may mend itself (a pull is tried again) before the update fails by it. */
export const podToleratedMs = 60_000;
/** Characters of the words of a Pod that are told. */
const wordsMax = 300;
/** Pods of one workload that are looked at. */
const podsMax = 100;
/** Ends of a container in vain after which it counts as one that comes up never, also while it is tried again. */
const restartsMin = 2;
/** Waiting reasons of a container that is on its way. */
const onTheWay = ['', 'ContainerCreating', 'PodInitializing'];

/** Why a workload does not come up, in the words of its Pods; undefined where they tell nothing. */
export async function podTrouble(client: KubeClient, live: AnyObject): Promise<TaskWait | undefined> {
  const { namespace } = live.metadata;
  const matched = (live as unknown as { spec?: { selector?: { matchLabels?: Record<string, string> } } }).spec
    ?.selector?.matchLabels;
  const labelSelector = Object.entries(matched ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  if (namespace === undefined || labelSelector === '') return undefined;
  const { items } = await client.list(client.kinds.Pod, { namespace, labelSelector });
  return troubleOf(items);
}

/** The first trouble among the Pods, the newest first: those of an older template say nothing of this release. */
export function troubleOf(pods: readonly Pod[]): TaskWait | undefined {
  const born = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  const standing = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort((a, b) => (born(a) < born(b) ? 1 : born(a) > born(b) ? -1 : 0));
  for (const pod of standing.slice(0, podsMax)) {
    const trouble = troubleOfPod(pod);
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}

function troubleOfPod(pod: Pod): TaskWait | undefined {
  const { metadata, status } = pod;
  const scheduled = findCondition(status?.conditions, 'PodScheduled');
  // It may wait for a node that is drained and comes back: told, and no failure.
  if (scheduled?.status === 'False') {
    const words = cleanText(scheduled.message ?? '', wordsMax);
    return { message: `Pod ${metadata.name}: ${scheduled.reason ?? 'Unschedulable'}: ${words}` };
  }
  for (const each of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason = '', message = '' } = each.state?.waiting ?? {};
    const isCrashing =
      reason === 'CrashLoopBackOff' ||
      (each.restartCount >= restartsMin && !each.ready && each.state?.terminated?.exitCode !== 0);
    if (!isCrashing && onTheWay.includes(reason)) continue;
    const told = isCrashing ? `CrashLoopBackOff: ${crashWords(each)}` : `${reason}: ${message}`;
    const words = cleanText(told, wordsMax).replace(/\s*\n\s*/g, ' ');
    return {
      message: `Pod ${metadata.name}, container ${each.name}: ${words}`,
      failing: 'WorkloadNotProgressing',
      toleratedMs: podToleratedMs,
      ...sinceOf(metadata.creationTimestamp),
    };
  }
  return undefined;
}

type Status = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

function crashWords({ restartCount, state, lastState }: Status): string {
  const ended = lastState?.terminated ?? state?.terminated;
  const times = `started again ${counted(restartCount, 'time')}`;
  if (ended === undefined) return times;
  const { exitCode, reason = '', message = '' } = ended;
  const why = [reason, message].filter((part) => part !== '').join(': ');
  return `${times}, ended with exit code ${exitCode}${why === '' ? '' : ` (${why})`}`;
}
