import type { KubeObject } from '../api/core.ts';
import type { ServedKind } from './served-kinds.ts';

/** What is known of one object for the sake of who owns whom. */
export interface GraphNode {
  readonly kind: ServedKind;
  readonly object: KubeObject;
}

/** Who owns whom, by uid. Owners that were never seen, or are gone, may still have dependents here. */
export interface ObjectGraph {
  get(uid: string): GraphNode | undefined;
  dependentsOf(uid: string): GraphNode[];
  put(node: GraphNode): void;
  remove(uid: string): void;
}

export function createObjectGraph(): ObjectGraph {
  const nodes = new Map<string, GraphNode>();
  const dependents = new Map<string, Set<string>>();

  function unlink(uid: string): void {
    for (const owner of ownersOf(nodes.get(uid))) {
      const set = dependents.get(owner);
      set?.delete(uid);
      if (set?.size === 0) dependents.delete(owner);
    }
  }

  return {
    get: (uid) => nodes.get(uid),
    dependentsOf: (uid) =>
      [...(dependents.get(uid) ?? [])].flatMap((dependent) => nodes.get(dependent) ?? []),
    put(node) {
      const { uid } = node.object.metadata;
      if (uid === undefined) return;
      unlink(uid);
      nodes.set(uid, node);
      for (const owner of ownersOf(node)) {
        const set = dependents.get(owner) ?? new Set<string>();
        dependents.set(owner, set.add(uid));
      }
    },
    remove(uid) {
      unlink(uid);
      nodes.delete(uid);
    },
  };
}

export function ownersOf(node: GraphNode | undefined): string[] {
  return (node?.object.metadata.ownerReferences ?? []).map(({ uid }) => uid);
}
