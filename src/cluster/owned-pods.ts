import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, LabelSelector, OwnerReference, Pod } from '../api/core.ts';
import { apiVersionOf, type KindRef } from '../api/kinds.ts';
import { selects } from '../api/selector.ts';
import type { PodTemplate } from '../api/workloads.ts';
import { keyOf } from '../kube/cache.ts';
import { type ControllerWatch, type Requeue, watchOf } from '../kube/controller.ts';
import { isConflict } from '../kube/error.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Informer } from '../kube/informer-state.ts';
import { apiWords, type ControllerContext, ignoreNotFound, isNamespaceEnding } from './context.ts';
import { controllerOf, isControlledBy, isTerminal, podName } from './pod-facts.ts';

/** An object that makes Pods, and how it knows them. */
export interface PodOwner {
  readonly kind: KindRef;
  readonly object: KubeObject;
  readonly selector: LabelSelector | undefined;
}

/** Pods are created and deleted this many at a time. */
const podsAtOnce = 8;

/** What a Pod is to an owner (kubernetes, pkg/controller/controller_ref_manager.go). */
export type Claim = 'ours' | 'adopt' | 'release' | 'foreign';

/**
 * Pods that nobody controls and that the selector chooses are adopted; those of ours whose labels it no longer
 * chooses are let go.
 */
export function claimOf({ object, selector }: PodOwner, pod: Pod): Claim {
  const chosen = selects(selector, pod.metadata.labels);
  if (isControlledBy(pod, object.metadata.uid)) return chosen ? 'ours' : 'release';
  if (!chosen || controllerOf(pod) !== undefined) return 'foreign';
  const going = pod.metadata.deletionTimestamp !== undefined || isTerminal(pod);
  return going || object.metadata.deletionTimestamp !== undefined ? 'foreign' : 'adopt';
}

/** What the cache has of an owner's Pods, and whether it shows any to adopt or to let go. */
export function cachedPods(owner: PodOwner, pods: readonly Pod[]): { ours: Pod[]; unclaimed: boolean } {
  const claims = pods.map((pod) => claimOf(owner, pod));
  return {
    ours: pods.filter((_pod, at) => claims[at] === 'ours'),
    unclaimed: claims.some((claim) => claim === 'adopt' || claim === 'release'),
  };
}

/**
 * The Pods that an owner controls, read from the API itself and not from the cache: whoever creates Pods on what a
 * cache has not seen yet creates too many. Adopts and lets go.
 */
export async function claimPods(context: ControllerContext, owner: PodOwner): Promise<Pod[]> {
  const { client } = context;
  const { namespace = '' } = owner.object.metadata;
  const { items } = await client.list(client.kinds.Pod, { namespace });
  const claimed = await Promise.all(
    items.map(async (pod) => {
      switch (claimOf(owner, pod)) {
        case 'ours':
          return pod;
        case 'adopt':
          return await setOwners(context, pod, [...(pod.metadata.ownerReferences ?? []), referenceTo(owner)]);
        case 'release':
          return await release(context, owner, pod);
        case 'foreign':
          return undefined;
      }
    }),
  );
  return claimed.filter((pod) => pod !== undefined);
}

async function release(context: ControllerContext, owner: PodOwner, pod: Pod): Promise<undefined> {
  const others = (pod.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.object.metadata.uid);
  await setOwners(context, pod, others);
  return undefined;
}

async function setOwners(
  { client }: ControllerContext,
  pod: Pod,
  ownerReferences: readonly OwnerReference[],
): Promise<Pod | undefined> {
  const { name, namespace = '', uid, resourceVersion } = pod.metadata;
  const patch = { metadata: { uid, resourceVersion, ownerReferences } };
  return await client.patch(client.kinds.Pod, name, patch, { namespace }).catch(ignoreNotFound);
}

/** A reference by which the object is the one controller of another. */
export function referenceTo({ kind, object }: Pick<PodOwner, 'kind' | 'object'>): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: object.metadata.name,
    uid: object.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The names of the owners of a kind that a Pod concerns: its controller, or all that would adopt it. */
