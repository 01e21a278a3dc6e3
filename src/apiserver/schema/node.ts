import { compileRegex, type Regex } from '../cel/regex.ts';
import type { Typing } from '../cel/typing.ts';
import { childPath, type FieldError, invalid, keyPath } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';

/** One place of a schema, made ready. Properties are read by the walkers of prune.ts, defaults.ts, values.ts, rules.ts. */
export interface SchemaNode {
  readonly type: string | undefined;
  readonly format: string | undefined;
  readonly nullable: boolean;
  readonly intOrString: boolean;
  readonly preserveUnknown: boolean;
  readonly embedded: boolean;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** Schema of all other properties; true allows any, undefined none. */
  readonly additional: SchemaNode | boolean | undefined;
  readonly items: SchemaNode | undefined;
  readonly default: JsonValue | undefined;
  readonly required: readonly string[];
  readonly enum: readonly JsonValue[] | undefined;
  readonly pattern: Regex | undefined;
  readonly limits: Limits;
  readonly uniqueItems: boolean;
  readonly listType: 'atomic' | 'set' | 'map';
  readonly listKeys: readonly string[];
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  /** x-kubernetes-validations as they stand. */
  readonly rules: readonly JsonObject[];
  /** Where it stands in the schema: `properties[spec].items`. */
  readonly path: string;
  /** Filled by typing.ts and rules.ts when first needed. */
  typing?: Typing;
}

