/** Plain JSON data, as it comes off the wire and out of the store. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

/** Whether `value` is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The string at a path of property names, undefined where anything on the way is absent or of another type. */
export function stringAt(value: JsonValue | undefined, ...path: string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

/** The value at a path of property names, undefined where anything on the way is absent. */
export function valueAt(value: JsonValue | undefined, ...path: string[]): JsonValue | undefined {
  let current = value;
  for (const name of path) {
    if (!isObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}
