import { isRecord, type KubeObject } from '../object.ts';
import type { Served } from '../served.ts';
import { badRequest, conflict, invalid, type StatusError } from '../status.ts';
import { unconditionalUpdate } from './strategy.ts';

/** What the head of an object must be, whatever its kind. */

/** Fields that the server alone writes, dropped from what clients send. */
export const ignoredMetadata = ['managedFields', 'selfLink'] as const;

/** Fields of metadata that an update leaves as they are. */
const keptMetadata = [
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'generateName',
  'resourceVersion',
] as const;

/** Of these, what an update refuses to set rather than ignores it. */
const setByServer = new Set(['deletionTimestamp', 'deletionGracePeriodSeconds']);

/** An object of the kind that the path names; what is left out is filled in. @throws 400, 422 where a patch made it */
export function checkKind(served: Served, object: KubeObject, isPatch = false): void {
  if (!isRecord(object)) throw badRequest('the body is no object');
  if (!isRecord(object.metadata)) object.metadata = { name: '' };
  if (served.custom !== undefined && !object.kind) {
    const text = JSON.stringify(object);
    const shown = text.length > 32 ? `${text.slice(0, 32)} ...` : text;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${served.kind}): ` +
        `Object 'Kind' is missing in '${text.slice(0, 1_024)}' (${shown})`,
    );
  }
  if (!object.apiVersion) object.apiVersion = served.apiVersion;
  if (!object.kind) object.kind = served.kind;
  if (object.apiVersion !== served.apiVersion) {
    throw unreadableObject(
      object,
      isPatch,
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${served.apiVersion})`,
    );
  }
  if (object.kind !== served.kind) {
    throw unreadableObject(
      object,
      isPatch,
      `${served.kind} in version ${JSON.stringify(served.version)} cannot be handled as a ${object.kind}: ` +
        'the kind in the data does not match the expected kind',
    );
  }
}

const shownCharactersMax = 1024;

/** A body that is no object of its kind is a bad request; a patch that makes none is an invalid one. */
export function unreadableObject(object: KubeObject, isPatch: boolean, why: string): StatusError {
  if (!isPatch) return badRequest(why);
  const text = JSON.stringify(object);
  const shown = text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
  const message = `Invalid value: ${JSON.stringify(shown)}: ${why}`;
  return invalid({ group: '', kind: '' }, '', [{ reason: 'FieldValueInvalid', message, field: 'patch' }]);
}

/** An object of the namespace that the path names. @throws 400 */
export function checkNamespace(served: Served, namespace: string, object: KubeObject): void {
  const { metadata } = object;
  if (!served.namespaced) {
    if (metadata.namespace) throw badRequest('namespace is not allowed on objects of this kind');
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  metadata.namespace = namespace;
}

/** An object of the name that the path names. @throws 400 */
export function checkName(name: string, object: KubeObject): void {
  if (!object.metadata.name) {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (object.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`,
    );
  }
}

/** The version and the uid that an update is about are those that stand. @throws 409, 422 */
export function checkVersion(
  served: Served,
  name: string,
  old: KubeObject,
  object: KubeObject,
  isPatch = false,
): void {
  const { resourceVersion, uid } = object.metadata;
  // A patch names no object that it is meant for: another uid in it would be a change of it.
  if (!isPatch && uid && uid !== old.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
    throw conflict(served, name, why);
  }
  if (!resourceVersion) {
    if (unconditionalUpdate(served)) return;
    const message = 'Invalid value: 0x0: must be specified for an update';
    throw invalid(served, name, [
      { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' },
    ]);
  }
  if (resourceVersion !== old.metadata.resourceVersion) throw conflict(served, name);
}

/** What a client cannot change in metadata stays as it is. */
export function keepMetadata(old: KubeObject, object: KubeObject): void {
  const { metadata } = object;
  for (const field of ignoredMetadata) delete metadata[field];
  const kept: Record<string, unknown> = metadata;
  for (const field of keptMetadata) {
    if (old.metadata[field] !== undefined) kept[field] = old.metadata[field];
    else if (!setByServer.has(field)) delete kept[field];
  }
  if (!metadata.uid) metadata.uid = old.metadata.uid as string;
}
