import { Budget, BudgetExceeded, objectStepsMax } from '../cel/budget.ts';
import type { Regex } from '../cel/regex.ts';
import { equalJson } from '../object.ts';
import {
  childPath,
  duplicate,
  type FieldError,
  indexPath,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from './field-error.ts';
import { hasFormat } from './formats.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { objectDepthMax, type SchemaNode } from './node.ts';
import { propertyNode } from './object-meta.ts';

/** Errors listed for one object; more help nobody. */
export const errorsMax = 100;

/**
 * Judges values against a schema, in the words of kube-openapi's validation. What an update leaves as it was is not
 * judged again ("ratcheting", CRDValidationRatcheting): a schema may have become stricter since.
 */
export function validateValues(
  object: JsonValue,
  root: SchemaNode,
  oldObject?: JsonObject,
  isResource = true,
): FieldError[] {
  const found: Findings = { errors: [], budget: new Budget(objectStepsMax) };
  walk(object, oldObject, root, isResource, '', 0, found);
  // Inside of a `not` what was given up would count as good.
  const isGivenUp = found.budget.spent > objectStepsMax;
  const tooLong = isGivenUp
    ? [invalid('', '', 'the patterns of its schema take too long on this object')]
    : [];
  return [...tooLong, ...found.errors].slice(0, errorsMax);
}

interface Findings {
  readonly errors: FieldError[];
  /** Of all patterns that judge the object: many cheap ones are as good as a dear one to stop the process. */
  readonly budget: Budget;
}

function walk(
  value: JsonValue,
  old: JsonValue | undefined,
  node: SchemaNode,
  isResource: boolean,
  path: string,
  depth: number,
  found: Findings,
): void {
  if (found.errors.length >= errorsMax) return;
  if (depth > objectDepthMax) {
    found.errors.push(invalid(path, '', `is nested more than ${objectDepthMax} deep`));
    return;
  }
  if (old !== undefined && equalJson(value, old)) return;
  if (value === null && node.nullable) return;
  const problem = typeProblem(value, node, path);
  if (problem !== undefined) found.errors.push(problem);
  found.errors.push(...scalarProblems(value, node, path, found.budget));
  for (const nested of compositionProblems(value, node, path, depth, found.budget)) found.errors.push(nested);
  if (Array.isArray(value)) walkList(value, old, node, path, depth, found);
  else if (isObject(value)) walkObject(value, old, node, isResource, path, depth, found);
}

function walkList(
  list: JsonValue[],
  old: JsonValue | undefined,
  node: SchemaNode,
  path: string,
  depth: number,
  found: Findings,
): void {
  found.errors.push(...lengthProblems(list, node, path));
  const { items } = node;
  if (items !== undefined) {
    list.forEach((item, at) => {
      walk(item, correlated(item, old, node), items, items.embedded, indexPath(path, at), depth + 1, found);
    });
  }
  found.errors.push(...identityProblems(list, node, path));
}

function walkObject(
  object: JsonObject,
  old: JsonValue | undefined,
  node: SchemaNode,
  isResource: boolean,
  path: string,
  depth: number,
  found: Findings,
): void {
  const { minProperties, maxProperties } = node.limits;
  const names = Object.keys(object);
  if (minProperties !== undefined && names.length < minProperties) {
    found.errors.push(
      invalid(path, names.length, `${bodyPath(path)} should have at least ${minProperties} properties`),
    );
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    found.errors.push(tooMany(path, names.length, maxProperties));
  }
  for (const name of node.required) {
    if (!Object.hasOwn(object, name)) found.errors.push(required(childPath(path, name)));
  }
  for (const name of names) {
    const property = propertyNode(node, name, isResource);
    // Metadata is judged by metadata.ts.
    if (property === undefined || (isResource && name === 'metadata')) continue;
    const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined;
    walk(
      object[name] as JsonValue,
      before,
      property,
      property.embedded,
      childPath(path, name),
      depth + 1,
      found,
    );
  }
}

/** The item of the old list that stands for the same thing, where the list type tells (map: same keys). */
export function correlated(
  item: JsonValue,
  oldList: JsonValue | undefined,
  node: SchemaNode,
): JsonValue | undefined {
  if (!Array.isArray(oldList) || node.listType !== 'map' || !isObject(item)) return undefined;
  let index = indexes.get(oldList);
  if (index === undefined) {
    index = new Map();
    indexes.set(oldList, index);
    for (const other of oldList) if (isObject(other)) index.set(keysText(other, node), other);
  }
  return index.get(keysText(item, node));
}

/** The items of a list by their keys: looking through it for each item of another would take their product. */
const indexes = new WeakMap<JsonValue[], Map<string, JsonValue>>();

function keysText(item: JsonObject, node: SchemaNode): string {
  return JSON.stringify(node.listKeys.map((key) => keyValue(item, key, node) ?? null));
}

function keyValue(item: JsonObject, key: string, node: SchemaNode): JsonValue | undefined {
  return Object.hasOwn(item, key) ? item[key] : node.items?.properties.get(key)?.default;
}

function typeProblem(value: JsonValue, node: SchemaNode, path: string): FieldError | undefined {
  const expected = node.intOrString ? ['integer', 'string'] : node.type === undefined ? [] : [node.type];
  if (expected.length === 0) return undefined;
  const actual = jsonType(value);
  if (expected.includes(actual) || (actual === 'integer' && expected.includes('number'))) return undefined;
  return typeInvalid(
    path,
    actual,
    `${bodyPath(path)} must be of type ${expected.join(',')}: ${JSON.stringify(actual)}`,
  );
}

function jsonType(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

const bodyPath = (path: string) => `${path} in body`;

function* scalarProblems(
  value: JsonValue,
  node: SchemaNode,
  path: string,
  budget: Budget,
): Generator<FieldError> {
  if (node.enum !== undefined && !node.enum.some((allowed) => equalJson(allowed, value))) {
    yield notSupported(path, value, node.enum);
  }
  if (typeof value === 'string') yield* textProblems(value, node, path, budget);
  if (typeof value === 'number') yield* numberProblems(value, node, path);
}

function* textProblems(text: string, node: SchemaNode, path: string, budget: Budget): Generator<FieldError> {
  const { minLength, maxLength } = node.limits;
  if (minLength !== undefined || maxLength !== undefined) {
    const length = runeCount(text);
    if (maxLength !== undefined && length > maxLength) yield tooLong(path, maxLength);
    if (minLength !== undefined && length < minLength) {
      yield invalid(path, text, `${bodyPath(path)} should be at least ${minLength} chars long`);
    }
  }
  if (node.pattern !== undefined && !matches(node.pattern, text, budget)) {
    yield invalid(path, text, `${bodyPath(path)} should match '${node.pattern.source}'`);
  }
  if (node.format === 'quantity' && !hasFormat('quantity', text)) {
    yield typeInvalid(path, text, quantityGrammar);
  } else if (node.format !== undefined && node.type === 'string' && !hasFormat(node.format, text)) {
    yield typeInvalid(
      path,
      text,
      `${bodyPath(path)} must be of type ${node.format}: ${JSON.stringify(text)}`,
    );
  }
}

const quantityGrammar =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** A pattern for which the budget does not last does not match. */
function matches(pattern: Regex, text: string, budget: Budget): boolean {
  try {
    return pattern.test(text, budget);
  } catch (error) {
    if (error instanceof BudgetExceeded) return false;
    throw error;
  }
}

function runeCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function* numberProblems(value: number, node: SchemaNode, path: string): Generator<FieldError> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node.limits;
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    const relation = exclusiveMinimum ? 'greater than' : 'greater than or equal to';
    yield invalid(path, value, `${bodyPath(path)} should be ${relation} ${minimum}`);
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    const relation = exclusiveMaximum ? 'less than' : 'less than or equal to';
    yield invalid(path, value, `${bodyPath(path)} should be ${relation} ${maximum}`);
  }
  if (
    multipleOf !== undefined &&
    !Number.isInteger(multipleOf < 1 ? value * (1 / multipleOf) : value / multipleOf)
  ) {
    yield invalid(path, value, `${bodyPath(path)} should be a multiple of ${multipleOf}`);
  }
}

