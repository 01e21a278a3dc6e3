import type { JsonObject } from './json.ts';
import { compileNodes, type SchemaNode } from './node.ts';

const text = { type: 'string' };
const texts = { type: 'object', additionalProperties: text };

/** ObjectMeta of apimachinery (meta/v1) as a schema: what `metadata` of any object may hold. */
const objectMetaSchema: JsonObject = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: { type: 'string', format: 'date-time', nullable: true },
    deletionTimestamp: { type: 'string', format: 'date-time', nullable: true },
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64', nullable: true },
    labels: { ...texts, nullable: true },
    annotations: { ...texts, nullable: true },
    finalizers: { type: 'array', items: text, nullable: true },
    ownerReferences: {
      type: 'array',
      nullable: true,
      items: {
        type: 'object',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: text,
          controller: { type: 'boolean', nullable: true },
          blockOwnerDeletion: { type: 'boolean', nullable: true },
        },
      },
    },
    managedFields: {
      type: 'array',
      nullable: true,
      items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
};

export const objectMetaNode: SchemaNode = compileNodes(objectMetaSchema).root;

/** Of apiVersion, and of kind. */
export const apiVersionNode: SchemaNode = compileNodes(text).root;

/** The schema of a property; of a whole object (a root, or embedded) the three that every object has come first. */
export function propertyNode(node: SchemaNode, name: string, isResource: boolean): SchemaNode | undefined {
  if (isResource) {
    if (name === 'metadata') return objectMetaNode;
    if (name === 'apiVersion' || name === 'kind') return apiVersionNode;
  }
  return node.properties.get(name) ?? (typeof node.additional === 'object' ? node.additional : undefined);
}
