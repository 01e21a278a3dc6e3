import type { JsonObject, JsonValue } from '../schema/json.ts';
import { parseDuration, parseTimestamp } from './time.ts';
import { CelError, CelList, CelMap, type CelValue, unconvertible } from './values.ts';

/** What is known about a value before it is seen: of a schema, of a function's signature. */
export interface Typing {
  /** `dyn`, `string`, `int`, `list`, `map`, …, or the name of an opaque type. */
  readonly name: string;
  /** Of a list's items, a map's values, an optional's content; dyn where absent. */
  readonly item?: Typing;
  /** Of an object: its fields, by names escaped as Kubernetes escapes them for CEL, with their JSON names. */
  readonly fields?: () => ReadonlyMap<string, { readonly json: string; readonly typing: Typing }>;
  readonly listKind?: 'atomic' | 'set' | 'map';
  readonly listKeys?: readonly string[];
}

export const dyn: Typing = { name: 'dyn' };

/** `list<string>`, `map`, `int`, `optional<dyn>`, … as function signatures write them. */
export function typingOf(text: string): Typing {
  const nested = /^(list|map|optional)<(.+)>$/.exec(text);
  return nested === null
    ? { name: text }
    : { name: nested[1] as string, item: typingOf(nested[2] as string) };
}

/** Whether a value of static type `actual` may be given where `wanted` is asked for. */
export function accepts(wanted: Typing, actual: Typing): boolean {
  if (wanted.name === 'dyn' || actual.name === 'dyn') return true;
  if (wanted.name !== actual.name) return false;
  return wanted.item === undefined || actual.item === undefined || accepts(wanted.item, actual.item);
}

const shownNames: Readonly<Record<string, string>> = { null_type: 'null', optional: 'optional_type' };

export function describeTyping(typing: Typing): string {
  const name = shownNames[typing.name] ?? typing.name;
  if (typing.name === 'map') return `map(string, ${describeTyping(typing.item ?? dyn)})`;
  if (typing.name !== 'list' && typing.name !== 'optional') return name;
  return `${name}(${describeTyping(typing.item ?? dyn)})`;
}

/** Types whose values may also be null. */
const nullable = new Set(['duration', 'object', 'timestamp']);

/** One type that covers both, undefined where none does: dyn covers everything. */
export function joined(a: Typing, b: Typing): Typing | undefined {
  if (a === b) return a;
  if (a.name === 'dyn' || b.name === 'dyn') return dyn;
  if (a.name === 'null_type' && nullable.has(b.name)) return b;
  if (b.name === 'null_type' && nullable.has(a.name)) return a;
  if (a.name !== b.name) return undefined;
  if (a.item === undefined || b.item === undefined) return a.item === undefined ? b : a;
  const item = joined(a.item, b.item);
  return item === undefined ? undefined : { ...a, item };
}

/**
 * JSON as a CEL value. Containers are converted as they are read. A number is an integer where the typing says so, or,
 * without one, where it has no fraction.
 */
export function toCel(json: JsonValue, typing: Typing = dyn): CelValue {
  if (json === null) return null;
  switch (typeof json) {
    case 'string':
      return stringToCel(json, typing);
    case 'boolean':
      return json;
    case 'number':
      return typing.name !== 'double' && Number.isInteger(json) ? BigInt(json) : json;
  }
  if (Array.isArray(json)) {
    const item = typing.item ?? dyn;
    return new CelList(
      json.map((entry) => toCel(entry, item)),
      typing.listKind ?? 'atomic',
      typing.listKeys ?? [],
    );
  }
  return new JsonMap(json, typing);
}

function stringToCel(text: string, typing: Typing): CelValue {
  switch (typing.name) {
    case 'timestamp':
      return parseTimestamp(text) ?? parseTimestamp(`${text}T00:00:00Z`) ?? unconvertible('timestamp');
    case 'duration':
      return parseDuration(text) ?? unconvertible('duration');
    case 'bytes':
      return Buffer.from(text, 'base64');
    default:
      return text;
  }
}

/** An object of JSON, converted as its fields are read. */
class JsonMap extends CelMap {
  readonly #json: JsonObject;
  readonly #typing: Typing;
  readonly #known = new Map<string, CelValue>();

  constructor(json: JsonObject, typing: Typing) {
    super();
    this.#json = json;
    this.#typing = typing;
  }

  override get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const field = this.#typing.fields?.().get(key);
    const name = field?.json ?? key;
    if (!this.#has(name)) return undefined;
    const value = toCel(this.#json[name] as JsonValue, field?.typing ?? this.#typing.item ?? dyn);
    this.#known.set(key, value);
    return value;
  }

  override keys(): readonly CelValue[] {
    const escaped = this.#typing.fields?.();
    if (escaped === undefined) return Object.keys(this.#json);
    const names = new Map([...escaped].map(([name, field]) => [field.json, name]));
    const present = Object.keys(this.#json).filter((name) => this.#has(name));
    return present.map((name) => names.get(name) ?? name);
  }

  /** A field of a schema that is null counts as absent, as in the real server. */
  #has(name: string): boolean {
    if (!Object.hasOwn(this.#json, name)) return false;
    return this.#typing.fields === undefined || this.#json[name] !== null;
  }
}

/** A CEL value as JSON, for messages and parameters. @throws CelError for what has no JSON form. */
export function toJson(value: CelValue): JsonValue {
  if (
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    typeof value === 'number'
  ) {
    return value;
  }
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof CelList) return value.items.map(toJson);
  if (value instanceof CelMap) {
    const json: JsonObject = {};
    for (const key of value.keys()) json[String(key)] = toJson(value.get(key) as CelValue);
    return json;
  }
  throw new CelError('value has no JSON form');
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/**
 * How Kubernetes names a property in CEL (apiserver, cel/escaping.go): undefined where it cannot be named at all.
 */
export function escapeName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./$-][A-Za-z0-9_./$-]*$/.test(name) || name.includes('$')) return undefined;
  return name
    .replaceAll('__', '\0')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__')
    .replaceAll('\0', '__underscores__');
}
