import { type OpenApiText, openApiDocument, openApiIndex, type ServedKind } from './openapi.ts';
import type { Resources } from './resources.ts';
import { isObject, type JsonObject, valueAt } from './schema/json.ts';

const root = '/openapi/v3';

/** The scope as it is served now; the same list until it changes, so that documents made from it are kept. */
const scopes = new WeakMap<Resources, { generation: number; scope: readonly ServedKind[] }>();

/** The document at a path below `/openapi/v3`, undefined where there is none. */
export function openApiAt(resources: Resources, path: string): OpenApiText | undefined {
  if (path === root) return { json: JSON.stringify(openApiIndex(scopeOf(resources))), hash: '' };
  if (!path.startsWith(`${root}/`)) return undefined;
  return openApiDocument(scopeOf(resources), path.slice(root.length + 1));
}

function scopeOf(resources: Resources): readonly ServedKind[] {
  const { generation } = resources;
  const known = scopes.get(resources);
  if (known?.generation === generation) return known.scope;
  const scope = resources
    .groups()
    .flatMap(({ versions }) => versions.flatMap(({ resources: served }) => served))
    .map((served) =>
      served.custom === undefined
        ? served
        : { ...served, schema: schemaOf(served.custom.crd as unknown as JsonObject, served.version) },
    );
  scopes.set(resources, { generation, scope });
  return scope;
}

function schemaOf(crd: JsonObject, version: string): JsonObject {
  const versions = valueAt(crd, 'spec', 'versions');
  const found = (Array.isArray(versions) ? versions : []).find(
    (each) => isObject(each) && each.name === version,
  );
  const schema = valueAt(found, 'schema', 'openAPIV3Schema');
  return isObject(schema) ? schema : { type: 'object' };
}
