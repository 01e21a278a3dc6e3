import { SluiceError } from '../../errors/error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { objectDepthMax, type SchemaNode } from './node.ts';

/** Characters of JSON that defaults add to one object: a large default in each of many items would fill any memory. */
export const defaultedCharactersMax = 3 * 1024 * 1024;

/**
 * Fills in defaults, in place (apiextensions-apiserver, schema/defaulting): where a property is absent, or null without
 * being nullable; then also inside of what was filled in. Errors: InputTooLarge.
 */
export function applyDefaults(value: JsonValue, root: SchemaNode): void {
  fill(value, root, 0, { left: defaultedCharactersMax });
}

interface Room {
  left: number;
}

function fill(value: JsonValue, node: SchemaNode, depth: number, room: Room): void {
  if (depth > objectDepthMax) return;
  if (Array.isArray(value)) {
    if (node.items === undefined) return;
    const { items } = node;
    value.forEach((item, at) => {
      if (isMissing(item, items)) value[at] = defaultOf(items, room);
      fill(value[at] as JsonValue, items, depth + 1, room);
    });
    return;
  }
  if (!isObject(value)) return;
  for (const [name, property] of node.properties) {
    const present = Object.hasOwn(value, name);
    if (!present && property.default === undefined) continue;
    if (!present || isMissing(value[name] as JsonValue, property)) setDefault(value, name, property, room);
    fill(value[name] as JsonValue, property, depth + 1, room);
  }
  if (typeof node.additional !== 'object') return;
  for (const name of Object.keys(value)) {
    if (node.properties.has(name)) continue;
    if (isMissing(value[name] as JsonValue, node.additional)) setDefault(value, name, node.additional, room);
    fill(value[name] as JsonValue, node.additional, depth + 1, room);
  }
}

function isMissing(value: JsonValue, node: SchemaNode): boolean {
  return value === null && !node.nullable && node.default !== undefined;
}

function setDefault(object: JsonObject, name: string, node: SchemaNode, room: Room): void {
  room.left -= name.length + 3;
  object[name] = defaultOf(node, room);
}

const sizes = new WeakMap<SchemaNode, number>();

function defaultOf(node: SchemaNode, room: Room): JsonValue {
  const value = node.default as JsonValue;
  const size = sizes.get(node) ?? JSON.stringify(value).length;
  sizes.set(node, size);
  room.left -= size;
  if (room.left < 0) {
    const message = `the defaults of its schema make the object more than ${defaultedCharactersMax} characters larger`;
    throw new SluiceError('InputTooLarge', message);
  }
  return structuredClone(value);
}

/** Drops null where a field may not be null and has no default, in place; items of lists stay as they are. */
export function dropForbiddenNulls(value: JsonValue, node: SchemaNode, depth = 0): void {
  if (depth > objectDepthMax) return;
  if (Array.isArray(value)) {
    if (node.items !== undefined) for (const item of value) dropForbiddenNulls(item, node.items, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const property =
      node.properties.get(name) ?? (typeof node.additional === 'object' ? node.additional : undefined);
    if (property === undefined) continue;
    if (value[name] === null && !property.nullable) delete value[name];
    else dropForbiddenNulls(value[name] as JsonValue, property, depth + 1);
  }
}