export interface Limits {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

/** Schemas with more places, or deeper, are refused. */
export const schemaNodesMax = 100_000;
export const schemaDepthMax = 100;

/** How deep an object is followed where its schema is recursive. */
export const objectDepthMax = 100;

export interface NodeCompiler {
  readonly root: SchemaNode;
  /** What is wrong with the schema itself. */
  readonly problems: readonly FieldError[];
}

/**
 * Makes the tree of places from a schema; `resolve` looks up what `#/components/schemas/<name>` names, each once, so
 * that recursive definitions become a graph.
 */
export function compileNodes(
  schema: JsonObject,
  resolve: (name: string) => JsonObject | undefined = () => undefined,
): NodeCompiler {
  const problems: FieldError[] = [];
  const byReference = new Map<string, SchemaNode>();
  let count = 0;

  const compile = (raw: JsonValue | undefined, path: string, depth: number): SchemaNode => {
    if (++count > schemaNodesMax || depth > schemaDepthMax) {
      problems.push(invalid(path, '', `schema has more than ${schemaNodesMax} places or is too deep`));
      return emptyNode(path);
    }
    if (!isObject(raw)) {
      problems.push(invalid(path, raw ?? null, 'must be a schema'));
      return emptyNode(path);
    }
    const reference = referenceOf(raw);
    return reference === undefined ? build(emptyNode(path), raw, depth) : resolved(reference, path, depth);
  };

  const resolved = (reference: string, path: string, depth: number): SchemaNode => {
    const known = byReference.get(reference);
    if (known !== undefined) return known;
    const raw = resolve(reference);
    const node = emptyNode(path);
    byReference.set(reference, node);
    if (raw === undefined) problems.push(invalid(path, reference, 'refers to nothing'));
    else build(node, raw, depth);
    return node;
  };

  const build = (node: MutableNode, raw: JsonObject, depth: number): SchemaNode => {
    const { path } = node;
    const child = (value: JsonValue | undefined, name: string) =>
      compile(value, childPath(path, name), depth + 1);
    const list = (name: string) =>
      arrayOf(raw[name]).map((item, at) => compile(item, `${childPath(path, name)}[${at}]`, depth + 1));
    node.type = textOf(raw.type);
    node.format = textOf(raw.format);
    node.nullable = raw.nullable === true;
    node.intOrString = raw['x-kubernetes-int-or-string'] === true || raw.format === 'int-or-string';
    node.preserveUnknown = raw['x-kubernetes-preserve-unknown-fields'] === true;
    node.embedded = raw['x-kubernetes-embedded-resource'] === true;
    node.default = raw.default;
    node.required = arrayOf(raw.required).filter((name) => typeof name === 'string');
    node.enum = Array.isArray(raw.enum) ? raw.enum : undefined;
    node.pattern = patternOf(raw.pattern, path);
    node.limits = limitsOf(raw);
    node.uniqueItems = raw.uniqueItems === true;
    node.listType = listTypeOf(raw['x-kubernetes-list-type']);
    node.listKeys = arrayOf(raw['x-kubernetes-list-map-keys']).filter((key) => typeof key === 'string');
    node.rules = arrayOf(raw['x-kubernetes-validations']).filter(isObject);
    const properties = isObject(raw.properties) ? raw.properties : {};
    node.properties = new Map(
      Object.entries(properties)
        // Assigning a property of this name would change the object's prototype.
        .filter(([name]) => name !== '__proto__')
        .map(([name, value]) => [
          name,
          compile(value, keyPath(childPath(path, 'properties'), name), depth + 1),
        ]),
    );
    const additional = raw.additionalProperties;
    node.additional =
      typeof additional === 'boolean' || additional === undefined
        ? additional === true || undefined
        : child(additional, 'additionalProperties');
    node.items = raw.items === undefined ? undefined : child(raw.items, 'items');
    node.allOf = list('allOf');
    node.anyOf = list('anyOf');
    node.oneOf = list('oneOf');
    node.not = raw.not === undefined ? undefined : child(raw.not, 'not');
    return node;
  };

  const patternOf = (raw: JsonValue | undefined, path: string): Regex | undefined => {
    if (typeof raw !== 'string' || raw === '') return undefined;
    try {
      return compileRegex(raw);
    } catch (error) {
      const why = (error as Error).message;
      problems.push(
        invalid(childPath(path, 'pattern'), raw, `must be a valid regular expression, but isn't: ${why}`),
      );
      return undefined;
    }
  };

  return { root: compile(schema, '', 0), problems };
}

type MutableNode = { -readonly [Key in keyof SchemaNode]: SchemaNode[Key] };

function emptyNode(path: string): MutableNode {
  return {
    type: undefined,
    format: undefined,
    nullable: false,
    intOrString: false,
    preserveUnknown: false,
    embedded: false,
    properties: new Map(),
    additional: undefined,
    items: undefined,
    default: undefined,
    required: [],
    enum: undefined,
    pattern: undefined,
    limits: {},
    uniqueItems: false,
    listType: 'atomic',
    listKeys: [],
    allOf: [],
    anyOf: [],
    oneOf: [],
    not: undefined,
    rules: [],
    path,
  };
}

const referencePrefix = '#/components/schemas/';

/** The name that a schema refers to: itself, or through an `allOf` of one, as the public OpenAPI of Kubernetes writes it. */
export function referenceOf(raw: JsonObject): string | undefined {
  const direct = raw.$ref;
  if (typeof direct === 'string' && direct.startsWith(referencePrefix)) {
    return direct.slice(referencePrefix.length);
  }
  const [only, ...others] = arrayOf(raw.allOf);
  return others.length === 0 && isObject(only) && raw.type === undefined ? referenceOf(only) : undefined;
}

function limitsOf(raw: JsonObject): Limits {
  const names = [
    'minimum',
    'maximum',
    'multipleOf',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
  ] as const;
  const limits: { -readonly [Key in keyof Limits]: Limits[Key] } = {};
  for (const name of names) {
    const value = raw[name];
    if (typeof value === 'number') limits[name] = value;
  }
  if (raw.exclusiveMinimum === true) limits.exclusiveMinimum = true;
  if (raw.exclusiveMaximum === true) limits.exclusiveMaximum = true;
  return limits;
}

function listTypeOf(raw: JsonValue | undefined): 'atomic' | 'set' | 'map' {
  return raw === 'set' || raw === 'map' ? raw : 'atomic';
}

function arrayOf(raw: JsonValue | undefined): JsonValue[] {
  return Array.isArray(raw) ? raw : [];
}

function textOf(raw: JsonValue | undefined): string | undefined {
  return typeof raw === 'string' && raw !== '' ? raw : undefined;
}
