import { rfc3339 } from '../../observe/clock.ts';
import { type KubeObject, list, record } from '../object.ts';
import type { Served } from '../served.ts';
import { badRequest, conflict, forbidden, notFound, type StatusBody, success } from '../status.ts';
import { type Current, currentForWrite, type Engine, parseStored, type WriteContext } from './engine.ts';
import type { ListQuery } from './list-options.ts';
import { listObjects } from './read.ts';
import { admit, mayEnd, storeUpdate, textAt } from './write.ts';

/** meta/v1 DeleteOptions. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: string | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
}

/** Seconds that a Pod has to end where neither it nor the request says. */
const podGraceSecondsDefault = 30;

/** Namespaces that are always there. */
const immortalNamespaces = new Set(['default', 'kube-system', 'kube-public']);

/** What a deletion answers: the object where it still waits for something, otherwise a Status. */
export interface DeleteResult {
  readonly json: string;
  /** The object is gone. */
  readonly ended: boolean;
}

/**
 * Deletes an object, or marks it as being deleted where finalizers or a grace period hold it.
 * @throws 404, 409 (preconditions), 403
 */
export async function deleteObject(
  engine: Engine,
  served: Served,
  namespace: string,
  name: string,
  options: DeleteOptions,
  context: WriteContext,
): Promise<DeleteResult> {
  const current = currentForWrite(engine, served, namespace, name);
  if (current === undefined) throw notFound(served, name);
  checkPreconditions(served, current, options);
  if (served.storage === 'namespaces' && immortalNamespaces.has(name)) {
    throw forbidden(served, name, 'this namespace may not be deleted');
  }
  admit(engine, served, 'DELETE', '', undefined, current.object, context);
  const marked = markDeleted(engine, served, current.object, options);
  const ends = marked === undefined || mayEnd(served, marked);
  if (context.dryRun) return answer(served, marked ?? current.object, ends);
  if (!ends) {
    const { json } = await storeUpdate(engine, served, current, marked);
    return { json, ended: false };
  }
  const { revision } = current;
  const last = marked ?? current.object;
  const written = engine.store.delete(revision.key, revision, (at) => textAt(served, last, at));
  await written.committed;
  return answer(served, current.object, true);
}

/** Deletes everything that a selector chooses; each object as `deleteObject` does. Answers the list of them. */
export async function deleteCollection(
  engine: Engine,
  served: Served,
  namespace: string,
  query: ListQuery,
  options: DeleteOptions,
  context: WriteContext,
): Promise<string> {
  const { items, revision } = listObjects(engine, served, namespace, query);
  const deletions = items.map(async (json) => {
    const { metadata } = parseStored(served, json);
    try {
      await deleteObject(engine, served, metadata.namespace ?? '', metadata.name, options, context);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 404) throw error; // It went by itself in the meantime.
    }
  });
  await Promise.all(deletions);
  const { listKind, apiVersion } = served;
  const metadata = JSON.stringify({ resourceVersion: String(revision) });
  return `{"kind":"${listKind}","apiVersion":"${apiVersion}","metadata":${metadata},"items":[${items.join(',')}]}`;
}

/** @throws 409 where the object is not the one that is meant (apiserver, registry/rest BeforeDelete) */
export function checkPreconditions(served: Served, { object }: Current, options: DeleteOptions): void {
  const { uid, resourceVersion, name } = object.metadata;
  const { preconditions } = options;
  // The real server names the kind here, not the resource.
  const about = { group: served.group, plural: served.kind };
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    const why =
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). ` +
      'The object might have been deleted and then recreated';
    throw conflict(about, name, why);
  }
  const asked = preconditions?.resourceVersion;
  if (asked !== undefined && asked !== resourceVersion) {
    const why =
      `the ResourceVersion in the precondition (${asked}) does not match the ResourceVersion in record ` +
      `(${resourceVersion}). The object might have been modified`;
    throw conflict(about, name, why);
  }
}

/**
 * The object with its deletion begun; undefined where nothing holds it, so that it can go at once
 * (kubernetes, apiserver registry/rest BeforeDelete and the generic store's finalizer rules).
 */
function markDeleted(
  engine: Engine,
  served: Served,
  current: KubeObject,
  options: DeleteOptions,
): KubeObject | undefined {
  const object = structuredClone(current);
  const { metadata } = object;
  const finalizers = dependentFinalizers(list(metadata.finalizers).map(String), options);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const grace = graceSeconds(served, object, options);
  const held = finalizers.length > 0 || grace > 0 || served.storage === 'namespaces';
  if (!held) return undefined;
  const begun = metadata.deletionTimestamp !== undefined;
  if (!begun || grace < (metadata.deletionGracePeriodSeconds ?? 0)) {
    metadata.deletionTimestamp = rfc3339(engine.clock.now() + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
  }
  if (!begun && metadata.generation !== undefined) metadata.generation += 1;
  if (served.storage === 'namespaces') object.status = { ...record(object.status), phase: 'Terminating' };
  return object;
}

function dependentFinalizers(finalizers: readonly string[], options: DeleteOptions): string[] {
  const policy =
    options.propagationPolicy ??
    (options.orphanDependents === undefined ? undefined : options.orphanDependents ? 'Orphan' : 'Background');
  if (policy === undefined) return [...finalizers];
  const others = finalizers.filter((name) => name !== 'orphan' && name !== 'foregroundDeletion');
  switch (policy) {
    case 'Background':
      return others;
    case 'Foreground':
      return [...others, 'foregroundDeletion'];
    case 'Orphan':
      return [...others, 'orphan'];
    default:
      throw badRequest(
        `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: ${JSON.stringify(policy)}: ` +
          'supported values: "Background", "Foreground", "Orphan"',
      );
  }
}

/** Only Pods that run somewhere are ended with patience (kubernetes, pkg/registry/core/pod CheckGracefulDelete). */
function graceSeconds(served: Served, object: KubeObject, options: DeleteOptions): number {
  if (served.storage !== 'pods') return 0;
  const spec = record(object.spec);
  const phase = record(object.status).phase;
  if (!spec.nodeName || phase === 'Succeeded' || phase === 'Failed') return 0;
  const asked = options.gracePeriodSeconds ?? (spec.terminationGracePeriodSeconds as number | undefined);
  return Math.max(0, asked ?? podGraceSecondsDefault);
}

function answer(served: Served, object: KubeObject, ended: boolean): DeleteResult {
  if (!ended) return { json: JSON.stringify(object), ended };
  const { name, uid } = object.metadata;
  const body: StatusBody = success({
    name,
    ...(served.group === '' ? {} : { group: served.group }),
    kind: served.plural,
    ...(uid === undefined ? {} : { uid }),
  });
  return { json: JSON.stringify(body), ended };
}
