import type { Node, Pod } from '../api/core.ts';
import { annotations } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict, isNotFound } from '../kube/error.ts';

/** The value of the annotation on a node that we cordoned; nobody else's cordon is ever lifted. */
export const cordonOwner = 'sluice-fleet-lock';

/** How a drain stands. */
export type DrainProgress =
  | { readonly kind: 'drained' }
  /** Pods that are still there, or may not be evicted yet; in words. */
  | { readonly kind: 'waiting'; readonly message: string };

/** Whether draining makes sense: with nowhere else to go, pods would only be stopped twice. Pure. */
export function drainIsPossible(nodes: readonly Node[], name: string): boolean {
  return nodes.some(
    (node) => node.metadata.name !== name && node.spec?.unschedulable !== true && isReady(node),
  );
}

export function isReady(node: Node): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** The pods that a drain moves: not those that end with the node anyway or belong to it. Pure. */
export function podsToEvict(pods: readonly Pod[]): Pod[] {
  return pods.filter((pod) => {
    if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return false;
    if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return false;
    return !pod.metadata.ownerReferences?.some(
      ({ kind, controller }) => kind === 'DaemonSet' && controller === true,
    );
  });
}

/** Makes the node unschedulable. Owner and cordon are one write, so that a crash leaves no cordon without its owner. */
export async function cordon(client: KubeClient, name: string): Promise<void> {
  await changeNode(client, name, (node) =>
    node.spec?.unschedulable === true ? undefined : { owner: cordonOwner, unschedulable: true },
  );
}

/** Whether it is our own cordon that keeps Pods from a node. */
export function isOurCordon(node: Node): boolean {
  return node.metadata.annotations?.[annotations.cordonedBy] === cordonOwner;
}

/** Lifts our own cordon, mark and all in one write. A node that is gone needs none. */
export async function uncordon(client: KubeClient, name: string): Promise<void> {
  await changeNode(client, name, (node) =>
    isOurCordon(node) ? { owner: null, unschedulable: null } : undefined,
  );
}

/** Writers that lose a race look again this often. */
const conflictRetriesMax = 20;

/** Changes what was looked at and nothing newer: who cordons a node in between keeps his cordon. */
async function changeNode(
  client: KubeClient,
  name: string,
  decide: (node: Node) => { readonly owner: string | null; readonly unschedulable: true | null } | undefined,
): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const node = await client.tryGet(client.kinds.Node, name);
    const change = node === undefined ? undefined : decide(node);
    if (node === undefined || change === undefined) return;
    const { resourceVersion } = node.metadata;
    try {
      await client.patch(client.kinds.Node, name, {
        metadata: { resourceVersion, annotations: { [annotations.cordonedBy]: change.owner } },
        spec: { unschedulable: change.unschedulable },
      });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || attempt >= conflictRetriesMax) throw error;
    }
  }
}

/**
 * One round of a drain: cordons (again, where somebody lifted it meanwhile), evicts what is there, says what it waits
 * for.
 */
export async function drainOnce(
  client: KubeClient,
  name: string,
  nodes: readonly Node[],
  pods: readonly Pod[],
): Promise<DrainProgress> {
  if (!nodes.some((node) => node.metadata.name === name)) return { kind: 'drained' };
  if (!drainIsPossible(nodes, name)) return { kind: 'drained' };
  await cordon(client, name);
  const waits: string[] = [];
  for (const pod of podsToEvict(pods)) {
    const title = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const ending = pod.metadata.deletionTimestamp !== undefined;
    waits.push(`${title}${ending ? whichEnds : await evict(client, pod)}`);
  }
  return waits.length === 0 ? { kind: 'drained' } : { kind: 'waiting', message: summary(waits) };
}

const whichEnds = ', which is ending';

/** Evicts a Pod; what is to be said of it after its name. One refusal must not keep the others from being tried. */
async function evict(client: KubeClient, pod: Pod): Promise<string> {
  try {
    const { uid, namespace = '', name = '' } = pod.metadata;
    const outcome = await client.evict(namespace, name, uid === undefined ? {} : { uid });
    return outcome.outcome === 'Blocked' ? `: ${outcome.message}` : whichEnds;
  } catch (error) {
    if (isNotFound(error)) return ', which is gone';
    return `: ${messageOf(error)}`;
  }
}

const shownMax = 3;

function summary(waits: readonly string[]): string {
  const more = waits.length > shownMax ? ` and ${waits.length - shownMax} more` : '';
  return `waiting for ${waits.slice(0, shownMax).join('; ')}${more}`;
}
