import { equalJson } from '../object.ts';
import { type CompiledSchema, compileSchema } from './compile.ts';
import { childPath, type FieldError, indexPath, invalid, notSupported, required } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue, stringAt, valueAt } from './json.ts';
import { label1035Problems, subdomainProblems } from './names.ts';
import { objectIn, objectsOf, setDefault } from './pod-defaults.ts';
import { structureErrors } from './structure.ts';

/** Fills in the defaults of a CustomResourceDefinition (apiextensions v1 defaults.go), in place. */
export function defaultCustomResourceDefinition(crd: JsonObject): void {
  const spec = objectIn(crd, 'spec');
  const names = objectIn(spec, 'names');
  if (typeof names.kind === 'string') {
    setDefault(names, 'singular', names.kind.toLowerCase());
    setDefault(names, 'listKind', `${names.kind}List`);
  }
  setDefault(objectIn(spec, 'conversion'), 'strategy', 'None');
}

/** What is wrong with a CustomResourceDefinition: names, versions, structural schemas, rules that do not compile. */
export function validateCustomResourceDefinition(crd: JsonObject, oldCrd?: JsonObject): FieldError[] {
  const spec = isObject(crd.spec) ? crd.spec : {};
  const errors = [...nameErrors(crd, spec), ...versionErrors(crd, spec)];
  const conversion = stringAt(spec, 'conversion', 'strategy') ?? 'None';
  if (conversion === 'Webhook') {
    errors.push(invalid('spec.conversion.strategy', conversion, 'conversion webhooks are not served here'));
  } else if (conversion !== 'None') {
    errors.push(notSupported('spec.conversion.strategy', conversion, ['None', 'Webhook']));
  }
  if (spec.preserveUnknownFields === true) {
    const message =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    errors.push(invalid('spec.preserveUnknownFields', true, message));
  }
  const versions = objectsOf(spec.versions);
  const [first] = versions;
  // What all versions have in common, the real server keeps and names outside of them.
  const isShared = versions.every((version) => equalJson(version.schema, first?.schema));
  for (const [at, version] of versions.entries()) {
    if (isShared && at > 0) break;
    const before = objectsOf(valueAt(oldCrd, 'spec', 'versions')).find(({ name }) => name === version.name);
    // A schema that stands is not judged again: the server may have become stricter since.
    if (before !== undefined && equalJson(before.schema, version.schema)) continue;
    errors.push(...schemaErrors(version, indexPath('spec.versions', at), isShared));
  }
  if (oldCrd !== undefined) errors.push(...changeErrors(spec, oldCrd));
  return errors;
}

function* nameErrors(crd: JsonObject, spec: JsonObject): Generator<FieldError> {
  const { group = '' } = spec;
  const names = isObject(spec.names) ? spec.names : {};
  const wanted = `${names.plural}.${group}`;
  const name = stringAt(crd, 'metadata', 'name') ?? '';
  if (name !== wanted) yield invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group');
  if (group === '') yield required('spec.group');
  else if (subdomainProblems(String(group)).length > 0) {
    yield invalid('spec.group', group, subdomainProblems(String(group)).join(','));
  } else if (!String(group).includes('.')) {
    yield invalid('spec.group', group, 'should be a domain with at least one dot');
  }
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) {
    const name = String(names[field] ?? '');
    if (name === '') yield required(`spec.names.${field}`);
    const isKind = field === 'kind' || field === 'listKind';
    for (const problem of name === '' ? [] : label1035Problems(isKind ? name.toLowerCase() : name)) {
      const mayBe = isKind ? `may have mixed case, but should otherwise match: ${problem}` : problem;
      yield invalid(`spec.names.${field}`, name, mayBe);
    }
  }
  if (names.kind !== undefined && names.kind === names.listKind) {
    yield invalid('spec.names.listKind', names.listKind, 'kind and listKind may not be the same');
  }
  const { scope = '' } = spec;
  const scopes = ['Cluster', 'Namespaced'];
  if (scope === '') yield required('spec.scope');
  else if (!scopes.includes(String(scope))) yield notSupported('spec.scope', scope, scopes);
}

