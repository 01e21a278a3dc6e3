import { childPath, type FieldError, forbidden, invalid, required, tooLong } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import {
  label1035Problems,
  labelProblems,
  labelValueProblems,
  maskTrailingDash,
  pathSegmentProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from './names.ts';
import { objectMetaNode } from './object-meta.ts';
import { validateValues } from './values.ts';

export type NameRule = 'dns1123Subdomain' | 'dns1123Label' | 'dns1035Label' | 'pathSegment';

const nameRules: Readonly<Record<NameRule, (name: string) => string[]>> = {
  dns1123Subdomain: subdomainProblems,
  dns1123Label: labelProblems,
  dns1035Label: label1035Problems,
  pathSegment: pathSegmentProblems,
};

/** All annotations of one object together, in bytes (apimachinery, TotalAnnotationSizeLimitB). */
export const annotationBytesMax = 256 * 1024;

/** What is wrong with `metadata` of an object that is about to be stored (apimachinery, ValidateObjectMeta). */
export function validateMetadata(
  object: JsonObject,
  options: { namespaced: boolean; name?: NameRule },
): FieldError[] {
  const { metadata } = object;
  if (!isObject(metadata)) return [required('metadata')];
  const typeErrors = metadataTypes(object);
  if (typeErrors.length > 0) return typeErrors;
  return [
    ...nameErrors(metadata, nameRules[options.name ?? 'dns1123Subdomain']),
    ...namespaceErrors(metadata, options.namespaced),
    ...labelErrors(metadata.labels, 'metadata.labels'),
    ...annotationErrors(metadata.annotations),
    ...ownerErrors(metadata.ownerReferences),
    ...finalizerErrors(metadata.finalizers),
  ];
}

/** What of `metadata` has not the type that it must have. */
export function metadataTypes(object: JsonObject): FieldError[] {
  const { metadata } = object;
  if (!isObject(metadata)) return [];
  return validateValues(metadata, objectMetaNode).map((error) => ({
    ...error,
    field: childPath('metadata', error.field),
  }));
}

function* nameErrors(metadata: JsonObject, problemsOf: (name: string) => string[]): Generator<FieldError> {
  const { name, generateName } = metadata;
  if (typeof generateName === 'string' && generateName !== '') {
    for (const problem of problemsOf(maskTrailingDash(generateName))) {
      yield invalid('metadata.generateName', generateName, problem);
    }
  }
  if (typeof name !== 'string' || name === '') {
    yield required('metadata.name', 'name or generateName is required');
    return;
  }
  // Whatever else a name may be, it stands in the path of a URL.
  for (const problem of new Set([...pathSegmentProblems(name), ...problemsOf(name)])) {
    yield invalid('metadata.name', name, problem);
  }
}

function* namespaceErrors(metadata: JsonObject, namespaced: boolean): Generator<FieldError> {
  const { namespace = '' } = metadata;
  if (!namespaced) {
    if (namespace !== '') yield forbidden('metadata.namespace', 'not allowed on this type');
  } else if (namespace === '') yield required('metadata.namespace');
  else {
    for (const problem of labelProblems(String(namespace))) {
      yield invalid('metadata.namespace', namespace, problem);
    }
  }
}

/** What is wrong with labels, of an object or of a template. */
export function* labelErrors(labels: JsonValue | undefined, path: string): Generator<FieldError> {
  for (const [key, value] of Object.entries(isObject(labels) ? labels : {})) {
    for (const problem of qualifiedNameProblems(key)) yield invalid(path, key, problem);
    for (const problem of labelValueProblems(String(value))) yield invalid(path, value, problem);
  }
}

function* annotationErrors(annotations: JsonValue | undefined): Generator<FieldError> {
  let bytes = 0;
  for (const [key, value] of Object.entries(isObject(annotations) ? annotations : {})) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
    for (const problem of qualifiedNameProblems(key.toLowerCase())) {
      yield invalid('metadata.annotations', key, problem);
    }
  }
  if (bytes > annotationBytesMax) yield tooLong('metadata.annotations', annotationBytesMax);
}

function* ownerErrors(owners: JsonValue | undefined): Generator<FieldError> {
  const controllers: string[] = [];
  const path = 'metadata.ownerReferences';
  for (const owner of Array.isArray(owners) ? owners : []) {
    if (!isObject(owner)) continue;
    const { apiVersion = '', kind = '', name = '', uid = '' } = owner;
    if (apiVersion === '') yield invalid(`${path}.apiVersion`, apiVersion, 'version must not be empty');
    if (kind === '') yield invalid(`${path}.kind`, kind, 'must not be empty');
    if (name === '') yield invalid(`${path}.name`, name, 'must not be empty');
    if (uid === '') yield invalid(`${path}.uid`, uid, 'must not be empty');
    if (owner.controller === true) controllers.push(String(name));
  }
  if (controllers.length > 1) {
    const [first, second] = controllers;
    const message = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
    yield invalid(path, owners, message);
  }
}

function* finalizerErrors(finalizers: JsonValue | undefined): Generator<FieldError> {
  for (const finalizer of Array.isArray(finalizers) ? finalizers : []) {
    for (const problem of qualifiedNameProblems(String(finalizer))) {
      yield invalid('metadata.finalizers', finalizer, problem);
    }
  }
}

const immutable = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** What an UPDATE must not change in `metadata` (apimachinery, ValidateObjectMetaUpdate). */
export function validateMetadataUpdate(object: JsonObject, oldObject: JsonObject): FieldError[] {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const before = isObject(oldObject.metadata) ? oldObject.metadata : {};
  const errors: FieldError[] = immutable
    .filter((field) => (metadata[field] ?? '') !== (before[field] ?? ''))
    .map((field) => invalid(`metadata.${field}`, metadata[field] ?? '', 'field is immutable'));
  if (before.deletionTimestamp !== undefined) {
    const known = Array.isArray(before.finalizers) ? before.finalizers : [];
    const added = (Array.isArray(metadata.finalizers) ? metadata.finalizers : []).filter(
      (finalizer) => !known.includes(finalizer),
    );
    if (added.length > 0) {
      const shown = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
      const message = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${shown}}`;
      errors.push(forbidden('metadata.finalizers', message));
    }
  }
  return errors;
}
