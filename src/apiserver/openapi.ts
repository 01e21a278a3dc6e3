import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from './schema/json.ts';
import { definition, definitionName } from './schemas/definitions.ts';

/** One served kind, as data. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly ServedSubresource[];
  /** openAPIV3Schema of a CRD's version; absent for built-in kinds. */
  readonly schema?: JsonObject | undefined;
}

export interface ServedSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** The kind of its bodies, where it is another one than the resource's. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
}

export interface OpenApiText {
  readonly json: string;
  /** Changes with the document; part of its URL in the index. */
  readonly hash: string;
}

const made = new WeakMap<readonly ServedKind[], Map<string, OpenApiText>>();

/** `/openapi/v3`: group versions and the URLs (with hashes) of their documents. */
export function openApiIndex(scope: readonly ServedKind[]): JsonObject {
  const paths: JsonObject = {};
  for (const groupVersion of new Set(scope.map(groupVersionOf))) {
    const text = openApiDocument(scope, groupVersion) as OpenApiText;
    paths[groupVersion] = { serverRelativeURL: `/openapi/v3/${groupVersion}?hash=${text.hash}` };
  }
  return { paths };
}

/**
 * `/openapi/v3/<groupVersion>` (`api/v1`, `apis/apps/v1`); undefined where nothing of it is served. Kept for as long as
 * the scope itself is, so a scope must not change once given.
 */
export function openApiDocument(scope: readonly ServedKind[], groupVersion: string): OpenApiText | undefined {
  const texts = made.get(scope) ?? new Map<string, OpenApiText>();
  made.set(scope, texts);
  const known = texts.get(groupVersion);
  if (known !== undefined) return known;
  const kinds = scope.filter((kind) => groupVersionOf(kind) === groupVersion);
  if (kinds.length === 0) return undefined;
  const json = JSON.stringify(documentOf(kinds));
  const hash = createHash('sha256').update(json).digest('hex').toUpperCase();
  const text = { json, hash };
  texts.set(groupVersion, text);
  return text;
}

function groupVersionOf({ group, version }: ServedKind): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

const gvkKey = 'x-kubernetes-group-version-kind';
const referencePrefix = '#/components/schemas/';
const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

function documentOf(kinds: readonly ServedKind[]): JsonObject {
  const schemas = new Map<string, JsonObject>();
  const paths: JsonObject = {};
  for (const kind of kinds) {
    const name = addKind(kind, schemas);
    Object.assign(paths, pathsOf(kind, name, schemas));
  }
  addReached([`${metaPackage}.DeleteOptions`, `${metaPackage}.Status`], schemas);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths,
    components: { schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))) },
  };
}

/** Adds the schemas of a kind and of its list; returns the name of the kind's. */
function addKind(kind: ServedKind, schemas: Map<string, JsonObject>): string {
  const { group, version, kind: kindName } = kind;
  const builtIn = definitionName(group, version, kindName);
  const name = kind.schema === undefined && builtIn !== undefined ? builtIn : customName(kind);
  if (name === builtIn) addReached([name], schemas);
  else schemas.set(name, customSchema(kind));
  if (kind.verbs.includes('list')) schemas.set(`${name}List`, listSchema(kind, name));
  addReached([`${metaPackage}.ObjectMeta`, `${metaPackage}.ListMeta`], schemas);
  return name;
}

/** As apiextensions-apiserver names them: the group's labels in reverse, version, kind. */
function customName({ group, version, kind }: ServedKind): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

function addReached(names: readonly string[], schemas: Map<string, JsonObject>): void {
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (schemas.has(name)) continue;
    const found = definition(name);
    if (found === undefined) continue;
    schemas.set(name, found);
    pending.push(...referencesOf(found));
  }
}

function referencesOf(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesOf);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner.slice(referencePrefix.length)] : referencesOf(inner),
  );
}

const reference = (name: string): JsonObject => ({ $ref: `${referencePrefix}${name}` });

const apiVersionSchema: JsonObject = {
  type: 'string',
  description:
    'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
};

const kindSchema: JsonObject = {
  type: 'string',
  description:
    'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
};

/** The schema of a custom kind, with what every object has. */
function customSchema(kind: ServedKind): JsonObject {
  const schema = kind.schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const properties = isObject(schema.properties) ? schema.properties : {};
  return {
    ...schema,
    type: 'object',
    properties: {
      ...properties,
      apiVersion: apiVersionSchema,
      kind: kindSchema,
      metadata: {
        description:
          "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
        allOf: [reference(`${metaPackage}.ObjectMeta`)],
      },
    },
    [gvkKey]: [gvkOf(kind)],
  };
}

