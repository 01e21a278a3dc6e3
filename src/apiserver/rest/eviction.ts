import type { LabelSelector } from '../../api/core.ts';
import { selects } from '../../api/selector.ts';
import { rfc3339 } from '../../observe/clock.ts';
import { equalJson, type KubeObject, list, record } from '../object.ts';
import {
  badRequest,
  forbidden,
  internal,
  notFound,
  type StatusBody,
  StatusError,
  success,
} from '../status.ts';
import { checkPreconditions, type DeleteOptions, deleteObject } from './delete.ts';
import { type Current, currentForWrite, type Engine, type WriteContext } from './engine.ts';
import { readObjects } from './read.ts';
import { storeUpdate } from './write.ts';

/** Seconds after which a client may ask again where a budget is not yet counted. */
const retryAfterSeconds = 10;
/** Evicted Pods that a budget remembers until they are gone. */
const disruptedPodsMax = 2_000;

const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";

/**
 * Evicts a Pod if its PodDisruptionBudget has one to spare, which it then uses up (kubernetes,
 * pkg/registry/core/pod/storage/eviction.go).
 * @throws 400, 404, 429 (the budget forbids it for now), 500 (more than one budget)
 */
export async function evictPod(
  engine: Engine,
  namespace: string,
  name: string,
  eviction: KubeObject,
  context: WriteContext,
): Promise<StatusBody> {
  if (eviction.metadata?.name && eviction.metadata.name !== name) {
    throw badRequest('name in URL does not match name in Eviction object');
  }
  const pods = engine.resources.builtIn('v1', 'pods');
  const current = currentForWrite(engine, pods, namespace, name);
  if (current === undefined) throw notFound(pods, name);
  const options = record(eviction.deleteOptions) as DeleteOptions & { dryRun?: unknown };
  checkPreconditions(pods, current, options);
  const dryRun = context.dryRun || list(options.dryRun).includes('All');
  const writes: Promise<unknown>[] = [];
  if (!needsNoBudget(current.object)) {
    const budget = budgetOf(engine, namespace, current.object);
    if (budget !== undefined && !mayIgnore(budget.object, current.object)) {
      const spent = spend(engine, budget.object, name);
      if (!dryRun) writes.push(storeUpdate(engine, budgets(engine), budget, spent));
    }
    if (!dryRun) writes.push(markDisrupted(engine, current));
  }
  writes.push(deleteObject(engine, pods, namespace, name, options, { ...context, dryRun }));
  await Promise.all(writes);
  return success();
}

const budgets = (engine: Engine) => engine.resources.builtIn('policy/v1', 'poddisruptionbudgets');

function needsNoBudget(pod: KubeObject): boolean {
  const { phase } = record(pod.status);
  return (
    pod.metadata.deletionTimestamp !== undefined || ['Failed', 'Pending', 'Succeeded'].includes(String(phase))
  );
}

function budgetOf(engine: Engine, namespace: string, pod: KubeObject): Current | undefined {
  const served = budgets(engine);
  const names = readObjects(engine, served, namespace).map(({ metadata }) => metadata.name);
  const found = names
    .map((name) => currentForWrite(engine, served, namespace, name))
    .filter((budget) => budget !== undefined)
    .filter(({ object }) =>
      selects(record(object.spec).selector as LabelSelector, pod.metadata.labels ?? {}),
    );
  if (found.length > 1) {
    throw internal(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  return found[0];
}

/** A Pod that is not ready counts in no budget's favour, so it may go where that cannot harm. */
function mayIgnore(budget: KubeObject, pod: KubeObject): boolean {
  const ready = list(record(pod.status).conditions)
    .map(record)
    .some((condition) => condition.type === 'Ready' && condition.status === 'True');
  if (ready) return false;
  if (record(budget.spec).unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy, desiredHealthy } = record(budget.status);
  return Number(desiredHealthy ?? 0) > 0 && Number(currentHealthy ?? 0) >= Number(desiredHealthy ?? 0);
}

/** The budget with one eviction less. @throws 429 where it has none */
function spend(engine: Engine, budget: KubeObject, pod: string): KubeObject {
  const { name } = budget.metadata;
  const status = record(budget.status);
  if (Number(status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`, retryAfterSeconds);
  }
  const allowed = Number(status.disruptionsAllowed ?? 0);
  if (allowed < 0) throw forbidden(budgets(engine), name, 'pdb disruptions allowed is negative');
  const disrupted = record(status.disruptedPods);
  if (Object.keys(disrupted).length > disruptedPodsMax) {
    throw forbidden(
      budgets(engine),
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  }
  if (allowed === 0) {
    const { desiredHealthy = 0, currentHealthy = 0 } = status;
    throw refused(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    );
  }
  const disruptedPods = { ...disrupted, [pod]: rfc3339(engine.clock.now()) };
  return { ...budget, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } };
}

function refused(message: string, retryAfter?: number): StatusError {
  return new StatusError(429, 'TooManyRequests', refusal, {
    causes: [{ reason: 'DisruptionBudget', message }],
    ...(retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }),
  });
}

async function markDisrupted(engine: Engine, current: Current): Promise<void> {
  const pods = engine.resources.builtIn('v1', 'pods');
  const pod = structuredClone(current.object);
  const status = record(pod.status);
  const others = list(status.conditions).filter((condition) => record(condition).type !== 'DisruptionTarget');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastTransitionTime: rfc3339(engine.clock.now()),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  pod.status = { ...status, conditions: [...others, condition] };
  if (!equalJson(pod, current.object)) await storeUpdate(engine, pods, current, pod);
}
