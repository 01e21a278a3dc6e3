import type { Event, Job, KubeObject, Pod } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { labels } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import { type CheckObservation, exitBlocked, exitRan, type JobView } from '../gates/check.ts';
import type { ContainerView, PodView } from '../gates/pod.ts';
import type { KubeClient } from '../kube/client.ts';
import { findCondition } from '../kube/conditions.ts';
import { ApiError } from '../kube/error.ts';
import { createOnce } from '../kube/once.ts';
import type { Grants } from './grant.ts';

/** All Jobs, pods and events of one run. */
export interface RunObjects {
  readonly jobs: ReadonlyMap<string, Job>;
  /** By the name of the check. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  readonly events: readonly Event[];
}

/** Reads what belongs to a run, found by its label. */
export async function readRun(client: KubeClient, namespace: string, runID: string): Promise<RunObjects> {
  const scope = { namespace, labelSelector: `${labels.preflightRun}=${runID}` };
  const [jobs, pods] = await Promise.all([
    client.list(client.kinds.Job, scope),
    client.list(client.kinds.Pod, scope),
  ]);
  const byCheck = new Map<string, Pod[]>();
  for (const pod of pods.items) {
    const check = pod.metadata.labels?.[labels.preflightCheck] ?? '';
    byCheck.set(check, [...(byCheck.get(check) ?? []), pod]);
  }
  // Events are many, and only a Job that gets no pod needs them.
  const waiting = jobs.items.some((job) => !byCheck.has(job.metadata.labels?.[labels.preflightCheck] ?? ''));
  const events = waiting ? (await client.list(client.kinds.Event, { namespace })).items : [];
  return { jobs: new Map(jobs.items.map((job) => [job.metadata.name, job])), pods: byCheck, events };
}

/** What is seen of one check, its output included once it has ended. */
export async function observeCheck(
  client: KubeClient,
  run: RunObjects,
  given: Pick<CheckObservation, 'identity' | 'now' | 'deadline' | 'jobWasSeen'> & { jobName: string },
): Promise<CheckObservation> {
  const { jobName, ...rest } = given;
  const job = run.jobs.get(jobName);
  const pods = run.pods.get(given.identity.check) ?? [];
  const events = run.events
    .filter((event) => event.involvedObject.kind === 'Job' && event.involvedObject.name === jobName)
    .map((event) => ({ reason: event.reason ?? '', message: event.message ?? '' }));
  const ended = pods.find(hasAnswered);
  return {
    ...rest,
    job: job === undefined ? undefined : jobView(job),
    pods: pods.map(podView),
    events,
    ...(ended === undefined ? {} : { log: await readLog(client, ended) }),
  };
}

/** Whether the check's own container ended in a way that a result may follow. */
function hasAnswered(pod: Pod): boolean {
  const code = pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
  return code === exitRan || code === exitBlocked;
}

async function readLog(client: KubeClient, pod: Pod): Promise<NonNullable<CheckObservation['log']>> {
  const container = pod.spec.containers[0]?.name;
  try {
    return {
      bytes: await client.podLog(pod.metadata.namespace ?? '', pod.metadata.name, {
        ...(container === undefined ? {} : { container }),
      }),
    };
  } catch (error) {
    return { unreadable: messageOf(error) };
  }
}

/** Creates a Job of a run. Undefined where it stands, now or already; else why the API does not take it. */
export async function createJob(
  client: KubeClient,
  job: Parameters<typeof client.create<Job>>[1],
  grants: Grants,
): Promise<string | undefined> {
  try {
    await createGrants(client, grants);
    await createOnce(client, client.kinds.Job, job);
    return undefined;
  } catch (error) {
    // What the API refuses it refuses again; anything else is tried again by the caller's queue.
    if (error instanceof ApiError && [400, 403, 404, 422].includes(error.status)) return messageOf(error);
    throw error;
  }
}

async function createGrants(client: KubeClient, grants: Grants): Promise<void> {
  const { kinds } = client;
  for (const role of grants.roles) await createOnce(client, kinds.Role, role);
  for (const binding of grants.roleBindings) await createOnce(client, kinds.RoleBinding, binding);
  for (const role of grants.clusterRoles) await createOnce(client, kinds.ClusterRole, role);
  for (const binding of grants.clusterRoleBindings)
    await createOnce(client, kinds.ClusterRoleBinding, binding);
}

/**
 * Removes what a run made, found by its label: all of it, or only the Jobs that would still go on and the
 * rights that nobody needs any more.
 */
export async function removeRun(
  client: KubeClient,
  namespace: string,
  runID: string,
  options: { keepFinished?: boolean } = {},
): Promise<void> {
  const { kinds } = client;
  const labelSelector = `${labels.preflightRun}=${runID}`;
  const jobs = await client.list(kinds.Job, { namespace, labelSelector });
  for (const job of jobs.items) {
    if (options.keepFinished === true && isFinished(job)) continue;
    await client.delete(kinds.Job, job.metadata.name, { namespace, propagationPolicy: 'Background' });
  }
  for (const kind of grantKinds(client)) {
    for (const { metadata } of (await client.list(kind, { labelSelector })).items) {
      const scope = metadata.namespace === undefined ? {} : { namespace: metadata.namespace };
      await client.delete(kind, metadata.name, scope);
    }
  }
}

/** What carries the rights of a run; bindings before roles, so that none stands without effect. */
function grantKinds({ kinds }: KubeClient): KindRef[] {
  return [kinds.RoleBinding, kinds.Role, kinds.ClusterRoleBinding, kinds.ClusterRole];
}

/** Runs of which Jobs or rights stand, and since when the oldest of each does. */
export async function standingRuns(client: KubeClient, namespace: string): Promise<Map<string, number>> {
  const labelSelector = labels.preflightRun;
  const lists = await Promise.all([
    client.list(client.kinds.Job, { namespace, labelSelector }),
    ...grantKinds(client).map((kind) => client.list(kind, { labelSelector })),
  ]);
  const runs = new Map<string, number>();
  for (const { metadata } of lists.flatMap<KubeObject>(({ items }) => items)) {
    const run = metadata.labels?.[labels.preflightRun] ?? '';
    const since = timeOf(metadata.creationTimestamp);
    runs.set(run, Math.min(runs.get(run) ?? Number.POSITIVE_INFINITY, since));
  }
  return runs;
}

function isFinished(job: Job): boolean {
  return (job.status?.conditions ?? []).some(
    (condition) =>
      (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  );
}

function jobView(job: Job): JobView {
  return {
    name: job.metadata.name,
    createdAt: timeOf(job.metadata.creationTimestamp),
    conditions: job.status?.conditions ?? [],
  };
}

function podView(pod: Pod): PodView {
  const { status } = pod;
  const scheduled = findCondition(status?.conditions, 'PodScheduled');
  const createdAt = timeOf(pod.metadata.creationTimestamp);
  const isPlaced = pod.spec.nodeName !== undefined && pod.spec.nodeName !== '';
  const placedAt =
    scheduled?.lastTransitionTime === undefined ? createdAt : timeOf(scheduled.lastTransitionTime);
  return {
    name: pod.metadata.name,
    createdAt,
    phase: status?.phase ?? 'Pending',
    containers: [
      ...(status?.initContainerStatuses ?? []).map((each) => containerView(each, true)),
      ...(status?.containerStatuses ?? []).map((each) => containerView(each, false)),
    ],
    ...(isPlaced ? { scheduledAt: placedAt } : {}),
    ...(scheduled?.status === 'False' ? { unschedulable: scheduled.message ?? scheduled.reason ?? '' } : {}),
    ...(status?.reason === undefined ? {} : { reason: status.reason }),
    ...(status?.message === undefined ? {} : { message: status.message }),
  };
}

type ContainerStatusOf = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

function containerView({ name, state }: ContainerStatusOf, init: boolean): ContainerView {
  const { waiting, running, terminated } = state ?? {};
  return {
    name,
    init,
    ...(waiting === undefined
      ? {}
      : { waiting: { reason: waiting.reason ?? '', message: waiting.message ?? '' } }),
    ...(running === undefined ? {} : { running: true }),
    ...(terminated === undefined
      ? {}
      : {
          terminated: {
            exitCode: terminated.exitCode,
            reason: terminated.reason ?? '',
            message: terminated.message ?? '',
          },
        }),
  };
}

/** Milliseconds since the epoch; 0 for what is no time, which makes it old, not new. */
function timeOf(text: string | undefined): number {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? 0 : ms;
}
