import { equalJson } from '../object.ts';
import { type FieldError, forbidden, invalid, keyPath, required, tooLong } from './field-error.ts';
import { isObject, type JsonObject } from './json.ts';
import { regexProblem } from './names.ts';

/** Largest ConfigMap or Secret, all values together, in bytes (core/v1, MaxSecretSize). */
export const configBytesMax = 1024 * 1024;
const keyUnitsMax = 253;

export function* configMapRules(map: JsonObject, old?: JsonObject): Generator<FieldError> {
  const data = isObject(map.data) ? map.data : {};
  const binary = isObject(map.binaryData) ? map.binaryData : {};
  for (const key of Object.keys(data)) {
    yield* keyErrors(key, 'data');
    if (Object.hasOwn(binary, key)) {
      yield invalid(keyPath('data', key), key, 'duplicate of key present in binaryData');
    }
  }
  for (const key of Object.keys(binary)) yield* keyErrors(key, 'binaryData');
  const bytes = textBytes(data) + base64Bytes(binary);
  if (bytes > configBytesMax) yield tooLong('[]', configBytesMax);
  yield* immutableErrors(map, old, ['data', 'binaryData']);
}

/** What a Secret of a type must hold (kubernetes, ValidateSecret). */
const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

export function* secretRules(secret: JsonObject, old?: JsonObject): Generator<FieldError> {
  const data = isObject(secret.data) ? secret.data : {};
  for (const key of Object.keys(data)) yield* keyErrors(key, 'data');
  if (base64Bytes(data) > configBytesMax) yield tooLong('data', configBytesMax);
  for (const key of requiredKeys[String(secret.type)] ?? []) {
    if (!Object.hasOwn(data, key)) yield required(keyPath('data', key));
  }
  const docker = data['.dockerconfigjson'];
  if (secret.type === 'kubernetes.io/dockerconfigjson' && typeof docker === 'string' && !holdsJson(docker)) {
    yield invalid('data[.dockerconfigjson]', '<secret contents redacted>', 'invalid character in JSON');
  }
  if (secret.type === 'kubernetes.io/service-account-token') {
    const name = isObject(secret.metadata) ? secret.metadata.annotations : undefined;
    if (!isObject(name) || !name['kubernetes.io/service-account.name']) {
      yield required('metadata.annotations[kubernetes.io/service-account.name]');
    }
  }
  if (old !== undefined && secret.type !== old.type) {
    yield invalid('type', secret.type ?? '', 'field is immutable');
  }
  yield* immutableErrors(secret, old, ['data']);
}

function* keyErrors(key: string, field: string): Generator<FieldError> {
  const path = keyPath(field, key);
  if (key.length > keyUnitsMax) yield invalid(path, key, `must be no more than ${keyUnitsMax} characters`);
  if (key === '.' || key === '..') yield invalid(path, key, `must not be '${key}'`);
  else if (key.startsWith('..')) yield invalid(path, key, "must not start with '..'");
  if (/^[-._a-zA-Z0-9]+$/.test(key)) return;
  const words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  yield invalid(path, key, regexProblem(words, '[-._a-zA-Z0-9]+', 'key.name', 'KEY_NAME', 'key-name'));
}

function* immutableErrors(
  object: JsonObject,
  old: JsonObject | undefined,
  fields: readonly string[],
): Generator<FieldError> {
  if (old?.immutable !== true) return;
  const message = 'field is immutable when `immutable` is set';
  if (object.immutable !== true) yield forbidden('immutable', message);
  for (const field of fields) {
    if (!equalJson(object[field], old[field])) yield forbidden(field, message);
  }
}

function textBytes(data: JsonObject): number {
  return Object.values(data).reduce<number>((sum, text) => sum + Buffer.byteLength(String(text)), 0);
}

function base64Bytes(data: JsonObject): number {
  return Object.values(data).reduce<number>(
    (sum, text) => sum + Buffer.byteLength(String(text), 'base64'),
    0,
  );
}

function holdsJson(base64: string): boolean {
  try {
    JSON.parse(Buffer.from(base64, 'base64').toString('utf8'));
    return true;
  } catch {
    return false;
  }
}
