import type { ObjectMeta } from '../api/core.ts';

/** The metadata of an object, with whatever else a client has sent in it. */
export interface Metadata extends ObjectMeta {
  [field: string]: unknown;
}

/** Any object of the API, as JSON gives it. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: unknown;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `object` as a record, empty where it is none: reading a path never throws. */
export function record(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** `value` as a list, empty where it is none. */
export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Deep equality of JSON values; the order of keys does not count. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, at) => equalJson(item, b[at]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a).filter((key) => a[key] !== undefined);
  const others = Object.keys(b).filter((key) => b[key] !== undefined);
  return keys.length === others.length && keys.every((key) => equalJson(a[key], b[key]));
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export function parseGroupVersion(apiVersion: string): GroupVersion {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}