function* versionErrors(crd: JsonObject, spec: JsonObject): Generator<FieldError> {
  const versions = objectsOf(spec.versions);
  const names = versions.map(({ name }) => String(name ?? ''));
  for (const [at, name] of names.entries()) {
    for (const problem of label1035Problems(name)) {
      yield invalid(`${indexPath('spec.versions', at)}.name`, name, problem);
    }
  }
  if (new Set(names).size !== names.length) {
    yield invalid('spec.versions', names, 'must contain unique version names');
  }
  if (versions.filter(({ storage }) => storage === true).length !== 1) {
    yield invalid('spec.versions', names, 'must have exactly one version marked as storage version');
  }
  const stored = valueAt(crd, 'status', 'storedVersions');
  for (const [at, version] of (Array.isArray(stored) ? stored : []).entries()) {
    if (names.includes(String(version))) continue;
    const message = `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`;
    yield invalid(indexPath('status.storedVersions', at), version, message);
  }
}

function* schemaErrors(version: JsonObject, path: string, isShared: boolean): Generator<FieldError> {
  const here = isShared ? 'spec.validation.openAPIV3Schema' : `${path}.schema.openAPIV3Schema`;
  const schema = valueAt(version, 'schema', 'openAPIV3Schema');
  if (!isObject(schema)) {
    yield required(`${path}.schema.openAPIV3Schema`);
    return;
  }
  const structure = [...structureErrors(schema, here)];
  yield* structure;
  if (structure.length > 0) return;
  for (const problem of compileSchema(schema).problems) {
    yield { ...problem, field: childPath(here, problem.field) };
  }
  for (const [at, column] of objectsOf(version.additionalPrinterColumns).entries()) {
    const columnPath = indexPath(`${isShared ? 'spec' : path}.additionalPrinterColumns`, at);
    const types = ['boolean', 'date', 'integer', 'number', 'string'];
    if ((column.name ?? '') === '') yield required(`${columnPath}.name`);
    if (!types.includes(String(column.type))) {
      yield invalid(`${columnPath}.type`, column.type ?? '', `must be one of ${types.join(',')}`);
    }
    if ((column.jsonPath ?? '') === '') yield required(`${columnPath}.JSONPath`);
  }
}

/** What stays as it was once a kind is served (names and scope are part of where its objects lie). */
function* changeErrors(spec: JsonObject, oldCrd: JsonObject): Generator<FieldError> {
  const paths = [['group'], ['scope'], ['names', 'plural'], ['names', 'kind']];
  for (const path of paths) {
    const value: JsonValue = valueAt(spec, ...path) ?? '';
    const before = valueAt(oldCrd, 'spec', ...path) ?? '';
    if (value !== before) yield invalid(`spec.${path.join('.')}`, value, 'field is immutable');
  }
}

/** Compiled schemas that are kept; all versions of all definitions of a cluster fit in many times over. */
const compiledMax = 1000;
const compiled = new Map<string, CompiledSchema>();

/** The compiled schema of one served version; kept until the definition's spec changes. */
export function customResourceSchema(crd: JsonObject, version: string): CompiledSchema {
  const found = objectsOf(valueAt(crd, 'spec', 'versions')).find(({ name }) => name === version);
  const schema = valueAt(found, 'schema', 'openAPIV3Schema');
  const uid = stringAt(crd, 'metadata', 'uid');
  // An object that was never stored has no version of its own to be known by.
  const id = uid === undefined ? undefined : `${uid}/${valueAt(crd, 'metadata', 'generation')}/${version}`;
  const known = id === undefined ? undefined : compiled.get(id);
  if (known !== undefined) return known;
  const made = compileSchema(isObject(schema) ? schema : { type: 'object' });
  if (compiled.size >= compiledMax) compiled.clear();
  if (id !== undefined) compiled.set(id, made);
  return made;
}
