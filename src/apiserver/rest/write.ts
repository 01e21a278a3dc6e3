import { randomUUID } from 'node:crypto';
import { rfc3339 } from '../../observe/clock.ts';
import { equalJson, type KubeObject, list } from '../object.ts';
import type { AdmissionRequest } from '../policy/request.ts';
import { errorBody, errorText, type FieldError } from '../schema/field-error.ts';
import type { JsonObject } from '../schema/json.ts';
import { metadataTypes } from '../schema/metadata.ts';
import { hasStatus, keyOf, type Served } from '../served.ts';
import { alreadyExists, badRequest, forbidden, invalid, notFound, StatusError } from '../status.ts';
import { type Current, currentForWrite, type Engine, type WriteContext, type WriteResult } from './engine.ts';
import {
  checkKind,
  checkName,
  checkNamespace,
  checkVersion,
  ignoredMetadata,
  keepMetadata,
  unreadableObject,
} from './identity.ts';
import { generateName, namespaceForCreate } from './names.ts';
import { prepareCreate, prepareUpdate } from './strategy.ts';

/**
 * Creates an object: names it, completes it, judges it, stores it. Returns when it is on the disk.
 * @throws 400, 403, 404 (namespace), 409 (exists), 422
 */
export async function createObject(
  engine: Engine,
  served: Served,
  namespace: string,
  body: KubeObject,
  context: WriteContext,
): Promise<WriteResult> {
  checkKind(served, body);
  const object = body;
  const { metadata } = object;
  checkNamespace(served, namespace, object);
  if (metadata.resourceVersion)
    throw badRequest('resourceVersion should not be set on objects to be created');
  if (!metadata.name && metadata.generateName) metadata.name = generateName(String(metadata.generateName));
  if (!metadata.name) {
    const message = 'Required value: name or generateName is required';
    throw invalid(served, '', [{ reason: 'FieldValueRequired', message, field: 'metadata.name' }]);
  }
  for (const field of [...ignoredMetadata, 'deletionTimestamp', 'deletionGracePeriodSeconds']) {
    delete metadata[field];
  }
  if (served.namespaced) namespaceForCreate(engine, served, namespace, metadata.name);
  metadata.uid = randomUUID();
  metadata.creationTimestamp = rfc3339(engine.clock.now());
  if (served.generation) metadata.generation = 1;
  else delete metadata.generation;
  if (hasStatus(served)) delete object.status;
  const found = decode(engine, served, object, context);
  prepareCreate(engine, served, object, context.user);
  judge(engine, served, object, undefined, found);
  admit(engine, served, 'CREATE', '', object, undefined, context);
  const existing = currentForWrite(engine, served, namespace, metadata.name);
  if (existing !== undefined) throw alreadyExists(served, metadata.name);
  if (context.dryRun) return { json: JSON.stringify(object), created: true };
  const key = keyOf(served, namespace, metadata.name);
  const written = engine.store.put(key, undefined, (revision) => textAt(served, object, revision));
  await written.committed;
  return { json: written.value, created: true };
}

/** How an update comes by its new object: from the one that stands, in the turn in which it is stored. */
export type Change = (current: KubeObject) => KubeObject;

/**
 * Replaces an object, or its status alone, by what `change` makes of it.
 * @throws 400, 404, 409 (another version stands), 422
 */
export async function updateObject(
  engine: Engine,
  served: Served,
  namespace: string,
  name: string,
  subresource: string,
  change: Change,
  context: WriteContext,
): Promise<WriteResult> {
  const current = currentForWrite(engine, served, namespace, name);
  if (current === undefined) throw notFound(served, name);
  const old = current.object;
  const object = change(structuredClone(old));
  checkKind(served, object, context.isPatch);
  checkNamespace(served, namespace, object);
  checkName(name, object);
  checkVersion(served, name, old, object, context.isPatch);
  keepMetadata(old, object);
  const found = decode(engine, served, object, context);
  splitStatus(served, subresource, old, object);
  prepareUpdate(served, subresource, object, old);
  countGeneration(served, subresource, object, old);
  judge(engine, served, object, old, found);
  admit(engine, served, 'UPDATE', subresource, object, old, context);
  if (context.dryRun) return { json: JSON.stringify(object) };
  return await storeUpdate(engine, served, current, object);
}

/** Stores what replaces a version; or ends the object where that was all that still held it. */
export async function storeUpdate(
  engine: Engine,
  served: Served,
  current: Current,
  object: KubeObject,
): Promise<WriteResult> {
  const { revision, object: old } = current;
  if (mayEnd(served, object)) {
    const written = engine.store.delete(revision.key, revision, (at) => textAt(served, object, at));
    await written.committed;
    return { json: written.value };
  }
  if (equalJson(object, old)) {
    // Nothing changes: no new version, as the real server does. What it is compared with may still be on its way.
    if (revision.revision > engine.store.revision) await engine.store.settled();
    return { json: JSON.stringify(old) };
  }
  const written = engine.store.put(revision.key, revision, (at) => textAt(served, object, at));
  await written.committed;
  return { json: written.value };
}

/** Whether an object that is being deleted has nothing left to wait for. */
export function mayEnd(served: Served, object: KubeObject): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined || list(metadata.finalizers).length > 0) return false;
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  if (served.storage !== 'namespaces') return true;
  return list((object.spec as { finalizers?: unknown } | undefined)?.finalizers).length === 0;
}

