import { childPath, indexPath } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { objectDepthMax, type SchemaNode } from './node.ts';
import { objectMetaNode, propertyNode } from './object-meta.ts';

/** Called for each field that the schema does not name. */
type OnUnknown = (parent: JsonObject, name: string, path: string) => void;

/**
 * Walks to every field that the schema does not name (apiextensions-apiserver, schema/pruning): what stands below
 * x-kubernetes-preserve-unknown-fields is left alone, except in properties that are named.
 */
function walk(
  value: JsonValue,
  node: SchemaNode,
  isResource: boolean,
  path: string,
  depth: number,
  onUnknown: OnUnknown,
): void {
  if (depth > objectDepthMax) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return;
    value.forEach((item, at) => {
      walk(item, items, items.embedded, indexPath(path, at), depth + 1, onUnknown);
    });
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const here = childPath(path, name);
    const known = propertyNode(node, name, isResource);
    if (known !== undefined)
      walk(value[name] as JsonValue, known, known.embedded, here, depth + 1, onUnknown);
    else if (!node.preserveUnknown && node.additional !== true) onUnknown(value, name, here);
  }
}

/** Drops what the schema does not name, in place; returns the paths of what was dropped. */
export function pruneUnknown(object: JsonObject, root: SchemaNode): string[] {
  if (isObject(object.metadata)) dropNulls(object.metadata, objectMetaNode);
  const dropped: string[] = [];
  walk(object, root, true, '', 0, (parent, name, path) => {
    delete parent[name];
    dropped.push(path);
  });
  return dropped;
}

/** The paths of what the schema does not name; nothing is changed. */
export function listUnknown(object: JsonObject, root: SchemaNode, isResource = true): string[] {
  const paths: string[] = [];
  walk(object, root, isResource, '', 0, (_parent, _name, path) => paths.push(path));
  return paths;
}

/**
 * Drops null where the schema knows a field, in place: Go reads it as absent, and in a map of texts as the empty one.
 * What is preserved keeps its nulls.
 */
export function dropNulls(value: JsonValue, node: SchemaNode, depth = 0): void {
  if (depth > objectDepthMax) return;
  if (Array.isArray(value)) {
    if (node.items !== undefined) for (const item of value) dropNulls(item, node.items, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const known = propertyNode(node, name, false);
    if (known === undefined) continue;
    if (value[name] === null) {
      if (known.type === 'string' && !node.properties.has(name)) value[name] = '';
      else delete value[name];
    } else dropNulls(value[name] as JsonValue, known, depth + 1);
  }
}
