import { counted } from '../observe/count.ts';
import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Whether PodDisruptionBudgets let nodes be drained. It warns only: a budget may have room again by then. */
export function disruptionGate({ cluster }: GateFacts): Finding[] {
  const gate = { name: 'PodDisruptionBudgets', gate: 'disruption', severity: 'warning' } as const;
  return findingOf(gate, cluster.disruptionBudgets, (budgets) => {
    const tight = budgets.filter((budget) => budget.expectedPods > 0 && budget.disruptionsAllowed === 0);
    if (tight.length === 0) return { well: `${counted(budgets.length, 'budget')}, and none holds a drain` };
    const words = tight.map(
      ({ namespace, name, currentHealthy, expectedPods }) =>
        `${namespace}/${name} (${currentHealthy} of ${expectedPods} healthy)`,
    );
    return {
      message: `budgets that would hold the drain of a node: ${listed(words)}`,
      next: 'Let them have a replica more, or mend the Pods that are not healthy.',
      objects: tight.map(({ namespace, name }) => `poddisruptionbudget/${namespace}/${name}`),
    };
  });
}
