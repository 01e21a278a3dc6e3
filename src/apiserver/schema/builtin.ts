import { definition, definitionName } from '../schemas/definitions.ts';
import { builtinDefaults } from './builtin-defaults.ts';
import { builtinRules } from './builtin-rules.ts';
import { type CompiledSchema, compileSchema } from './compile.ts';
import { type FieldError, indexPath, invalid } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue, valueAt } from './json.ts';
import type { NameRule } from './metadata.ts';
import { referenceOf } from './node.ts';
import { dropNulls } from './prune.ts';

const compiled = new Map<string, CompiledSchema | undefined>();

/** The compiled schema of a built-in kind, undefined where it is not in the closed scope. Group '' is core. */
export function builtinSchema(group: string, version: string, kind: string): CompiledSchema | undefined {
  const id = `${group}/${version}/${kind}`;
  if (!compiled.has(id)) {
    const name = definitionName(group, version, kind);
    compiled.set(id, name === undefined ? undefined : compileDefinition(name));
  }
  return compiled.get(id);
}

function compileDefinition(name: string): CompiledSchema {
  const resolve = (reference: string) => {
    const raw = definition(reference);
    if (reference === quantityName) return quantitySchema;
    return raw === undefined ? undefined : (adapted(raw) as JsonObject);
  };
  const schema = compileSchema({ $ref: `#/components/schemas/${name}` }, { resolve });
  return {
    ...schema,
    prune: (object) => {
      dropNulls(object, schema.root);
      return schema.prune(object);
    },
    // Defaults of built-in kinds are code in Kubernetes; those in the public OpenAPI are zero values of Go.
    default: () => {},
  };
}

const quantityName = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const quantitySchema: JsonObject = { format: 'quantity', 'x-kubernetes-preserve-unknown-fields': true };

/** What the public OpenAPI says for other ends: documentation, zero values, how server-side apply merges lists. */
const unjudged = new Set(['default', 'description', 'required', 'x-kubernetes-list-type']);

/**
 * A definition of the public OpenAPI as a structural schema. `required` there means "always written by Go", which an
 * object of a client need not have; what must be there is in builtin-rules.ts. A place without type takes anything.
 */
function adapted(raw: JsonValue, isSchema = true): JsonValue {
  if (Array.isArray(raw)) return raw.map((item) => adapted(item));
  if (!isObject(raw)) return raw;
  const out: JsonObject = {};
  for (const [name, value] of Object.entries(raw)) {
    if (isSchema && unjudged.has(name)) continue;
    out[name] = adapted(value, name !== 'properties');
  }
  if (!isSchema || referenceOf(raw) !== undefined) return out;
  // What Go could not read into its type; custom kinds are not held to that.
  if (raw.format === 'int32') Object.assign(out, { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 });
  if (raw.format === 'byte') out.format = 'base64';
  const isOpen =
    raw.properties === undefined && raw.additionalProperties === undefined && raw.items === undefined;
  if (isOpen && (raw.type === undefined || raw.type === 'object')) {
    out['x-kubernetes-preserve-unknown-fields'] = true;
  }
  return out;
}

/** Kubernetes' own defaults of a built-in kind, in place; called after the schema's. Other kinds stay as they are. */
export function defaultBuiltin(group: string, kind: string, object: JsonObject): void {
  builtinDefaults[id(group, kind)]?.(object);
}

/**
 * What is wrong with an object of a built-in kind: what its schema says, and Kubernetes' own validation beyond it, with
 * `oldObject` also of what must not change.
 * @param found what the schema has said
 */
export function validateBuiltin(
  group: string,
  kind: string,
  object: JsonObject,
  found: readonly FieldError[],
  oldObject?: JsonObject,
): FieldError[] {
  // To Go's types an empty text is one that is not set.
  const told = found.filter(({ type, value }) => type !== 'FieldValueNotSupported' || value !== '');
  // The rules of a kind read fields by their types, so they only see an object whose types are right.
  if (told.some(({ type }) => type !== 'FieldValueNotSupported')) return told;
  const rules = builtinRules[id(group, kind)];
  const own = [...finalizerErrors(group, object), ...(rules?.(object, oldObject) ?? [])];
  return [...told.filter(({ field }) => own.every((error) => error.field !== field)), ...own];
}

const plainFinalizers = new Set(['foregroundDeletion', 'kubernetes', 'orphan']);

/** Groups whose objects are judged by the validation of core. */
const coreGroups = new Set(['', 'apps', 'batch', 'policy']);

/** Finalizers of core kinds name who they belong to; those of others need not. */
function* finalizerErrors(group: string, object: JsonObject): Generator<FieldError> {
  if (!coreGroups.has(group)) return;
  const finalizers = valueAt(object, 'metadata', 'finalizers');
  for (const [at, finalizer] of (Array.isArray(finalizers) ? finalizers : []).entries()) {
    if (String(finalizer).includes('/') || plainFinalizers.has(String(finalizer))) continue;
    const message = 'name is neither a standard finalizer name nor is it fully qualified';
    yield invalid(indexPath('metadata.finalizers', at), finalizer, message);
  }
}

const nameRules: Readonly<Record<string, NameRule>> = {
  Namespace: 'dns1123Label',
  Service: 'dns1035Label',
  'Role.rbac.authorization.k8s.io': 'pathSegment',
  'ClusterRole.rbac.authorization.k8s.io': 'pathSegment',
  'RoleBinding.rbac.authorization.k8s.io': 'pathSegment',
  'ClusterRoleBinding.rbac.authorization.k8s.io': 'pathSegment',
};

/** The grammar of the names of a kind. */
export function nameRuleOf(group: string, kind: string): NameRule {
  return nameRules[id(group, kind)] ?? 'dns1123Subdomain';
}

function id(group: string, kind: string): string {
  return group === '' ? kind : `${kind}.${group}`;
}