function* lengthProblems(list: JsonValue[], node: SchemaNode, path: string): Generator<FieldError> {
  const { minItems, maxItems } = node.limits;
  if (maxItems !== undefined && list.length > maxItems) yield tooMany(path, list.length, maxItems);
  if (minItems !== undefined && list.length < minItems) {
    yield invalid(path, list.length, `${bodyPath(path)} should have at least ${minItems} items`);
  }
}

function* identityProblems(list: JsonValue[], node: SchemaNode, path: string): Generator<FieldError> {
  if (node.uniqueItems && repeats(list, canonical).length > 0) {
    yield invalid(path, '', `${bodyPath(path)} shouldn't contain duplicates`);
  }
  if (node.listType === 'set') {
    for (const at of repeats(list, canonical)) yield duplicate(indexPath(path, at), list[at] as JsonValue);
  }
  if (node.listType === 'map') {
    const other = list.findIndex((item) => !isObject(item));
    if (other >= 0) {
      yield invalid(indexPath(path, other), list[other], 'must be an object for an array of list-type map');
      return;
    }
    const keysOf = (item: JsonValue): JsonObject =>
      Object.fromEntries(
        node.listKeys.map((key) => [key, isObject(item) ? (keyValue(item, key, node) ?? null) : null]),
      );
    for (const at of repeats(list, (item) => canonical(keysOf(item)))) {
      yield duplicate(indexPath(path, at), keysOf(list[at] as JsonValue));
    }
  }
}

