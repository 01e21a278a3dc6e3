import type { Lease, Node, NodeCondition, Pod, Taint } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';
import { tolerates } from './placement.ts';
import { isTerminal } from './pod-facts.ts';

/** A node that has said nothing for this long is no longer known to live (kubernetes, node-monitor-grace-period). */
export const nodeGraceMs = 40_000;
/** Pods stay on a node that is not ready for this long, unless they say otherwise (kubernetes, DefaultTolerationSeconds). */
const tolerationMs = 300_000;

const notReady = 'node.kubernetes.io/not-ready';
const unreachable = 'node.kubernetes.io/unreachable';
const unschedulable = 'node.kubernetes.io/unschedulable';
const ownTaints = [notReady, unreachable, unschedulable];
/** What a kubelet reports; nobody knows how they stand when it has fallen silent. */
const reportedTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** A text that changes with each sign of life of a node: its lease, and the heartbeat in its status. */
export function signOfLife(node: Node, lease: Lease | undefined): string {
  return `${lease?.spec?.renewTime ?? ''} ${readyOf(node)?.lastHeartbeatTime ?? ''}`;
}

export function readyOf(node: Node): NodeCondition | undefined {
  return node.status?.conditions?.find(({ type }) => type === 'Ready');
}

/** The conditions of a node that has fallen silent. The same array where they say so already. */
export function silentConditions(node: Node, now: number): readonly NodeCondition[] {
  const standing = node.status?.conditions ?? [];
  const never = readyOf(node) === undefined;
  const silent = (type: string): NodeCondition => ({
    type,
    status: 'Unknown',
    reason: never ? 'NodeStatusNeverUpdated' : 'NodeStatusUnknown',
    message: never ? 'Kubelet never posted node status.' : 'Kubelet stopped posting node status.',
    lastTransitionTime: rfc3339(now),
  });
  if (never) return [...standing, silent('Ready')];
  const changed = standing.some(({ type, status }) => reportedTypes.includes(type) && status !== 'Unknown');
  if (!changed) return standing;
  return standing.map((condition) =>
    reportedTypes.includes(condition.type) && condition.status !== 'Unknown'
      ? { ...condition, ...silent(condition.type) }
      : condition,
  );
}

/**
 * The taints that follow from how a node stands, beside those that others have set. The same array where nothing
 * changes.
 */
export function taintsOf(node: Node, now: number): readonly Taint[] {
  const standing = node.spec?.taints ?? [];
  const ready = readyOf(node)?.status;
  const wanted: Taint[] = [];
  if (node.spec?.unschedulable === true) wanted.push({ key: unschedulable, effect: 'NoSchedule' });
  if (ready !== undefined && ready !== 'True') {
    const key = ready === 'False' ? notReady : unreachable;
    wanted.push({ key, effect: 'NoSchedule' }, { key, effect: 'NoExecute' });
  }
  const others = standing.filter(({ key }) => !ownTaints.includes(key));
  const own = standing.filter(({ key }) => ownTaints.includes(key));
  const same = (a: Taint, b: Taint) => a.key === b.key && a.effect === b.effect;
  if (own.length === wanted.length && wanted.every((taint) => own.some((other) => same(taint, other)))) {
    return standing;
  }
  const kept = wanted.map(
    (taint) => own.find((other) => same(taint, other)) ?? { ...taint, timeAdded: rfc3339(now) },
  );
  return [...others, ...kept];
}

/**
 * Which Pods a node's NoExecute taints drive out now, and after how many milliseconds the next one (kubernetes,
 * pkg/controller/tainteviction).
 */
export function driveOut(node: Node, pods: readonly Pod[], now: number): { pods: Pod[]; nextMs?: number } {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (taints.length === 0) return { pods: [] };
  const due: Pod[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
  for (const pod of pods) {
    if (pod.spec.nodeName !== node.metadata.name || isTerminal(pod)) continue;
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const leftMs = Math.min(...taints.map((taint) => patienceMs(pod, taint, now)));
    if (leftMs <= 0) due.push(pod);
    else nextMs = Math.min(nextMs, leftMs);
  }
  return { pods: due, ...(Number.isFinite(nextMs) ? { nextMs } : {}) };
}

/** Milliseconds for which a Pod still bears a taint. */
function patienceMs(pod: Pod, taint: Taint, now: number): number {
  const bearing = (pod.spec.tolerations ?? []).filter((toleration) => tolerates([toleration], taint));
  const sinceMs = Date.parse(taint.timeAdded ?? '') || now;
  if (bearing.length === 0) {
    return [notReady, unreachable].includes(taint.key) ? sinceMs + tolerationMs - now : 0;
  }
  const seconds = bearing.map(({ tolerationSeconds }) => tolerationSeconds ?? Number.POSITIVE_INFINITY);
  return sinceMs + Math.min(...seconds) * 1000 - now;
}
