import { selects } from '../api/selector.ts';
import { keyOf, parseKey } from '../kube/cache.ts';
import { type Requeue, runController, watchOf } from '../kube/controller.ts';
import type { ControllerContext } from './context.ts';
import { decideBudget } from './disruption.ts';
import { sameJson } from './owned-pods.ts';

/**
 * Keeps the status of PodDisruptionBudgets, by which the API lets Pods be evicted or not. It is written over the
 * version that it was counted from: an eviction in between makes it a Conflict, and it is counted again.
 */
export async function runDisruption(context: ControllerContext): Promise<void> {
  const { client, informers, clock } = context;
  const { kinds } = client;
  const budgets = informers.of(kinds.PodDisruptionBudget);
  const pods = informers.of(kinds.Pod);
  const deployments = informers.of(kinds.Deployment);

  async function reconcile(key: string): Promise<Requeue | undefined> {
    const { name, namespace = '' } = parseKey(key);
    const budget = budgets.get(name, namespace);
    if (budget === undefined) return undefined;
    const { status, requeueAfterMs } = decideBudget(
      budget,
      pods.list({ namespace }),
      deployments.list({ namespace }),
      clock.now(),
    );
    if (!sameJson(status, budget.status)) {
      await client.updateStatus(kinds.PodDisruptionBudget, { ...budget, status });
    }
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  await runController({
    ...context,
    name: 'disruption',
    watches: [
      watchOf(budgets, { keysOf: (budget) => [keyOf(budget)] }),
      watchOf(pods, {
        keysOf: ({ metadata }) =>
          budgets
            .list({ namespace: metadata.namespace ?? '' })
            .filter((budget) => selects(budget.spec.selector, metadata.labels))
            .map(keyOf),
      }),
      watchOf(deployments, {
        keysOf: ({ metadata }) => budgets.list({ namespace: metadata.namespace ?? '' }).map(keyOf),
      }),
    ],
    reconcile,
  });
}
