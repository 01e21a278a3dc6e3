import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { Budget } from './budget.ts';

/**
 * Values of the Common Expression Language. Integers are bigint and never number (which is a double): JSON numbers are
 * told apart by schema, or by having no fraction where there is none (`typing.ts`).
 */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | CelType
  | CelList
  | CelMap
  | Optional
  | Opaque;

/** An error of evaluation, in cel-go's words; `||`, `&&`, `all` and `exists` absorb it where another operand decides. */
export class CelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CelError';
  }
}

/** A list; `kind` and `keys` carry x-kubernetes-list-type, which decides what equality means. */
export class CelList {
  readonly items: readonly CelValue[];
  readonly kind: 'atomic' | 'set' | 'map';
  readonly keys: readonly string[];

  constructor(
    items: readonly CelValue[],
    kind: 'atomic' | 'set' | 'map' = 'atomic',
    keys: readonly string[] = [],
  ) {
    this.items = items;
    this.kind = kind;
    this.keys = keys;
  }
}

/** A map or an object; made of JSON, of a literal, or of something computed on demand. */
export abstract class CelMap {
  /** The value of a key, undefined where there is none. */
  abstract get(key: CelValue): CelValue | undefined;
  abstract keys(): readonly CelValue[];

  get size(): number {
    return this.keys().length;
  }
}

/** What a map literal and comprehensions make. */
export class LiteralMap extends CelMap {
  readonly #entries: ReadonlyMap<CelValue, CelValue>;

  /** @param entries keys are strings, booleans or bigints. */
  constructor(entries: ReadonlyMap<CelValue, CelValue>) {
    super();
    this.#entries = entries;
  }

  override get(key: CelValue): CelValue | undefined {
    return this.#entries.get(mapKey(key));
  }

  override keys(): readonly CelValue[] {
    return [...this.#entries.keys()];
  }
}

/** The key under which a map keeps `key`: numbers of equal value are the same key. */
export function mapKey(key: CelValue): CelValue {
  if (key instanceof Uint) return key.value;
  if (typeof key === 'number' && Number.isInteger(key)) return BigInt(key);
  return key;
}

export class Optional {
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    if (value < 0n || value > 0xffff_ffff_ffff_ffffn) throw new CelError('unsigned integer overflow');
    this.value = value;
  }
}

/** Nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }

  get date(): Date {
    return new Date(Number(floorDivide(this.nanos, 1_000_000n)));
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** The value of `type(x)`, and of the names `int`, `string`, … */
export class CelType {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Values of the Kubernetes libraries: quantities, addresses, URLs, … */
export abstract class Opaque {
  abstract readonly typeName: string;
  abstract equals(other: Opaque): boolean;

  /** What stands behind a dot, where there is anything. */
  field(_name: string): CelValue | undefined {
    return undefined;
  }
}

/** A literal as cel-js's parser reads it. */
export function literalValue(value: unknown): CelValue {
  return value instanceof UnsignedInt ? new Uint(value.value) : (value as CelValue);
}

export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
  }
  if (value === null) return 'null_type';
  if (value instanceof CelMap) return 'map';
  if (value instanceof CelList) return 'list';
  if (value instanceof Optional) return 'optional';
  if (value instanceof Timestamp) return 'timestamp';
  if (value instanceof Duration) return 'duration';
  if (value instanceof Uint) return 'uint';
  if (value instanceof CelType) return 'type';
  if (value instanceof Uint8Array) return 'bytes';
  return value.typeName;
}

/** Equality over all types: numbers by value, maps without order, lists by their Kubernetes list type. */
export function celEquals(a: CelValue, b: CelValue, budget: Budget = new Budget()): boolean {
  budget.spend(1);
  if (a === b) return true;
  const left = numeric(a);
  const right = numeric(b);
  // Both may be of different numeric types: JavaScript compares bigint and number by value with ==.
  // biome-ignore lint/suspicious/noDoubleEquals: see above
  if (left !== undefined && right !== undefined) return left == right;
  if (typeof a === 'string' || typeof b === 'string' || a === null || b === null) return false;
  if (a instanceof CelList && b instanceof CelList) return listEquals(a, b, budget);
  if (a instanceof CelMap && b instanceof CelMap) return mapEquals(a, b, budget);
  if (a instanceof Optional && b instanceof Optional) {
    return a.value === undefined || b.value === undefined
      ? a.value === b.value
      : celEquals(a.value, b.value, budget);
  }
  if (a instanceof Timestamp && b instanceof Timestamp) return a.nanos === b.nanos;
  if (a instanceof Duration && b instanceof Duration) return a.nanos === b.nanos;
  if (a instanceof CelType && b instanceof CelType) return a.name === b.name;
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    budget.spendUnits(a.length);
    return Buffer.compare(a, b) === 0;
  }
  return a instanceof Opaque && b instanceof Opaque && a.typeName === b.typeName && a.equals(b);
}

function numeric(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

function listEquals(a: CelList, b: CelList, budget: Budget): boolean {
  if (a.items.length !== b.items.length) return false;
  if (a.kind === 'atomic') {
    return a.items.every((item, at) => celEquals(item, b.items[at] as CelValue, budget));
  }
  return a.items.every((item) => b.items.some((other) => celEquals(item, other, budget)));
}

function mapEquals(a: CelMap, b: CelMap, budget: Budget): boolean {
  const keys = a.keys();
  if (keys.length !== b.size) return false;
  return keys.every((key) => {
    const other = b.get(key);
    return other !== undefined && celEquals(a.get(key) as CelValue, other, budget);
  });
}

/** Order of two values of one type (and of numbers of any type): negative, zero, positive; undefined where there is none. */
export function celCompare(a: CelValue, b: CelValue): number | undefined {
  const left = ordered(a);
  const right = ordered(b);
  if (left === undefined || right === undefined) return undefined;
  const bothText = typeof left === 'string' && typeof right === 'string';
  const bothNumbers = typeof left !== 'string' && typeof right !== 'string';
  const sameTime = typeNameOf(a) === typeNameOf(b) || (numeric(a) !== undefined && numeric(b) !== undefined);
  if (!(bothText || bothNumbers) || !sameTime) return undefined;
  if (bothText) return compareCodePoints(left, right);
  return left < right
    ? -1
    : left > right
      ? 1
      : left === right || Number(left) === Number(right)
        ? 0
        : Number.NaN;
}

function ordered(value: CelValue): string | bigint | number | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  return numeric(value);
}

/** As Go orders strings (by bytes of UTF-8), which is by code points and not by UTF-16 units. */
function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}

export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

const conversionNames: Readonly<Record<string, string>> = {
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
};

/** Fails as cel-go does where a text is of no such type. */
export function unconvertible(type: string): never {
  throw new CelError(`type conversion error from 'string' to '${conversionNames[type] ?? type}'`);
}
