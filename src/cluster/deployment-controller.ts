import type { Deployment } from '../api/core.ts';
import { parseKey } from '../kube/cache.ts';
import { setCondition } from '../kube/conditions.ts';
import { type Requeue, runController } from '../kube/controller.ts';
import { createEventRecorder } from '../kube/events.ts';
import { apiWords, type ControllerContext, flushEvents, ignoreNotFound } from './context.ts';
import { type DeploymentDecision, decideDeployment, templateHash, templateHashLabel } from './deployment.ts';
import {
  cachedPods,
  claimPods,
  createPods,
  deletePods,
  type PodOwner,
  requeueOf,
  sameJson,
  watchesOf,
} from './owned-pods.ts';

const concurrency = 4;

/**
 * Keeps the Pods of Deployments as `decideDeployment` says. As with Jobs, what is to be done is decided on the cache,
 * and decided again on what the API itself has before anything is done.
 */
export async function runDeployments(context: ControllerContext): Promise<void> {
  const { client, informers, logger, clock } = context;
  const { kinds } = client;
  const deployments = informers.of(kinds.Deployment);
  const pods = informers.of(kinds.Pod);
  const events = createEventRecorder(client, { component: 'deployment-controller', logger, clock });

  const ownerOf = (object: Deployment): PodOwner => ({
    kind: kinds.Deployment,
    object,
    selector: object.spec.selector,
  });

  async function reconcile(key: string): Promise<Requeue | undefined> {
    const { name, namespace = '' } = parseKey(key);
    const seen = deployments.get(name, namespace);
    if (seen === undefined || seen.metadata.deletionTimestamp !== undefined) return undefined;
    const { ours, unclaimed } = cachedPods(ownerOf(seen), pods.list({ namespace }));
    const idea = decideDeployment(seen, ours, clock.now());
    if (isSettled(seen, idea) && !unclaimed) return requeueOf(idea);

    const deployment = await client.tryGet(kinds.Deployment, name, namespace);
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
    const owner = ownerOf(deployment);
    const decision = decideDeployment(deployment, await claimPods(context, owner), clock.now());
    await deletePods(context, events, owner, decision.remove);
    const labels = { [templateHashLabel]: templateHash(deployment) };
    const { error } = await createPods(
      context,
      events,
      owner,
      deployment.spec.template,
      decision.create,
      labels,
    );
    const status = error === undefined ? decision.status : withFailure(decision.status, error);
    if (!sameJson(status, deployment.status)) {
      await client.updateStatus(kinds.Deployment, { ...deployment, status }).catch(ignoreNotFound);
    }
    if (error !== undefined) throw error;
    return requeueOf(decision);
  }

  function withFailure(status: DeploymentDecision['status'], error: unknown): DeploymentDecision['status'] {
    const conditions = setCondition(
      status.conditions,
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: apiWords(error) },
      clock.now(),
    );
    return { ...status, conditions };
  }

  await runController({
    ...context,
    name: 'deployment',
    concurrency,
    watches: watchesOf(kinds.Deployment, deployments, pods, ({ spec }) => spec.selector),
    reconcile,
  });
  await flushEvents(events, clock);
}

function isSettled(deployment: Deployment, { create, remove, status }: DeploymentDecision): boolean {
  return create === 0 && remove.length === 0 && sameJson(status, deployment.status ?? {});
}
