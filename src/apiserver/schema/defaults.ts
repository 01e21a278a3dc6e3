import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { objectDepthMax, type SchemaNode } from './node.ts';

/**
 * Fills in defaults, in place (apiextensions-apiserver, schema/defaulting): where a property is absent, or null without
 * being nullable; then also inside of what was filled in.
 */
export function applyDefaults(value: JsonValue, node: SchemaNode, depth = 0): void {
  if (depth > objectDepthMax) return;
  if (Array.isArray(value)) {
    if (node.items === undefined) return;
    const { items } = node;
    value.forEach((item, at) => {
      if (isMissing(item, items)) value[at] = structuredClone(items.default as JsonValue);
      applyDefaults(value[at] as JsonValue, items, depth + 1);
    });
    return;
  }
  if (!isObject(value)) return;
  for (const [name, property] of node.properties) {
    const present = Object.hasOwn(value, name);
    if (!present && property.default === undefined) continue;
    if (!present || isMissing(value[name] as JsonValue, property)) setDefault(value, name, property);
    applyDefaults(value[name] as JsonValue, property, depth + 1);
  }
  if (typeof node.additional !== 'object') return;
  for (const name of Object.keys(value)) {
    if (node.properties.has(name)) continue;
    if (isMissing(value[name] as JsonValue, node.additional)) setDefault(value, name, node.additional);
    applyDefaults(value[name] as JsonValue, node.additional, depth + 1);
  }
}

function isMissing(value: JsonValue, node: SchemaNode): boolean {
  return value === null && !node.nullable && node.default !== undefined;
}

function setDefault(object: JsonObject, name: string, node: SchemaNode): void {
  object[name] = structuredClone(node.default as JsonValue);
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
