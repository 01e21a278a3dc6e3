import { isRecord, type JsonRecord } from '../object.ts';

/** Applies a JSON merge patch (RFC 7396 section 2). Returns a new value; the arguments stay as they are. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return structuredClone(patch);
  const result: JsonRecord = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else setOwn(result, key, mergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value));
  }
  return result;
}

/** Sets a member also where it is called `__proto__`, which assignment would take for the prototype. */
export function setOwn(target: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
