import type { KubeObject, Namespace } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { messageOf } from '../errors/error.ts';
import { pathOf } from '../kube/client.ts';
import { setCondition } from '../kube/conditions.ts';
import { runController, watchOf } from '../kube/controller.ts';
import { isConflict, isNotFound } from '../kube/error.ts';
import type { AllObjects } from './all-objects.ts';
import { type ControllerContext, ignoreNotFound } from './context.ts';
import { sameJson } from './owned-pods.ts';
import { discoverKinds, type ServedKind } from './served-kinds.ts';
import { watchOfChanges } from './watch-of-changes.ts';

const finalizer = 'kubernetes';
/** Kinds that are emptied at the same time. */
const kindsAtOnce = 8;
/** Names of finalizers and kinds in a message, at most. */
const namedMax = 10;

/** What stands in a namespace after everything was told to go. */
interface Remains {
  readonly kind: ServedKind;
  readonly objects: readonly KubeObject[];
}

interface Round {
  readonly remains: readonly Remains[];
  readonly failures: readonly string[];
}

/**
 * Empties namespaces that are being deleted, and lets them go when nothing is left in them (kubernetes,
 * pkg/controller/namespace). Nothing can be created in them any more, so a kind that was found empty stays so.
 */
export async function runNamespaces(context: ControllerContext, all: AllObjects): Promise<void> {
  const { client, informers, clock } = context;
  const { kinds } = client;
  const namespaces = informers.of(kinds.Namespace);
  /** By uid of the namespace, the kinds that were not empty when they were last looked at. */
  const nonEmpty = new Map<string, readonly ServedKind[]>();
  namespaces.onChange(({ type, object }) => {
    if (type === 'deleted') nonEmpty.delete(object.metadata.uid ?? '');
  });

  async function reconcile(name: string): Promise<void> {
    const namespace = namespaces.get(name);
    if (namespace === undefined || !isEnding(namespace)) return;
    if (!(namespace.spec?.finalizers ?? []).includes(finalizer)) return;
    const uid = namespace.metadata.uid ?? '';
    // Asked anew: a kind that came a moment ago must not be overlooked.
    const from = nonEmpty.get(uid) ?? (await discoverKinds(client, context.signal)).filter(canBeEmptied);
    const { remains, failures } = await empty(name, from);
    if (failures.length > 0) nonEmpty.delete(uid);
    else
      nonEmpty.set(
        uid,
        remains.map(({ kind }) => kind),
      );
    if (remains.length === 0 && failures.length === 0) {
      await finalize(namespace);
      return;
    }
    await tell(name, remains, failures);
    if (failures.length > 0)
      throw new Error(`namespace ${name} could not be emptied: ${failures.join('; ')}`);
  }

  async function empty(namespace: string, from: readonly ServedKind[]): Promise<Round> {
    const remains: Remains[] = [];
    const failures: string[] = [];
    const waiting = [...from];
    const work = async () => {
      for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift()) {
        try {
          const objects = await emptyKind(kind, namespace);
          if (objects.length > 0) remains.push({ kind, objects });
        } catch (error) {
          // Its definition has gone meanwhile, and with it all its objects.
          if (!isNotFound(error)) failures.push(`${kind.plural}: ${messageOf(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: kindsAtOnce }, work));
    return { remains, failures };
  }

  async function emptyKind(kind: KindRef, namespace: string): Promise<KubeObject[]> {
    const told = (await client.raw({
      method: 'DELETE',
      path: pathOf(kind, namespace),
      body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' },
    })) as { items?: unknown[] };
    if ((told.items ?? []).length === 0) return [];
    return (await client.list(kind, { namespace })).items;
  }

  async function finalize(namespace: Namespace): Promise<void> {
    const { name } = namespace.metadata;
    const finalizers = (namespace.spec?.finalizers ?? []).filter((other) => other !== finalizer);
    const path = pathOf(kinds.Namespace, undefined, name, 'finalize');
    const body = { ...namespace, spec: { ...namespace.spec, finalizers } };
    await client.raw({ method: 'PUT', path, body }).catch(ignoreNotFound);
  }

  /** Says on the namespace what still stands in it. */
  async function tell(name: string, remains: readonly Remains[], failures: readonly string[]): Promise<void> {
    const namespace = await client.tryGet(kinds.Namespace, name);
    if (namespace === undefined) return;
    let conditions = namespace.status?.conditions ?? [];
    for (const update of conditionsOf(remains, failures)) {
      conditions = setCondition(conditions, update, clock.now());
    }
    if (sameJson(conditions, namespace.status?.conditions)) return;
    try {
      await client.updateStatus(kinds.Namespace, {
        ...namespace,
        status: { ...namespace.status, conditions },
      });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  await runController({
    ...context,
    name: 'namespace',
    concurrency: 4,
    watches: [
      watchOf(namespaces, { keysOf: ({ metadata }) => [metadata.name] }),
      watchOfChanges(all, ({ change }) => {
        const { namespace } = change.object.metadata;
        if (change.type !== 'deleted' || namespace === undefined) return [];
        const found = namespaces.get(namespace);
        return found !== undefined && isEnding(found) ? [namespace] : [];
      }),
    ],
    reconcile,
  });
}

function isEnding(namespace: Namespace): boolean {
  return namespace.metadata.deletionTimestamp !== undefined;
}

function canBeEmptied({ namespaced, verbs }: ServedKind): boolean {
  return namespaced && verbs.includes('deletecollection') && verbs.includes('list');
}

/** The conditions of kubernetes, pkg/controller/namespace/deletion/status_condition_utils.go. */
function conditionsOf(remains: readonly Remains[], failures: readonly string[]) {
  const condition = (type: string, is: boolean, reason: string, message: string) => ({
    type,
    status: is ? ('True' as const) : ('False' as const),
    reason,
    message,
  });
  const left = remains.map(({ kind, objects }) => {
    const resource = kind.group === '' ? `${kind.plural}.` : `${kind.plural}.${kind.group}`;
    return `${resource} has ${objects.length} resource instances`;
  });
  const finalizers = new Map<string, number>();
  for (const { metadata } of remains.flatMap(({ objects }) => objects)) {
    for (const name of metadata.finalizers ?? []) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  const held = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`);
  return [
    failures.length > 0
      ? condition(
          'NamespaceDeletionContentFailure',
          true,
          'ContentDeletionFailed',
          `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`,
        )
      : condition(
          'NamespaceDeletionContentFailure',
          false,
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        ),
    left.length > 0
      ? condition(
          'NamespaceContentRemaining',
          true,
          'SomeResourcesRemain',
          `Some resources are remaining: ${left.sort().slice(0, namedMax).join(', ')}`,
        )
      : condition('NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed'),
    held.length > 0
      ? condition(
          'NamespaceFinalizersRemaining',
          true,
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${held.sort().slice(0, namedMax).join(', ')}`,
        )
      : condition(
          'NamespaceFinalizersRemaining',
          false,
          'ContentHasNoFinalizers',
          'All content-preserving finalizers finished',
        ),
  ];
}
