import type { Job, Pod } from '../api/core.ts';
import { parseKey } from '../kube/cache.ts';
import { type Requeue, runController } from '../kube/controller.ts';
import { createEventRecorder } from '../kube/events.ts';
import { type ControllerContext, flushEvents, ignoreNotFound } from './context.ts';
import { decideJob, isFinished, type JobDecision } from './job.ts';
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
import { controllerOf, isTerminal } from './pod-facts.ts';

const concurrency = 4;
/** Ended Pods of one Job that are remembered though somebody has deleted them. */
const rememberedMax = 100;

/**
 * Runs Jobs to their end (kubernetes, pkg/controller/job). What is to be done is decided on the cache, cheaply and
 * often; before anything is done, Job and Pods are read from the API itself and it is decided again. So a cache that
 * lags, or a controller that was killed between two writes, never makes a second Pod.
 */
export async function runJobs(context: ControllerContext): Promise<void> {
  const { client, informers, logger, clock } = context;
  const { kinds } = client;
  const jobs = informers.of(kinds.Job);
  const pods = informers.of(kinds.Pod);
  const events = createEventRecorder(client, { component: 'job-controller', logger, clock });
  const departed = createDeparted();
  pods.onChange(({ type, object }) => {
    if (type === 'deleted') departed.add(object);
  });
  jobs.onChange(({ type, object }) => {
    if (type === 'deleted') departed.forget(object.metadata.uid ?? '');
  });

  const ownerOf = (object: Job): PodOwner => ({ kind: kinds.Job, object, selector: object.spec.selector });

  async function reconcile(key: string): Promise<Requeue | undefined> {
    const { name, namespace = '' } = parseKey(key);
    const seen = jobs.get(name, namespace);
    if (seen === undefined || isLeftAlone(seen)) return undefined;
    const { ours, unclaimed } = cachedPods(ownerOf(seen), pods.list({ namespace }));
    const idea = decideJob(seen, departed.with(seen, ours), clock.now());
    if (isSettled(seen, idea) && !unclaimed) return requeueOf(idea);

    const job = await client.tryGet(kinds.Job, name, namespace);
    if (job === undefined || isLeftAlone(job)) return undefined;
    const owner = ownerOf(job);
    const claimed = await claimPods(context, owner);
    const decision = decideJob(job, departed.with(job, claimed), clock.now());
    return await act(owner, job, claimed, decision);
  }

  async function act(
    owner: PodOwner,
    job: Job,
    claimed: readonly Pod[],
    decision: JobDecision,
  ): Promise<Requeue | undefined> {
    const { name, namespace = '', uid, resourceVersion } = job.metadata;
    if (decision.expired) {
      await client.delete(kinds.Job, name, {
        namespace,
        propagationPolicy: 'Background',
        ...(uid === undefined || resourceVersion === undefined ? {} : { uid, resourceVersion }),
      });
      return undefined;
    }
    const removed = claimed.filter(({ metadata }) => decision.remove.includes(metadata.name));
    await deletePods(context, events, owner, removed);
    const { created, error } = await createPods(context, events, owner, job.spec.template, decision.create);
    const status = { ...decision.status, active: (decision.status.active ?? 0) + created };
    if (!sameJson(status, job.status)) {
      await client.updateStatus(kinds.Job, { ...job, status }).catch(ignoreNotFound);
      for (const event of decision.events) events.record({ kind: kinds.Job, object: job, ...event });
    }
    if (error !== undefined) throw error;
    return requeueOf(decision);
  }

  await runController({
    ...context,
    name: 'job',
    concurrency,
    watches: watchesOf(kinds.Job, jobs, pods, ({ spec }) => spec.selector),
    reconcile,
  });
  await flushEvents(events, clock);
}

/** Jobs that are going, and those of other controllers (`spec.managedBy`). */
function isLeftAlone(job: Job): boolean {
  const { managedBy } = job.spec as { managedBy?: string };
  const ours = managedBy === undefined || managedBy === 'kubernetes.io/job-controller';
  return job.metadata.deletionTimestamp !== undefined || !ours;
}

function isSettled(job: Job, decision: JobDecision): boolean {
  const { create, remove, expired, status } = decision;
  return create === 0 && remove.length === 0 && !expired && sameJson(status, job.status ?? {});
}

/** Pods that had ended before they were deleted: they count, though nobody can read them any more. */
function createDeparted() {
  const byJob = new Map<string, Map<string, Pod>>();
  return {
    add(pod: Pod): void {
      const job = controllerOf(pod);
      if (job?.kind !== 'Job' || !isTerminal(pod)) return;
      const known = byJob.get(job.uid) ?? new Map<string, Pod>();
      byJob.set(job.uid, known);
      if (known.size < rememberedMax) known.set(pod.metadata.uid ?? '', pod);
    },
    forget(jobUid: string): void {
      byJob.delete(jobUid);
    },
    /** The Pods that are there, and those that departed. */
    with(job: Job, pods: readonly Pod[]): Pod[] {
      if (isFinished(job)) return [...pods];
      const there = new Set(pods.map(({ metadata }) => metadata.uid));
      const gone = [...(byJob.get(job.metadata.uid ?? '')?.values() ?? [])];
      return [...pods, ...gone.filter(({ metadata }) => !there.has(metadata.uid))];
    },
  };
}