function ownersConcerned<T extends KubeObject>(
  pod: Pod,
  kind: KindRef,
  candidates: () => readonly T[],
  selectorOf: (owner: T) => LabelSelector | undefined,
): string[] {
  const controller = controllerOf(pod);
  const { namespace = '' } = pod.metadata;
  if (controller !== undefined) {
    return controller.kind === kind.kind && controller.apiVersion === apiVersionOf(kind)
      ? [`${namespace}/${controller.name}`]
      : [];
  }
  if (pod.metadata.deletionTimestamp !== undefined || isTerminal(pod)) return [];
  return candidates()
    .filter(
      (owner) => owner.metadata.namespace === namespace && selects(selectorOf(owner), pod.metadata.labels),
    )
    .map((owner) => `${namespace}/${owner.metadata.name}`);
}

/** What a controller of such owners looks at: they themselves, and the Pods that concern them. */
export function watchesOf<T extends KubeObject>(
  kind: KindRef<T>,
  owners: Informer<T>,
  pods: Informer<Pod>,
  selectorOf: (owner: T) => LabelSelector | undefined,
): ControllerWatch[] {
  return [
    watchOf(owners, { keysOf: (owner) => [keyOf(owner)] }),
    watchOf(pods, { keysOf: (pod) => ownersConcerned(pod, kind, owners.list, selectorOf) }),
  ];
}

/** When a decision wants to be looked at again. */
export function requeueOf({ requeueAfterMs }: Requeue): Requeue | undefined {
  return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
}

/**
 * Creates `count` Pods of a template. Returns how many were made, and what the API said against the others; an event
 * on the owner tells of each, in the API's words.
 */
export async function createPods(
  context: ControllerContext,
  events: EventRecorder,
  owner: PodOwner,
  template: PodTemplate,
  count: number,
  labels: Readonly<Record<string, string>> = {},
): Promise<{ created: number; error?: unknown }> {
  const { client, random } = context;
  const { kind, object } = owner;
  const { namespace = '' } = object.metadata;
  const { metadata = {}, spec } = template;
  let created = 0;
  let failure: { error?: unknown } | undefined;

  async function createOne(): Promise<void> {
    try {
      const pod = await client.create(client.kinds.Pod, {
        metadata: {
          name: podName(object.metadata.name, random),
          namespace,
          labels: { ...metadata.labels, ...labels },
          ...(metadata.annotations === undefined ? {} : { annotations: metadata.annotations }),
          ...(metadata.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
          ownerReferences: [referenceTo(owner)],
        },
        spec,
      });
      created += 1;
      const message = `Created pod: ${pod.metadata.name}`;
      events.record({ kind, object, type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      failure ??= isNamespaceEnding(error) ? {} : { error };
      if (isNamespaceEnding(error)) return;
      const message = `Error creating: ${apiWords(error)}`;
      events.record({ kind, object, type: 'Warning', reason: 'FailedCreate', message });
    }
  }

  // One first: what the API refuses once it refuses as often as it is asked.
  if (count > 0) await createOne();
  while (created < count && failure === undefined) {
    const batch = Math.min(podsAtOnce, count - created);
    await Promise.all(Array.from({ length: batch }, createOne));
  }
  return { created, ...failure };
}

/** Deletes Pods, each only if it is still the one that was seen. */
export async function deletePods(
  context: ControllerContext,
  events: EventRecorder,
  { kind, object }: PodOwner,
  pods: readonly Pod[],
): Promise<void> {
  const { client } = context;
  for (let at = 0; at < pods.length; at += podsAtOnce) {
    await Promise.all(
      pods.slice(at, at + podsAtOnce).map(async ({ metadata: { name, namespace = '', uid } }) => {
        try {
          const same = uid === undefined ? {} : { uid };
          if (!(await client.delete(client.kinds.Pod, name, { namespace, ...same }))) return;
        } catch (error) {
          if (isConflict(error)) return; // Another Pod of this name: the one that was meant is gone.
          throw error;
        }
        const message = `Deleted pod: ${name}`;
        events.record({ kind, object, type: 'Normal', reason: 'SuccessfulDelete', message });
      }),
    );
  }
}

/** Whether two values say the same as JSON: what is undefined is not there. */
export function sameJson(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(plain(a), plain(b));
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
