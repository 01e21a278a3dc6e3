import type { KubeObject, OwnerReference } from '../api/core.ts';

export type DeletionPolicy = 'Background' | 'Foreground' | 'Orphan';

/** How an owner stands, as the API itself says. */
export type OwnerState =
  | 'present'
  /** No object of this kind, name and uid. */
  | 'absent'
  /** It is being deleted and waits for its dependents to go first. */
  | 'waiting'
  /** Its kind is not served: nobody can say. */
  | 'unknown';

export type GarbageDecision =
  | { readonly act: 'keep' }
  | { readonly act: 'delete'; readonly policy: DeletionPolicy }
  /** Some owners are there and others are not: only the references to those go. */
  | { readonly act: 'unlink'; readonly ownerReferences: readonly OwnerReference[] };

const foregroundFinalizer = 'foregroundDeletion';
const orphanFinalizer = 'orphan';

/** Whether an object waits for its dependents, or for them to be let go. */
export function waitsFor(object: KubeObject): 'dependents' | 'orphaning' | undefined {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (finalizers.includes(orphanFinalizer)) return 'orphaning';
  return finalizers.includes(foregroundFinalizer) ? 'dependents' : undefined;
}

/** The finalizer that an object keeps while it waits. */
export function finalizerOf(waits: 'dependents' | 'orphaning'): string {
  return waits === 'dependents' ? foregroundFinalizer : orphanFinalizer;
}

/**
 * What becomes of an object that has owners (kubernetes, pkg/controller/garbagecollector attemptToDeleteItem). It
 * stays as long as one of them is there, or may be there.
 *
 * @param states of the owners, in the order of the references.
 * @param blocks whether it has dependents that block its own deletion.
 */
export function decideGarbage(
  object: KubeObject,
  states: readonly OwnerState[],
  blocks: boolean,
): GarbageDecision {
  const references = object.metadata.ownerReferences ?? [];
  if (references.length === 0) return { act: 'keep' };
  if (object.metadata.deletionTimestamp !== undefined) return { act: 'keep' };
  const holding = references.filter((_reference, at) => states[at] === 'present' || states[at] === 'unknown');
  if (holding.length > 0) {
    return holding.length === references.length
      ? { act: 'keep' }
      : { act: 'unlink', ownerReferences: holding };
  }
  if (states.includes('waiting') && blocks) return { act: 'delete', policy: 'Foreground' };
  const { finalizers = [] } = object.metadata;
  if (finalizers.includes(orphanFinalizer)) return { act: 'delete', policy: 'Orphan' };
  if (finalizers.includes(foregroundFinalizer)) return { act: 'delete', policy: 'Foreground' };
  return { act: 'delete', policy: 'Background' };
}

/** Whether a dependent keeps an owner that waits for its dependents from going. */
export function blocksOwner(dependent: KubeObject, ownerUid: string): boolean {
  return (dependent.metadata.ownerReferences ?? []).some(
    (reference) => reference.uid === ownerUid && reference.blockOwnerDeletion === true,
  );
}
