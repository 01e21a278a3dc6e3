import { applyDefaults } from './defaults.ts';
import {
  childPath,
  type FieldError,
  forbidden,
  indexPath,
  invalid,
  keyPath,
  notSupported,
  required,
} from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { compileNodes, schemaDepthMax } from './node.ts';
import { dropNulls, listUnknown } from './prune.ts';
import { validateValues } from './values.ts';

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const listTypes = ['atomic', 'map', 'set'];

/**
 * Why a schema is no structural one (kubernetes.io/docs: "Specifying a structural schema"; apiextensions-apiserver,
 * schema/validation.go): every place has a type, and only such places say which fields there are.
 */
export function* structureErrors(schema: JsonObject, path: string): Generator<FieldError> {
  if ((schema.type ?? '') === '') yield required(`${path}.type`, 'must not be empty at the root');
  else if (schema.type !== 'object')
    yield invalid(`${path}.type`, schema.type ?? '', 'must be object at the root');
  if (schema.nullable === true) yield forbidden(`${path}.nullable`, 'nullable cannot be true at the root');
  yield* placeErrors(schema, path, 'root', 0);
}

type Level = 'field' | 'item' | 'root';

const levelWords: Record<Level, string> = {
  root: 'at the root',
  field: 'for specified object fields',
  item: 'for specified array items',
};

function* placeErrors(raw: JsonValue, path: string, level: Level, depth: number): Generator<FieldError> {
  if (!isObject(raw)) {
    yield invalid(path, raw, 'must be a schema');
    return;
  }
  if (depth > schemaDepthMax) {
    yield invalid(path, '', `must not be nested more than ${schemaDepthMax} deep`);
    return;
  }
  if (raw.$ref !== undefined) yield forbidden(`${path}.$ref`, '$ref is not supported');
  yield* typeErrors(raw, path, level);
  yield* listErrors(raw, path);
  yield* valueErrors(raw, path);
  for (const [at, rule] of (Array.isArray(raw['x-kubernetes-validations'])
    ? raw['x-kubernetes-validations']
    : []
  ).entries()) {
    const here = `${indexPath(`${path}.x-kubernetes-validations`, at)}.rule`;
    if (!isObject(rule) || String(rule.rule ?? '').trim() === '')
      yield required(here, 'rule is not specified');
  }
  if (raw.default !== undefined) yield* defaultErrors(raw, `${path}.default`);
  const properties = isObject(raw.properties) ? raw.properties : {};
  if (isObject(raw.additionalProperties) && Object.keys(properties).length > 0) {
    yield forbidden(
      `${path}.additionalProperties`,
      'additionalProperties and properties are mutual exclusive',
    );
  }
  if (raw.additionalProperties === false) {
    yield forbidden(`${path}.additionalProperties`, 'additionalProperties cannot be set to false');
  }
  for (const [name, property] of Object.entries(properties)) {
    yield* placeErrors(property, keyPath(`${path}.properties`, name), 'field', depth + 1);
  }
  if (isObject(raw.additionalProperties)) {
    yield* placeErrors(raw.additionalProperties, `${path}.additionalProperties`, 'field', depth + 1);
  }
  if (raw.items !== undefined) yield* placeErrors(raw.items, `${path}.items`, 'item', depth + 1);
}

function* typeErrors(raw: JsonObject, path: string, level: Level): Generator<FieldError> {
  const { type = '' } = raw;
  const isIntOrString = raw['x-kubernetes-int-or-string'] === true;
  const isPreserved = raw['x-kubernetes-preserve-unknown-fields'] === true;
  if (type === '') {
    if (!isIntOrString && !isPreserved && level !== 'root') {
      yield required(`${path}.type`, `must not be empty ${levelWords[level]}`);
    }
  } else if (!types.includes(String(type))) yield notSupported(`${path}.type`, type, types);
  if (raw['x-kubernetes-embedded-resource'] === true) {
    if (type !== 'object')
      yield invalid(`${path}.type`, type, 'must be object if x-kubernetes-embedded-resource is true');
    if (!isPreserved && !isObject(raw.properties)) {
      yield required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      );
    }
  }
  if (type === 'array' && raw.items === undefined) yield required(`${path}.items`, 'must be specified');
  if (raw['x-kubernetes-preserve-unknown-fields'] === false) {
    yield invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined');
  }
}