/** Positions of items whose identity stood earlier in the list. */
function repeats(list: readonly JsonValue[], identity: (item: JsonValue) => string): number[] {
  const seen = new Set<string>();
  return list.flatMap((item, at) => {
    const id = identity(item);
    if (seen.has(id)) return [at];
    seen.add(id);
    return [];
  });
}

function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_key, entry: JsonValue) =>
    isObject(entry) ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))) : entry,
  );
}

function compositionProblems(
  value: JsonValue,
  node: SchemaNode,
  path: string,
  depth: number,
  budget: Budget,
): FieldError[] {
  const errors: FieldError[] = [];
  const problemsOf = (part: SchemaNode): FieldError[] => {
    const found: FieldError[] = [];
    walk(value, undefined, part, false, path, depth + 1, { errors: found, budget });
    return found;
  };
  const whole = (text: string) => invalid('', '', `${JSON.stringify(path)} must ${text}`);
  const parts = node.allOf.map(problemsOf);
  const failed = parts.filter((found) => found.length > 0);
  errors.push(...failed.flat());
  if (failed.length > 0) {
    const none = failed.length === parts.length ? '. None validated' : '';
    errors.push(whole(`validate all the schemas (allOf)${none}`));
  }
  if (node.anyOf.length > 0) {
    const tried = node.anyOf.map(problemsOf);
    if (tried.every((found) => found.length > 0)) {
      errors.push(whole('validate at least one schema (anyOf)'), ...shortest(tried));
    }
  }
  if (node.oneOf.length > 0) {
    const tried = node.oneOf.map(problemsOf);
    const valid = tried.filter((found) => found.length === 0).length;
    if (valid === 0) {
      errors.push(whole('validate one and only one schema (oneOf). Found none valid'), ...shortest(tried));
    } else if (valid > 1) {
      errors.push(whole(`validate one and only one schema (oneOf). Found ${valid} valid alternatives`));
    }
  }
  if (node.not !== undefined && problemsOf(node.not).length === 0) {
    errors.push(whole('not validate the schema (not)'));
  }
  return errors;
}

function shortest(lists: readonly FieldError[][]): FieldError[] {
  return lists.reduce((best, list) => (list.length < best.length ? list : best));
}
