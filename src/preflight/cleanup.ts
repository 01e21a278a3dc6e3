import type { Platform } from '../api/kinds.ts';
import { finalizers, names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { isRunID, runAnnotations } from '../gates/run-request.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import { removeRun, standingRuns } from './jobs.ts';

/** What cleaning up needs to know. */
export interface CleanupContext {
  readonly client: KubeClient;
  readonly platform: Platform;
  readonly clock: Clock;
}

/** A run whose object is gone is swept once its Jobs are this old: its status may be on its way. */
const orphanAgeMs = 5 * 60_000;

/**
 * Removes what a run made as far as nobody needs it any more. Objects that have joined the run keep all of it while it
 * runs for them, and its finished Jobs, whose logs their reports speak of, as long as they stand; the rights that the
 * run was given go with its end, whoever ends it last.
 */
export async function removeOwnRun(
  { client, platform }: CleanupContext,
  object: UpdatePreflight,
  runID: string,
  options: { keepFinished?: boolean } = {},
): Promise<void> {
  if (!isRunID(runID)) return;
  const { clusterVersionNamespace: namespace, preflightNamespace } = names(platform);
  const { items } = await client.list(client.kinds.UpdatePreflight, { namespace });
  const others = items.filter(
    ({ metadata, status }) => metadata.name !== object.metadata.name && status?.runID === runID,
  );
  if (others.some(({ status }) => status?.verdict === 'Running')) return;
  await removeRun(client, preflightNamespace, runID, others.length > 0 ? { keepFinished: true } : options);
}

export async function finalize(context: CleanupContext, object: UpdatePreflight): Promise<undefined> {
  const { client } = context;
  const held = object.metadata.finalizers ?? [];
  if (!held.includes(finalizers.preflight)) return undefined;
  const runIDs = [object.status?.runID ?? '', ...(object.status?.history ?? []).map((run) => run.runID)];
  for (const runID of new Set(runIDs)) await removeOwnRun(context, object, runID);
  const rest = held.filter((each) => each !== finalizers.preflight);
  await client.update(client.kinds.UpdatePreflight, {
    ...object,
    metadata: { ...object.metadata, finalizers: rest },
  });
  return undefined;
}

export async function withFinalizer(
  { client }: CleanupContext,
  object: UpdatePreflight,
): Promise<UpdatePreflight> {
  const held = object.metadata.finalizers ?? [];
  if (held.includes(finalizers.preflight)) return object;
  return await client.update(client.kinds.UpdatePreflight, {
    ...object,
    metadata: { ...object.metadata, finalizers: [...held, finalizers.preflight] },
  });
}

/** A request that has its run is taken off, so that it is not taken for a new one when the history is thinned. */
export async function dropAnsweredRequests(
  { client }: CleanupContext,
  object: UpdatePreflight,
): Promise<void> {
  const given = object.metadata.annotations ?? {};
  const answered = Object.values(runAnnotations).filter((key) => given[key] !== undefined);
  if (answered.length === 0) return;
  const { name, namespace, resourceVersion } = object.metadata;
  const patch = {
    metadata: { resourceVersion, annotations: Object.fromEntries(answered.map((key) => [key, null])) },
  };
  await client.patch(client.kinds.UpdatePreflight, name, patch, namespace === undefined ? {} : { namespace });
}

/**
 * What runs have left behind: of those whose UpdatePreflight vanished without its finalizer (a restored etcd) all is
 * nobody's any more; of those that have ended the rights are, where a crash came between the end and their removal.
 */
export async function sweepOrphans({ client, platform, clock }: CleanupContext): Promise<void> {
  const { clusterVersionNamespace: namespace, preflightNamespace } = names(platform);
  const objects = await client.list(client.kinds.UpdatePreflight, { namespace });
  const owned = new Set(
    objects.items.flatMap(({ status }) => [
      status?.runID,
      ...(status?.history ?? []).map((run) => run.runID),
    ]),
  );
  const inFlight = new Set(
    objects.items.flatMap(({ status }) => (status?.verdict === 'Running' ? [status.runID] : [])),
  );
  for (const [runID, createdAt] of await standingRuns(client, preflightNamespace)) {
    if (inFlight.has(runID)) continue;
    if (owned.has(runID)) await removeRun(client, preflightNamespace, runID, { keepFinished: true });
    else if (clock.now() - createdAt >= orphanAgeMs) await removeRun(client, preflightNamespace, runID);
  }
}
