import { childPath, type FieldError, indexPath, invalid, required } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { validateMetadata } from './metadata.ts';
import { label1035Problems } from './names.ts';
import { objectDepthMax, type SchemaNode } from './node.ts';

/** Whether a schema has places for whole objects (x-kubernetes-embedded-resource). */
export function hasEmbedded(node: SchemaNode, seen: Set<SchemaNode> = new Set()): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  return node.embedded || childrenOf(node).some((child) => hasEmbedded(child, seen));
}

function childrenOf(node: SchemaNode): SchemaNode[] {
  const children = [...node.properties.values()];
  if (node.items !== undefined) children.push(node.items);
  if (typeof node.additional === 'object') children.push(node.additional);
  return children;
}

/** What is wrong with kinds and metadata of embedded objects (apiextensions-apiserver, schema/objectmeta). */
export function* embeddedErrors(
  value: JsonValue,
  node: SchemaNode,
  path = '',
  depth = 0,
): Generator<FieldError> {
  if (depth > objectDepthMax) return;
  if (Array.isArray(value)) {
    if (node.items === undefined) return;
    for (const [at, item] of value.entries()) {
      yield* embeddedErrors(item, node.items, indexPath(path, at), depth + 1);
    }
    return;
  }
  if (!isObject(value)) return;
  if (node.embedded) yield* objectErrors(value, path);
  for (const [name, member] of Object.entries(value)) {
    const known =
      node.properties.get(name) ?? (typeof node.additional === 'object' ? node.additional : undefined);
    if (known !== undefined) yield* embeddedErrors(member, known, childPath(path, name), depth + 1);
  }
}

function* objectErrors(object: JsonObject, path: string): Generator<FieldError> {
  const { apiVersion = '', kind = '', metadata } = object;
  if (apiVersion === '') yield required(childPath(path, 'apiVersion'));
  if (kind === '') yield required(childPath(path, 'kind'));
  else {
    for (const problem of label1035Problems(String(kind).toLowerCase())) {
      const message = `may have mixed case, but should otherwise match: ${problem}`;
      yield invalid(childPath(path, 'kind'), kind, message);
    }
  }
  if (!isObject(metadata)) return;
  // An embedded object need not be named yet.
  const named = { ...metadata, name: metadata.name ?? 'unnamed', namespace: metadata.namespace ?? 'none' };
  for (const error of validateMetadata({ metadata: named }, { namespaced: true, name: 'pathSegment' })) {
    yield { ...error, field: childPath(path, error.field) };
  }
}