/** The text of an object at a revision; a custom kind is stored in its storage version. */
export function textAt(served: Served, object: KubeObject, revision: number): string {
  object.metadata.resourceVersion = String(revision);
  const stored = served.custom?.storageVersion ?? served.version;
  const { apiVersion: _, kind, metadata, ...rest } = object;
  const apiVersion = served.group === '' ? stored : `${served.group}/${stored}`;
  return JSON.stringify({ apiVersion, kind, metadata, ...rest });
}

/** Through /status only the status changes, otherwise everything but the status. */
function splitStatus(served: Served, subresource: string, old: KubeObject, object: KubeObject): void {
  if (!hasStatus(served)) return;
  if (subresource !== 'status') {
    if (old.status === undefined) delete object.status;
    else object.status = old.status;
    return;
  }
  for (const field of Object.keys(object)) {
    if (!(field in old) && field !== 'status' && field !== 'metadata') delete object[field];
  }
  for (const [field, value] of Object.entries(old)) {
    if (field === 'status' || field === 'metadata') continue;
    object[field] = value;
  }
  // A custom kind's status carries no change of metadata at all; a built-in one may carry labels and annotations.
  if (served.custom !== undefined) object.metadata = { ...old.metadata };
  else
    object.metadata = { ...object.metadata, finalizers: old.metadata.finalizers } as KubeObject['metadata'];
  if (object.metadata.finalizers === undefined) delete object.metadata.finalizers;
}

/** `metadata.generation` counts the changes of what is wanted. */
function countGeneration(served: Served, subresource: string, object: KubeObject, old: KubeObject): void {
  if (!served.generation || subresource === 'status') return;
  const wanted = ({ metadata: _, status: __, ...rest }: KubeObject) => rest;
  if (equalJson(wanted(object), wanted(old))) return;
  object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

/**
 * Makes what a client sent an object of its kind: unknown fields go, defaults come.
 * @returns what the schema of a built-in kind has against it; a custom kind is judged when it is whole
 * @throws 400 where it cannot be read
 */
function decode(
  engine: Engine,
  served: Served,
  object: KubeObject,
  context: WriteContext,
): FieldError[] | undefined {
  const schema = engine.gatekeeper.schema(served);
  const json = object as unknown as JsonObject;
  let problems: FieldError[] | undefined;
  if (schema !== undefined) {
    const told = [
      ...(context.duplicates ?? []).map((path) => `duplicate field ${JSON.stringify(path)}`),
      ...schema.unknownFields(json).map((path) => `unknown field ${JSON.stringify(path)}`),
    ];
    if (told.length > 0 && context.fieldValidation === 'Strict') {
      throw badRequest(`${unreadable(served)}: strict decoding error: ${told.join(', ')}`);
    }
    if (context.fieldValidation === 'Warn') context.warnings.push(...told);
    schema.prune(json);
    checkTypes(served, object, metadataTypes(json), context);
    if (served.custom === undefined) {
      problems = checkTypes(served, object, schema.validate(json), context);
    }
    schema.default(json);
  }
  engine.gatekeeper.complete(served, object);
  return problems;
}

const unreadable = ({ kind, version }: Served) =>
  `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`;

/** A built-in kind that does not have the types of its fields cannot even be read. @throws 400, 422 where a patch made it */
function checkTypes(
  served: Served,
  object: KubeObject,
  problems: FieldError[],
  { isPatch = false }: WriteContext,
): FieldError[] {
  const wrong = problems.filter((problem) => problem.type === 'FieldValueTypeInvalid');
  if (wrong.length > 0) {
    throw unreadableObject(object, isPatch, `${unreadable(served)}: ${wrong.map(errorText).join(', ')}`);
  }
  return problems;
}

function judge(
  engine: Engine,
  served: Served,
  object: KubeObject,
  old: KubeObject | undefined,
  found: readonly FieldError[] | undefined,
): void {
  const problems = engine.gatekeeper.problems(served, object, old, found);
  if (problems.length === 0) return;
  throw invalid(
    served,
    object.metadata.name,
    problems.map((problem) => ({ reason: problem.type, message: errorBody(problem), field: problem.field })),
  );
}

/** Asks the admission policies. @throws what they refuse with */
export function admit(
  engine: Engine,
  served: Served,
  operation: AdmissionRequest['operation'],
  subresource: string,
  object: KubeObject | undefined,
  old: KubeObject | undefined,
  context: WriteContext,
): void {
  const { metadata } = (object ?? old) as KubeObject;
  const { view } = context;
  const shown = (one: KubeObject | undefined) =>
    (one === undefined ? null : (view?.of(one) ?? one)) as unknown as JsonObject | null;
  const verdict = engine.gatekeeper.review({
    uid: randomUUID(),
    operation,
    group: served.group,
    version: served.version,
    kind: view?.kind ?? served.kind,
    ...(view === undefined ? {} : { kindGroup: view.group, kindVersion: view.version }),
    resource: served.plural,
    ...(subresource === '' ? {} : { subresource }),
    ...(served.namespaced ? { namespace: metadata.namespace } : {}),
    name: metadata.name,
    user: context.user,
    dryRun: context.dryRun,
    object: shown(object),
    oldObject: shown(old),
  });
  context.warnings.push(...verdict.warnings);
  if (verdict.denied === undefined) return;
  const { code, reason, message, isCause } = verdict.denied;
  const base = forbidden(served, metadata.name, message);
  throw new StatusError(code, reason, base.message, {
    ...base.details,
    ...(isCause === true ? { causes: [{ message }] } : {}),
  });
}
