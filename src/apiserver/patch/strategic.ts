import { equalJson, isRecord, type JsonRecord, type KubeObject, list } from '../object.ts';
import { type FieldRule, rulesOfKind, setMember, type TypeRules, typeRules } from '../scope/patch-keys.ts';
import type { Served } from '../served.ts';
import { badRequest } from '../status.ts';
import { setOwn } from './merge.ts';

const directive = '$patch';
const retainKeys = '$retainKeys';
const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

/**
 * Applies a strategic merge patch (kubernetes, sig-api-machinery/strategic-merge-patch.md). Returns a new object.
 * @throws 400 where a directive or a merge key cannot be read
 */
export function strategicMergePatch(served: Served, current: KubeObject, patch: JsonRecord): unknown {
  return mergeObject(current, patch, rulesOfKind(served.kind));
}

function mergeObject(current: JsonRecord, patch: JsonRecord, rules: TypeRules): JsonRecord {
  if (patch[directive] === 'replace') return withoutDirectives(patch);
  if (patch[directive] === 'delete') return {};
  if (patch[directive] !== undefined && patch[directive] !== 'merge') {
    throw badRequest(`unknown ${directive} directive: ${JSON.stringify(patch[directive])}`);
  }
  const result = retained(current, patch);
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith(deletePrefix)) {
      const name = field.slice(deletePrefix.length);
      const gone = list(value);
      result[name] = list(result[name]).filter((item) => !gone.some((one) => equalJson(one, item)));
    }
  }
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$')) continue;
    if (value === null) delete result[field];
    else setOwn(result, field, mergeValue(result[field], value, rules[field] ?? {}));
  }
  for (const [field, value] of Object.entries(patch)) {
    if (!field.startsWith(orderPrefix)) continue;
    const name = field.slice(orderPrefix.length);
    if (Array.isArray(result[name]))
      result[name] = ordered(result[name], list(value), list(current[name]), rules[name]);
  }
  return result;
}

function retained(current: JsonRecord, patch: JsonRecord): JsonRecord {
  const keep = patch[retainKeys];
  if (!Array.isArray(keep)) return { ...current };
  return Object.fromEntries(Object.entries(current).filter(([field]) => keep.includes(field)));
}

function mergeValue(current: unknown, patch: unknown, rule: FieldRule): unknown {
  if (Array.isArray(patch)) {
    if (rule.key === undefined) return structuredClone(patch);
    if (rule.key === setMember) return mergeSet(list(current), patch);
    return mergeList(list(current), patch, rule.key, rulesOf(rule));
  }
  if (!isRecord(patch)) return patch;
  return mergeObject(isRecord(current) ? current : {}, patch, rulesOf(rule));
}

function rulesOf(rule: FieldRule): TypeRules {
  return rule.type === undefined ? {} : (typeRules[rule.type] ?? {});
}

function mergeSet(current: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const added = patch.filter((item) => !current.some((one) => equalJson(one, item)));
  return [...current, ...added];
}

function mergeList(
  current: readonly unknown[],
  patch: readonly unknown[],
  key: string,
  rules: TypeRules,
): unknown[] {
  // A member that holds only the directive speaks about the whole list.
  const replaces = patch.some((item) => isRecord(item) && item[directive] === 'replace');
  let result = replaces ? [] : [...current];
  for (const item of patch) {
    if (!isRecord(item)) throw badRequest(`the list is merged by ${key}, so its members must be objects`);
    const value = item[key];
    if (value === undefined) {
      if (item[directive] === 'replace') continue;
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    }
    if (item[directive] === 'delete') {
      result = result.filter((one) => !isRecord(one) || !equalJson(one[key], value));
      continue;
    }
    const at = result.findIndex((one) => isRecord(one) && equalJson(one[key], value));
    const before = result[at];
    const merged = mergeObject(isRecord(before) ? before : {}, item, rules);
    if (at < 0) result.push(merged);
    else result[at] = merged;
  }
  return result;
}

/**
 * Sorts a merged list by the order that the patch names. Members that only the server knows keep their place
 * relative to those that stood before them.
 */
function ordered(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  rule: FieldRule | undefined,
): unknown[] {
  const key = rule?.key;
  const identity = (item: unknown) =>
    key !== undefined && key !== setMember && isRecord(item)
      ? JSON.stringify(item[key])
      : JSON.stringify(item);
  const wanted = order.map(identity);
  const named = merged.filter((item) => wanted.includes(identity(item)));
  named.sort((a, b) => wanted.indexOf(identity(a)) - wanted.indexOf(identity(b)));
  const serverOnly = merged.filter((item) => !wanted.includes(identity(item)));
  const place = new Map(before.map((item, at) => [identity(item), at]));
  const result: unknown[] = [];
  let next = 0;
  for (const item of named) {
    const at = place.get(identity(item));
    while (at !== undefined && next < serverOnly.length) {
      const other = place.get(identity(serverOnly[next]));
      if (other === undefined || other > at) break;
      result.push(serverOnly[next]);
      next += 1;
    }
    result.push(item);
  }
  return [...result, ...serverOnly.slice(next)];
}

function withoutDirectives(patch: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(patch).filter(([field]) => !field.startsWith('$')));
}
