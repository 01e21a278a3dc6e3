import { dyn, escapeName, type Typing } from '../cel/typing.ts';
import type { SchemaNode } from './node.ts';

const text: Typing = { name: 'string' };

/** Of an object's metadata, rules may read its names only (apiextensions-apiserver, WithTypeAndObjectMeta). */
const metadataTyping = objectTyping(
  new Map([
    ['name', { json: 'name', typing: text }],
    ['generateName', { json: 'generateName', typing: text }],
  ]),
);

/** How CEL sees a place of a schema (apiserver, cel/common/schemas.go): undefined where it cannot be named at all. */
export function typingOfNode(node: SchemaNode, isResource: boolean): Typing | undefined {
  if (isResource) return typingOfObject(node, true);
  node.typing ??= plainTyping(node) ?? untyped;
  return node.typing === untyped ? undefined : node.typing;
}

/** Stands for "has no type", so that it is found out once. */
const untyped: Typing = { name: 'untyped' };

function plainTyping(node: SchemaNode): Typing | undefined {
  if (node.intOrString) return dyn;
  switch (node.type) {
    case 'array': {
      const item = node.items && typingOfNode(node.items, node.items.embedded);
      if (item === undefined) return undefined;
      return { name: 'list', item, listKind: node.listType, listKeys: node.listKeys };
    }
    case 'object': {
      if (typeof node.additional !== 'object') return typingOfObject(node, node.embedded);
      const item = typingOfNode(node.additional, node.additional.embedded);
      return item === undefined ? undefined : { name: 'map', item };
    }
    case 'string':
      return { name: textTypes[node.format ?? ''] ?? 'string' };
    case 'integer':
      return { name: 'int' };
    case 'number':
      return { name: 'double' };
    case 'boolean':
      return { name: 'bool' };
    default:
      return undefined;
  }
}

const textTypes: Record<string, string> = {
  byte: 'bytes',
  duration: 'duration',
  date: 'timestamp',
  'date-time': 'timestamp',
};

function typingOfObject(node: SchemaNode, isResource: boolean): Typing {
  const fields = new Map<string, { json: string; typing: Typing }>();
  let isFilled = false;
  // Filled when first read: a recursive schema would not end otherwise.
  const fill = () => {
    if (isFilled) return fields;
    isFilled = true;
    for (const [name, property] of node.properties) {
      const escaped = escapeName(name);
      const typing = typingOfNode(property, property.embedded);
      if (escaped !== undefined && typing !== undefined) fields.set(escaped, { json: name, typing });
    }
    if (isResource) {
      fields.set('apiVersion', { json: 'apiVersion', typing: text });
      fields.set('kind', { json: 'kind', typing: text });
      fields.set('metadata', { json: 'metadata', typing: metadataTyping });
    }
    return fields;
  };
  return { name: 'object', fields: fill };
}

function objectTyping(fields: ReadonlyMap<string, { json: string; typing: Typing }>): Typing {
  return { name: 'object', fields: () => fields };
}
