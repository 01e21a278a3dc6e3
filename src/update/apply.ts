import type { AnyObject } from '../api/core.ts';
import { faultPoint } from '../durable/fault.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { applyObject } from '../kube/apply.ts';
import type { KubeClient } from '../kube/client.ts';
import { ApiError } from '../kube/error.ts';
import { eachInTurn } from '../turns/each.ts';
import { podTrouble } from './pods.ts';
import { type Readiness, readinessOf, sinceOf } from './ready.ts';
import type { PassWait, TaskWait, WaitTimes } from './wait.ts';
import { type Block, type Chain, isJob, type Task, tasksOf } from './walk.ts';

/** How far the walk is. */
export interface PassResult {
  readonly done: number;
  readonly total: number;
  readonly waiting: readonly PassWait[];
}

/** What is noted of a walk. A restart may lose it: applying a second time changes nothing. */
export interface WalkNotes {
  /** Ids of tasks that are done. */
  readonly noted: Set<string>;
  readonly times: WaitTimes;
}

export interface PassOptions {
  readonly signal: AbortSignal;
  readonly now: number;
  /** When the walk began, in milliseconds since the epoch; absent for one that only keeps what is there. */
  readonly startedAt?: number;
  /** Chains that are walked at once. */
  readonly workers: number;
  /** Milliseconds that an error may stand before it counts: what is made at once finds itself only after a while. */
  readonly errorToleratedMs?: number;
}

/**
 * One pass over a payload: applies what may be applied now and ends where it must wait. It is called again until
 * nothing is left.
 */
export async function applyPass(
  client: KubeClient,
  blocks: readonly Block[],
  notes: WalkNotes,
  options: PassOptions,
): Promise<PassResult> {
  const waiting: PassWait[] = [];
  for (const block of blocks) {
    await eachInTurn(block, options.workers, options.signal, async (chain) => {
      const wait = await applyChain(client, chain, notes, options);
      if (wait !== undefined) waiting.push(wait);
    });
    options.signal.throwIfAborted();
    if (waiting.length > 0) break;
  }
  const tasks = tasksOf(blocks);
  return { done: tasks.filter((task) => notes.noted.has(task.id)).length, total: tasks.length, waiting };
}

/**
 * ClusterOperators exist before anything else, so that whoever gathers data finds them all by the same filters. What
 * cannot be created here is met again, and told, in its place of the walk.
 */
export async function createOperators(client: KubeClient, blocks: readonly Block[]): Promise<void> {
  for (const task of tasksOf(blocks)) {
    if (task.inclusion.act !== 'apply' || !isOperator(task.manifest.object)) continue;
    await applyTask(client, task);
  }
}

async function applyChain(
  client: KubeClient,
  chain: Chain,
  { noted, times }: WalkNotes,
  { signal, now, startedAt, errorToleratedMs = 0 }: PassOptions,
): Promise<PassWait | undefined> {
  for (const task of chain) {
    if (noted.has(task.id)) continue;
    signal.throwIfAborted();
    const wait = await applyTask(client, task, errorToleratedMs);
    faultPoint('update-task');
    if (wait !== undefined) return times.note(task.id, wait, now, startedAt);
    noted.add(task.id);
    times.done(task.id);
  }
  return undefined;
}

async function applyTask(
  client: KubeClient,
  task: Task,
  errorToleratedMs = 0,
): Promise<TaskWait | undefined> {
  const { manifest, inclusion } = task;
  try {
    const readiness =
      inclusion.act === 'delete' ? await remove(client, manifest.object) : await apply(client, task);
    if (readiness.ready) return undefined;
    const { ready: _, ...wait } = readiness;
    return { ...wait, toleratedMs: Math.max(wait.toleratedMs ?? 0, errorToleratedMs) };
  } catch (error) {
    return {
      message: `${describe(manifest.object)} (${manifest.file}): ${messageOf(error)}`,
      failing: reasonOf(error),
      toleratedMs: errorToleratedMs,
    };
  }
}

async function apply(client: KubeClient, { manifest, inclusion }: Task): Promise<Readiness> {
  const { object, file } = manifest;
  // A Job's template cannot be changed, and an operator's status is its own.
  const createOnly =
    (inclusion.act === 'apply' && inclusion.createOnly) || isJob(manifest) || isOperator(object);
  // Payloads leave out an operator's spec, which its schema requires and has nothing in it.
  const wanted: AnyObject = isOperator(object) ? { spec: {}, ...object } : object;
  const { object: live } = await applyObject(client, wanted, { createOnly, source: file });
  const readiness = readinessOf(live, object);
  return readiness.ready || !isWorkload(live) ? readiness : await withPods(client, live, readiness);
}

/** A workload that is not ready says how many are missing; why tell its Pods, where they can be read. */
async function withPods(
  client: KubeClient,
  live: AnyObject,
  wait: Exclude<Readiness, { ready: true }>,
): Promise<Readiness> {
  const trouble = await podTrouble(client, live).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  });
  if (trouble === undefined) return wait;
  const message = `${wait.message}: ${trouble.message}`;
  // What fails by itself fails on, and sooner.
  return wait.failing === undefined || wait.toleratedMs !== undefined
    ? { ...wait, ...trouble, message }
    : { ...wait, message };
}

function isWorkload({ apiVersion, kind }: AnyObject): boolean {
  return apiVersion === 'apps/v1' && (kind === 'Deployment' || kind === 'DaemonSet');
}

async function remove(client: KubeClient, object: AnyObject): Promise<Readiness> {
  const kind = await client.resolveKind(object.apiVersion, object.kind);
  if (kind === undefined) return { ready: true };
  const { name, namespace } = object.metadata;
  const scope = namespace === undefined ? {} : { namespace };
  await client.delete(kind, name, { ...scope, propagationPolicy: 'Background' });
  const standing = await client.tryGet(kind, name, namespace);
  if (standing === undefined) return { ready: true };
  const message = `${describe(object)} to be gone`;
  return { ready: false, message, deletes: true, ...sinceOf(standing.metadata.deletionTimestamp) };
}

function isOperator(object: AnyObject): boolean {
  return (
    object.kind === 'ClusterOperator' && /^(?:config\.openshift\.io|sluice\.dev)\//.test(object.apiVersion)
  );
}

function describe(object: AnyObject): string {
  const { name, namespace } = object.metadata;
  return `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

const reasonByStatus: Readonly<Record<number, string>> = {
  400: 'UpdatePayloadResourceInvalid',
  401: 'UpdatePayloadClusterUnauthorized',
  403: 'UpdatePayloadResourceForbidden',
  404: 'UpdatePayloadResourceNotFound',
  409: 'UpdatePayloadResourceConflict',
  422: 'UpdatePayloadResourceInvalid',
  429: 'UpdatePayloadClusterOverloaded',
  503: 'UpdatePayloadClusterDown',
};

/** The reason of the Failing condition for an error while applying. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return reasonByStatus[error.status] ?? 'UpdatePayloadClusterError';
  if (isSluiceError(error, 'NotFound')) return 'UpdatePayloadResourceTypeMissing';
  if (isSluiceError(error, 'Unreachable')) return 'UpdatePayloadClusterDown';
  if (isSluiceError(error, 'DigestMismatch', 'SignatureMissing', 'SignatureUntrusted'))
    return 'UpdatePayloadIntegrity';
  if (isSluiceError(error, 'InputInvalid')) return 'UpdatePayloadResourceInvalid';
  return 'UpdatePayloadFailed';
}
