import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, OwnerReference } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { type Requeue, runController } from '../kube/controller.ts';
import { isConflict } from '../kube/error.ts';
import type { AllObjects, KindChange } from './all-objects.ts';
import { type ControllerContext, ignoreNotFound } from './context.ts';
import { blocksOwner, decideGarbage, finalizerOf, type OwnerState, waitsFor } from './garbage.ts';
import { createObjectGraph, type GraphNode } from './object-graph.ts';
import { watchOfChanges } from './watch-of-changes.ts';

const concurrency = 8;
/** An owner that waits for dependents while some kinds are still being listed is looked at again after this. */
const incompleteMs = 200;
/** An owner that stands and was not seen yet may go without being seen: it is asked for again after this. */
const unseenMs = 500;

/**
 * Deletes what its owners have left behind, and carries out foreground and orphan deletion (kubernetes,
 * pkg/controller/garbagecollector). The watch says where to look; whether an owner is gone the API itself is asked.
 */
export async function runGarbageCollector(context: ControllerContext, all: AllObjects): Promise<void> {
  const { client, logger } = context;
  const graph = createObjectGraph();
  /** Those with an owner of a kind that nobody serves. */
  const undecided = new Set<string>();

  function concerned({ kind, change }: KindChange): string[] {
    const { object } = change;
    const { uid = '' } = object.metadata;
    const dependents = graph.dependentsOf(uid).map((node) => node.object.metadata.uid ?? '');
    const owners = object.metadata.ownerReferences ?? [];
    if (change.type === 'deleted') {
      graph.remove(uid);
      undecided.delete(uid);
      return [...dependents, ...owners.map((owner) => owner.uid).filter(isWaiting)];
    }
    graph.put({ kind, object });
    if (waitsFor(object) !== undefined) return [uid];
    const before = change.type === 'added' ? [] : (change.previous.metadata.ownerReferences ?? []);
    if (change.type === 'updated' && isDeepStrictEqual(before, owners)) return [];
    const left = before.map((owner) => owner.uid).filter(isWaiting);
    return hasUncertainOwner(object) ? [uid, ...left] : left;
  }

  function isWaiting(uid: string): boolean {
    const node = graph.get(uid);
    return node !== undefined && waitsFor(node.object) === 'dependents';
  }

  /** An owner that is known, is what the reference says and stays is no reason to ask. */
  function hasUncertainOwner({ metadata }: KubeObject): boolean {
    return (metadata.ownerReferences ?? []).some(({ uid, name, kind }) => {
      const owner = graph.get(uid);
      if (owner === undefined || waitsFor(owner.object) !== undefined) return true;
      const { namespace } = owner.object.metadata;
      if (namespace !== undefined && namespace !== metadata.namespace) return true;
      return owner.kind.kind !== kind || owner.object.metadata.name !== name;
    });
  }

  async function reconcile(uid: string): Promise<Requeue | undefined> {
    const node = graph.get(uid);
    if (node === undefined) return undefined;
    if (waitsFor(node.object) === undefined && !hasUncertainOwner(node.object)) return undefined;
    const object = await read(node.kind, node.object.metadata.name, node.object.metadata.namespace);
    if (object?.metadata.uid !== uid) return undefined;
    const waits = waitsFor(object);
    if (waits !== undefined) {
      // Dependents of a kind that is not listed yet would be forgotten.
      if (!all.isComplete()) return { requeueAfterMs: incompleteMs };
      if (waits === 'orphaning') await orphan({ kind: node.kind, object });
      else await deleteDependents({ kind: node.kind, object });
      return undefined;
    }
    return await collect({ kind: node.kind, object });
  }

  async function read(kind: KindRef, name: string, namespace?: string): Promise<KubeObject | undefined> {
    return await client.tryGet(kind, name, namespace);
  }

  /** Deletes the object if nobody owns it any more. */
  async function collect({ kind, object }: GraphNode): Promise<Requeue | undefined> {
    const { name, namespace, uid = '', ownerReferences = [] } = object.metadata;
    if (ownerReferences.length === 0) return undefined;
    const states = await Promise.all(ownerReferences.map((owner) => stateOf(owner, object)));
    if (states.includes('unknown')) undecided.add(uid);
    else undecided.delete(uid);
    const blocks = graph.dependentsOf(uid).some((node) => blocksOwner(node.object, uid));
    const decision = decideGarbage(object, states, blocks);
    if (decision.act === 'keep') {
      const unseen = ownerReferences.some(
        (owner, at) => states[at] === 'present' && graph.get(owner.uid) === undefined,
      );
      return unseen ? { requeueAfterMs: unseenMs } : undefined;
    }
    if (decision.act === 'unlink') {
      await setOwners({ kind, object }, decision.ownerReferences);
      return undefined;
    }
    logger.debug({ kind: kind.kind, name, namespace }, 'deleting what has no owner any more');
    await client
      .delete(kind, name, {
        uid,
        propagationPolicy: decision.policy,
        ...(namespace === undefined ? {} : { namespace }),
      })
      .catch(ignoreConflict);
    return undefined;
  }

  async function stateOf(owner: OwnerReference, dependent: KubeObject): Promise<OwnerState> {
    const kind = all.kindOf(owner.apiVersion, owner.kind);
    if (kind === undefined) return 'unknown';
    const { namespace } = dependent.metadata;
    // An owner in a namespace cannot own what is in none, or in another one.
    if (kind.namespaced && namespace === undefined) return 'absent';
    const found = await read(kind, owner.name, kind.namespaced ? namespace : undefined);
    if (found?.metadata.uid !== owner.uid) return 'absent';
    return waitsFor(found) === 'dependents' ? 'waiting' : 'present';
  }

  /** Foreground deletion: dependents first; the owner goes when none that blocks it is left. */
  async function deleteDependents(node: GraphNode): Promise<void> {
    const { uid = '' } = node.object.metadata;
    const blocking = graph.dependentsOf(uid).filter(({ object }) => blocksOwner(object, uid));
    if (blocking.length === 0) {
      await dropFinalizer(node, finalizerOf('dependents'));
      return;
    }
    await Promise.all(
      blocking.map(async ({ kind, object }) => {
        const latest = await read(kind, object.metadata.name, object.metadata.namespace);
        if (latest?.metadata.uid === object.metadata.uid && latest !== undefined) {
          await collect({ kind, object: latest });
        }
      }),
    );
  }

  /** Orphan deletion: dependents lose the reference; then the owner goes alone. */
  async function orphan(node: GraphNode): Promise<void> {
    const { uid = '' } = node.object.metadata;
    for (const dependent of graph.dependentsOf(uid)) {
      const others = (dependent.object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
      await setOwners(dependent, others);
    }
    await dropFinalizer(node, finalizerOf('orphaning'));
  }

  async function setOwners(node: GraphNode, ownerReferences: readonly OwnerReference[]): Promise<void> {
    const { uid, resourceVersion } = node.object.metadata;
    await patch(node, { uid, resourceVersion, ownerReferences });
  }

  async function dropFinalizer(node: GraphNode, name: string): Promise<void> {
    const { uid, resourceVersion, finalizers = [] } = node.object.metadata;
    await patch(node, { uid, resourceVersion, finalizers: finalizers.filter((other) => other !== name) });
  }

  async function patch({ kind, object }: GraphNode, metadata: object): Promise<void> {
    const { name, namespace } = object.metadata;
    const where = namespace === undefined ? {} : { namespace };
    await client.patch(kind, name, { metadata }, where).catch(ignoreNotFound);
  }

  await runController({
    ...context,
    name: 'garbage-collector',
    concurrency,
    watches: [watchOfChanges(all, concerned, () => undecided)],
    reconcile,
  });
}

/** Another object has taken the name: the one that was meant is gone. */
function ignoreConflict(error: unknown): boolean {
  if (!isConflict(error)) throw error;
  return false;
}