function listSchema(kind: ServedKind, name: string): JsonObject {
  return {
    description: `${kind.kind}List is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: apiVersionSchema,
      kind: kindSchema,
      metadata: {
        description: 'Standard list metadata.',
        allOf: [reference(`${metaPackage}.ListMeta`)],
      },
      items: { description: `List of ${kind.plural}.`, type: 'array', items: reference(name) },
    },
    [gvkKey]: [{ ...gvkOf(kind), kind: `${kind.kind}List` }],
  };
}

function gvkOf({ group, version, kind }: { group: string; version: string; kind: string }): JsonObject {
  return { group, kind, version };
}

const query = (name: string, type: string, description: string): JsonObject => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});

const inPath = (name: string, description: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', uniqueItems: true },
});

const pretty = query('pretty', 'string', 'Ignored; answers are not indented.');

const dryRun = query(
  'dryRun',
  'string',
  'When present, indicates that modifications should not be persisted. Valid values are: - All: all dry run stages will be processed',
);

const writeParameters: readonly JsonObject[] = [
  dryRun,
  query('fieldManager', 'string', 'A name for who makes these changes; read and not kept.'),
  query(
    'fieldValidation',
    'string',
    'What to do with fields that the schema does not name. Valid values are: - Ignore: drop them silently. - Warn: drop them with a warning each, the default. - Strict: refuse the request.',
  ),
];

const deleteParameters: readonly JsonObject[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'Seconds before the object is deleted; 0 is at once.'),
  query('propagationPolicy', 'string', "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'."),
];

const listParameters: readonly JsonObject[] = [
  query('labelSelector', 'string', 'Restricts the list to objects with these labels.'),
  query('fieldSelector', 'string', 'Restricts the list to objects with these values of fields.'),
  query('limit', 'integer', 'Most objects in one answer; the rest follows with continue.'),
  query('continue', 'string', 'Where the last answer left off.'),
  query('resourceVersion', 'string', 'The version from which to list or watch.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('timeoutSeconds', 'integer', 'Seconds after which a watch ends.'),
  query('watch', 'boolean', 'Answers with changes as they happen.'),
  query('allowWatchBookmarks', 'boolean', 'Asks for BOOKMARK events.'),
];

const jsonContent = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

/** What a PATCH may carry; strategic merge needs the merge keys that only built-in kinds have. */
function patchContent(isCustom: boolean): JsonObject {
  const types = ['application/json-patch+json', 'application/merge-patch+json'];
  if (!isCustom) types.push('application/strategic-merge-patch+json');
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'object' } }]));
}

interface Operation {
  readonly action: string;
  readonly gvk: JsonObject;
  readonly parameters?: readonly JsonObject[];
  readonly body?: JsonObject;
  readonly answer: JsonObject;
}

function operation({ action, gvk, parameters = [], body, answer }: Operation): JsonObject {
  return {
    parameters: [...parameters],
    ...(body === undefined ? {} : { requestBody: { content: body, required: true } }),
    responses: {
      '200': { description: 'OK', content: jsonContent(answer) },
      '401': { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    [gvkKey]: gvk,
  };
}

function pathsOf(kind: ServedKind, name: string, schemas: Map<string, JsonObject>): JsonObject {
  const root = `/${groupVersionOf(kind)}`;
  const base = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
  const gvk = gvkOf(kind);
  const own = reference(name);
  const isCustom = kind.schema !== undefined;
  const where = kind.namespaced ? [inPath('namespace', 'The namespace of the object.')] : [];
  const named = [...where, inPath('name', `Name of the ${kind.kind}.`)];
  const may = (verb: string) => kind.verbs.includes(verb);
  const status = reference(`${metaPackage}.Status`);
  const list = operation({
    action: 'list',
    gvk,
    parameters: listParameters,
    answer: reference(`${name}List`),
  });

  const collection: JsonObject = { parameters: [...where, pretty] };
  if (may('list')) collection.get = list;
  if (may('create')) {
    collection.post = operation({
      action: 'post',
      gvk,
      parameters: writeParameters,
      body: jsonContent(own),
      answer: own,
    });
  }
  if (may('deletecollection')) {
    const parameters = [...listParameters, ...deleteParameters];
    collection.delete = operation({ action: 'deletecollection', gvk, parameters, answer: status });
  }
  const paths: JsonObject = { [base]: collection };
  if (kind.namespaced && may('list')) {
    paths[`${root}/${kind.plural}`] = { parameters: [pretty], get: list };
  }
  if (may('get')) {
    const single = rest({ gvk, own, isCustom, verbs: kind.verbs });
    if (may('delete')) {
      const body = jsonContent(reference(`${metaPackage}.DeleteOptions`));
      single.delete = operation({
        action: 'delete',
        gvk,
        parameters: deleteParameters,
        body,
        answer: status,
      });
    }
    paths[`${base}/{name}`] = { parameters: [...named, pretty], ...single };
  }
  for (const subresource of kind.subresources) {
    const body = subresource.kind;
    const bodyName =
      body === undefined ? name : (definitionName(body.group, body.version, body.kind) ?? name);
    addReached([bodyName], schemas);
    const verbs = rest({
      gvk: body === undefined ? gvk : gvkOf(body),
      own: reference(bodyName),
      isCustom,
      verbs: subresource.verbs,
    });
    paths[`${base}/{name}/${subresource.name}`] = { parameters: [...named, pretty], ...verbs };
  }
  return paths;
}

/** GET, PUT, PATCH and POST of one object or subresource. */
function rest(options: {
  gvk: JsonObject;
  own: JsonObject;
  isCustom: boolean;
  verbs: readonly string[];
}): JsonObject {
  const { gvk, own, isCustom, verbs } = options;
  const write = { gvk, parameters: writeParameters, answer: own };
  const operations: JsonObject = {};
  if (verbs.includes('get')) operations.get = operation({ action: 'get', gvk, answer: own });
  if (verbs.includes('update'))
    operations.put = operation({ action: 'put', ...write, body: jsonContent(own) });
  if (verbs.includes('patch')) {
    operations.patch = operation({ action: 'patch', ...write, body: patchContent(isCustom) });
  }
  // For a whole object POST belongs to the collection.
  if (verbs.includes('create') && !verbs.includes('list')) {
    operations.post = operation({ action: 'post', ...write, body: jsonContent(own) });
  }
  return operations;
}