function* listErrors(raw: JsonObject, path: string): Generator<FieldError> {
  const listType = raw['x-kubernetes-list-type'];
  const keys = raw['x-kubernetes-list-map-keys'];
  const keyPathHere = `${path}.x-kubernetes-list-map-keys`;
  if (listType === undefined) {
    if (Array.isArray(keys))
      yield required(
        `${path}.x-kubernetes-list-type`,
        'must be map if x-kubernetes-list-map-keys is non-empty',
      );
    return;
  }
  if (!listTypes.includes(String(listType)))
    yield notSupported(`${path}.x-kubernetes-list-type`, listType, listTypes);
  if (raw.type !== 'array') {
    yield invalid(`${path}.type`, raw.type ?? '', 'must be array if x-kubernetes-list-type is specified');
  }
  if (listType !== 'map') return;
  const items = isObject(raw.items) ? raw.items : {};
  const hasKeys = Array.isArray(keys) && keys.length > 0;
  if (!hasKeys) yield required(keyPathHere, 'must not be empty if x-kubernetes-list-type is map');
  if (items.type !== 'object') {
    const message = "must be object if parent array's x-kubernetes-list-type is map";
    yield invalid(`${path}.items.type`, items.type ?? '', message);
  }
  if (!hasKeys) return;
  const properties = isObject(items.properties) ? items.properties : {};
  const needed = Array.isArray(items.required) ? items.required : [];
  for (const [at, key] of keys.entries()) {
    const name = String(key);
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isObject(property)) {
      yield invalid(indexPath(keyPathHere, at), name, 'entries must all be names of item properties');
    } else if (property.default === undefined && !needed.includes(name)) {
      const message =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      yield required(`${keyPath(`${path}.items.properties`, name)}.default`, message);
    }
  }
}

function* valueErrors(raw: JsonObject, path: string): Generator<FieldError> {
  for (const list of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [at, part] of (Array.isArray(raw[list]) ? raw[list] : []).entries()) {
      const here = indexPath(childPath(path, list), at);
      yield* validationOnlyErrors(part, here, raw['x-kubernetes-int-or-string'] === true, 0);
    }
  }
  if (raw.not !== undefined) yield* validationOnlyErrors(raw.not, `${path}.not`, false, 0);
}

/** Below allOf, anyOf, oneOf and not, values are judged; what fields there are, and what they mean, is said outside. */
function* validationOnlyErrors(
  raw: JsonValue,
  path: string,
  mayHaveType: boolean,
  depth: number,
): Generator<FieldError> {
  if (!isObject(raw) || depth > schemaDepthMax) return;
  const forbiddenHere = [
    'default',
    'nullable',
    'description',
    'title',
    'x-kubernetes-preserve-unknown-fields',
  ];
  if (!mayHaveType) forbiddenHere.push('type');
  for (const field of forbiddenHere) {
    const value = raw[field];
    if (value !== undefined && value !== false && value !== '')
      yield forbidden(`${path}.${field}`, 'must be empty to be structural');
  }
  for (const [name, property] of Object.entries(isObject(raw.properties) ? raw.properties : {})) {
    yield* validationOnlyErrors(property, keyPath(`${path}.properties`, name), false, depth + 1);
  }
  if (raw.items !== undefined) yield* validationOnlyErrors(raw.items, `${path}.items`, false, depth + 1);
}

/** A default must itself be what the schema asks for, with nothing unknown in it. */
function* defaultErrors(raw: JsonObject, path: string): Generator<FieldError> {
  const { root, problems } = compileNodes(raw);
  if (problems.length > 0) return;
  const value = structuredClone(raw.default as JsonValue);
  dropNulls(value, root);
  if (isObject(value) && listUnknown(value, root, root.embedded).length > 0) {
    yield invalid(path, raw.default, 'must not have unknown fields');
  }
  applyDefaults(value, root);
  for (const error of validateValues(value, root, undefined, root.embedded)) {
    yield { ...error, field: error.field === '' ? path : childPath(path, error.field) };
  }
}
