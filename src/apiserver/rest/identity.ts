import { isRecord, type KubeObject } from '../object.ts';
import type { Served } from '../served.ts';
import { badRequest, conflict, invalid } from '../status.ts';
import { unconditionalUpdate } from './strategy.ts';

/** What the head of an object must be, whatever its kind. */

/** Fields that the server alone writes, dropped from what clients send. */
export const ignoredMetadata = ['managedFields', 'selfLink'] as const;

/** Fields of metadata that an update leaves as they are. */
const keptMetadata = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'generateName',
  'resourceVersion',
] as const;

/** An object of the kind that the path names; what is left out is filled in. @throws 400 */
export function checkKind(served: Served, object: KubeObject): void {
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
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${served.apiVersion})`,
    );
  }
  if (object.kind !== served.kind) {
    throw badRequest(
      `${served.kind} in version ${JSON.stringify(served.version)} cannot be handled as a ${object.kind}: ` +
        'the kind in the data does not match the expected kind',
    );
  }
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
  if (!object.metadata.name) object.metadata.name = name;
  if (object.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`,
    );
  }
}

/** The version and the uid that an update is about are those that stand. @throws 409, 422 */
export function checkVersion(served: Served, name: string, old: KubeObject, object: KubeObject): void {
  const { resourceVersion, uid } = object.metadata;
  if (uid && uid !== old.metadata.uid) {
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
    if (old.metadata[field] === undefined) delete kept[field];
    else kept[field] = old.metadata[field];
  }
}
