import { shippedText } from '../../program/files.ts';
import type { JsonObject } from '../schema/json.ts';

interface Source {
  readonly source: string;
  /** `apps/v1/Deployment` → name of its definition. */
  readonly kinds: Readonly<Record<string, string>>;
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

let loaded: Source | undefined;

/** The public OpenAPI definitions of the built-in kinds (kubernetes.json, made by generate.ts); read once. */
function source(): Source {
  loaded ??= JSON.parse(shippedText('src/apiserver/schemas/kubernetes.json')) as Source;
  return loaded;
}

/** The name of the definition of a kind, such as `io.k8s.api.apps.v1.Deployment`; undefined outside of the scope. */
export function definitionName(group: string, version: string, kind: string): string | undefined {
  const { kinds, definitions } = source();
  const listed = kinds[group === '' ? `${version}/${kind}` : `${group}/${version}/${kind}`];
  if (listed !== undefined) return listed;
  // Bodies of subresources (TokenRequest, Scale, Eviction) are no resources of their own.
  return Object.keys(definitions).find((name) =>
    gvksOf(definitions[name] as JsonObject).some(
      (gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind,
    ),
  );
}

export function definition(name: string): JsonObject | undefined {
  const { definitions } = source();
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}

interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

function gvksOf(raw: JsonObject): readonly Gvk[] {
  const list = raw['x-kubernetes-group-version-kind'];
  return Array.isArray(list) ? (list as unknown as Gvk[]) : [];
}
