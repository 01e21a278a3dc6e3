import type { Deployment, Pod, PodDisruptionBudget } from '../api/core.ts';
import { selects } from '../api/selector.ts';
import { setCondition } from '../kube/conditions.ts';
import { controllerOf, isReady, isTerminal } from './pod-facts.ts';
import { scaled } from './quantity.ts';

export type BudgetStatus = NonNullable<PodDisruptionBudget['status']>;

/** An evicted Pod that is still there after this long was not evicted: it counts again (kubernetes, disruption.go). */
const evictionSeenMs = 120_000;

/**
 * How many of a budget's Pods may be evicted now (kubernetes, pkg/controller/disruption).
 *
 * @param pods of the namespace.
 * @param deployments of the namespace: what they want tells how many Pods are expected.
 * @param now Unix milliseconds.
 */
export function decideBudget(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  deployments: readonly Deployment[],
  now: number,
): { status: BudgetStatus; requeueAfterMs?: number } {
  const chosen = pods.filter((pod) => selects(budget.spec.selector, pod.metadata.labels));
  const expected = expectation(budget, chosen, deployments);
  const observedGeneration = budget.metadata.generation ?? 0;
  if ('problem' in expected) {
    const status: BudgetStatus = {
      ...(budget.status ?? { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }),
      disruptionsAllowed: 0,
      observedGeneration,
    };
    return { status: withCondition(status, 'False', 'SyncFailed', expected.problem, now) };
  }
  const { disruptedPods, nextMs } = stillGoing(budget, chosen, now);
  const going = disruptedPods ?? {};
  const healthy = chosen.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined && isReady(pod) && going[pod.metadata.name] === undefined,
  ).length;
  const { desiredHealthy, expectedPods } = expected;
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, healthy - desiredHealthy) : 0;
  const { disruptedPods: _before, ...rest } = budget.status ?? {};
  const counts: BudgetStatus = {
    ...rest,
    observedGeneration,
    disruptionsAllowed,
    currentHealthy: healthy,
    desiredHealthy,
    expectedPods,
    ...(disruptedPods === undefined ? {} : { disruptedPods }),
  };
  const status =
    disruptionsAllowed > 0
      ? withCondition(counts, 'True', 'SufficientPods', '', now)
      : withCondition(counts, 'False', 'InsufficientPods', '', now);
  return { status, ...(nextMs === undefined ? {} : { requeueAfterMs: nextMs }) };
}

function withCondition(
  status: BudgetStatus,
  is: 'True' | 'False',
  reason: string,
  message: string,
  now: number,
): BudgetStatus {
  const { observedGeneration = 0 } = status;
  const update = { type: 'DisruptionAllowed', status: is, reason, message, observedGeneration };
  return { ...status, conditions: setCondition(status.conditions, update, now) };
}

type Expectation =
  | { readonly expectedPods: number; readonly desiredHealthy: number }
  | { readonly problem: string };

function expectation(
  { spec }: PodDisruptionBudget,
  chosen: readonly Pod[],
  deployments: readonly Deployment[],
): Expectation {
  const { maxUnavailable, minAvailable } = spec;
  if (maxUnavailable === undefined && typeof minAvailable === 'number') {
    return { expectedPods: chosen.filter((pod) => !isTerminal(pod)).length, desiredHealthy: minAvailable };
  }
  const scale = expectedScale(chosen, deployments);
  if ('problem' in scale) return scale;
  const { expectedPods } = scale;
  if (maxUnavailable !== undefined) {
    const most = scaled(maxUnavailable, expectedPods, 'up');
    if (most === undefined)
      return { problem: `maxUnavailable ${maxUnavailable} is neither a number nor a percentage` };
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - most) };
  }
  const least = scaled(minAvailable ?? 0, expectedPods, 'up');
  if (least === undefined)
    return { problem: `minAvailable ${minAvailable} is neither a number nor a percentage` };
  return { expectedPods, desiredHealthy: least };
}

/** How many Pods their controllers want. Pods that nobody controls are not counted, as there. */
function expectedScale(
  chosen: readonly Pod[],
  deployments: readonly Deployment[],
): { expectedPods: number } | { problem: string } {
  const wanted = new Map<string, number>();
  for (const pod of chosen) {
    const controller = controllerOf(pod);
    if (controller === undefined || wanted.has(controller.uid)) continue;
    if (controller.kind !== 'Deployment') {
      return { problem: `${controller.kind} ${controller.name} does not implement the scale subresource` };
    }
    const deployment = deployments.find(({ metadata }) => metadata.uid === controller.uid);
    // It is gone, and so will its Pods be.
    if (deployment !== undefined) wanted.set(controller.uid, deployment.spec.replicas ?? 1);
  }
  return { expectedPods: [...wanted.values()].reduce((sum, count) => sum + count, 0) };
}

/** Pods that were let go and have not begun to go yet: they count as gone already. */
function stillGoing(
  budget: PodDisruptionBudget,
  chosen: readonly Pod[],
  now: number,
): { disruptedPods?: Record<string, string>; nextMs?: number } {
  const kept: Record<string, string> = {};
  let nextMs = Number.POSITIVE_INFINITY;
  for (const [name, at] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = chosen.find(({ metadata }) => metadata.name === name);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const leftMs = Date.parse(at) + evictionSeenMs - now;
    if (!(leftMs > 0)) continue;
    kept[name] = at;
    nextMs = Math.min(nextMs, leftMs);
  }
  return Object.keys(kept).length === 0 ? {} : { disruptedPods: kept, nextMs };
}
