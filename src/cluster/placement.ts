import type { Node, Pod, Taint, Toleration } from '../api/core.ts';
import { meets } from '../api/selector.ts';
import { controllerOf, isTerminal } from './pod-facts.ts';
import { parseQuantity } from './quantity.ts';

export type Placement =
  | { readonly node: string }
  /** Why no node does, in the scheduler's words. */
  | { readonly unschedulable: string };

interface Term {
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
  matchFields?: { key: string; operator: string; values?: string[] }[];
}

const podsPerNodeDefault = 110;

/**
 * Which node a Pod goes to: the first that fits, of those that fit the one with the fewest Pods of the same owner,
 * then with the fewest Pods.
 */
export function place(pod: Pod, nodes: readonly Node[], pods: readonly Pod[]): Placement {
  if (nodes.length === 0) return { unschedulable: 'no nodes available to schedule pods' };
  const reasons = new Map<string, number>();
  const fitting: { node: Node; siblings: number; load: number }[] = [];
  for (const node of nodes) {
    const there = pods.filter((other) => other.spec.nodeName === node.metadata.name && !isTerminal(other));
    const misfits = misfitsOf(pod, node, there);
    for (const reason of misfits) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    if (misfits.length > 0) continue;
    const owner = controllerOf(pod)?.uid;
    const siblings =
      owner === undefined ? 0 : there.filter((other) => controllerOf(other)?.uid === owner).length;
    fitting.push({ node, siblings, load: there.length });
  }
  fitting.sort(
    (a, b) =>
      a.siblings - b.siblings || a.load - b.load || (a.node.metadata.name < b.node.metadata.name ? -1 : 1),
  );
  const best = fitting[0];
  if (best !== undefined) return { node: best.node.metadata.name };
  const told = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return { unschedulable: `0/${nodes.length} nodes are available: ${told.join(', ')}.` };
}

function misfitsOf(pod: Pod, node: Node, there: readonly Pod[]): string[] {
  const tolerations = pod.spec.tolerations ?? [];
  const cordon: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  if (node.spec?.unschedulable === true && !tolerates(tolerations, cordon)) {
    return ['node(s) were unschedulable'];
  }
  const taint = (node.spec?.taints ?? []).find(
    (one) => one.effect !== 'PreferNoSchedule' && one.key !== cordon.key && !tolerates(tolerations, one),
  );
  if (taint !== undefined) {
    return [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`];
  }
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  if (ready?.status !== 'True' && !tolerates(tolerations, notReady)) return ['node(s) were not ready'];
  if (!matchesNode(pod, node)) return ["node(s) didn't match Pod's node affinity/selector"];
  return lacking(pod, node, there);
}

/** Whether one of the tolerations bears the taint (API reference, Toleration). */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(
    ({ key, operator = 'Equal', value = '', effect }) =>
      (effect === undefined || effect === '' || effect === taint.effect) &&
      (key === undefined || key === ''
        ? operator === 'Exists'
        : key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''))),
  );
}

function matchesNode(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) {
    if (labels[key] !== value) return false;
  }
  const affinity = pod.spec.affinity as
    | { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: Term[] } } }
    | undefined;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return (required.nodeSelectorTerms ?? []).some(
    (term) =>
      (term.matchExpressions ?? []).every((one) => meets(one, labels)) &&
      (term.matchFields ?? []).every((one) => meets(one, { 'metadata.name': node.metadata.name })),
  );
}

function lacking(pod: Pod, node: Node, there: readonly Pod[]): string[] {
  const allocatable = node.status?.allocatable ?? node.status?.capacity ?? {};
  const podsMax = parseQuantity(allocatable.pods ?? '') ?? podsPerNodeDefault;
  if (there.length + 1 > podsMax) return ['Too many pods'];
  return Object.entries(requestsOf(pod)).flatMap(([resource, wanted]) => {
    if (wanted === 0) return [];
    const has = parseQuantity(allocatable[resource] ?? '');
    // A node that says nothing of cpu or memory is not held to them; of anything else it simply has none.
    if (has === undefined) {
      return resource === 'cpu' || resource === 'memory' || resource === 'ephemeral-storage'
        ? []
        : [`Insufficient ${resource}`];
    }
    const used = there.reduce((sum, other) => sum + (requestsOf(other)[resource] ?? 0), 0);
    return used + wanted > has ? [`Insufficient ${resource}`] : [];
  });
}

/** What a Pod needs: its containers together, or its greediest init container where that is more. */
export function requestsOf(pod: Pod): Record<string, number> {
  const total: Record<string, number> = {};
  for (const { resources } of pod.spec.containers) {
    for (const [name, text] of Object.entries({ ...resources?.limits, ...resources?.requests })) {
      total[name] = (total[name] ?? 0) + (parseQuantity(text) ?? 0);
    }
  }
  for (const { resources } of pod.spec.initContainers ?? []) {
    for (const [name, text] of Object.entries({ ...resources?.limits, ...resources?.requests })) {
      total[name] = Math.max(total[name] ?? 0, parseQuantity(text) ?? 0);
    }
  }
  return total;
}
