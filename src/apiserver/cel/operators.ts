import { type Budget, listItemsMax, stringUnitsMax } from './budget.ts';
import { checkedInt } from './library-standard.ts';
import {
  CelError,
  CelList,
  CelMap,
  type CelValue,
  celCompare,
  celEquals,
  Duration,
  Timestamp,
  Uint,
} from './values.ts';

/** The binary operators of CEL on values (cel-spec, langdef.md); types that do not go together are an error. */
export type BinaryOperator = (left: CelValue, right: CelValue, budget: Budget) => CelValue;

export const binaryOperators: Readonly<Record<string, BinaryOperator>> = {
  '==': (left, right, budget) => celEquals(left, right, budget),
  '!=': (left, right, budget) => !celEquals(left, right, budget),
  '<': (left, right) => compared(left, right) < 0,
  '<=': (left, right) => compared(left, right) <= 0,
  '>': (left, right) => compared(left, right) > 0,
  '>=': (left, right) => compared(left, right) >= 0,
  in: (left, right, budget) => isIn(left, right, budget),
  '+': add,
  '-': subtract,
  '*': (left, right) =>
    arithmetic(
      left,
      right,
      (a, b) => a * b,
      (a, b) => a * b,
    ),
  '/': (left, right) =>
    arithmetic(
      left,
      right,
      (a, b) => a / nonZero(b, 'division by zero'),
      (a, b) => a / b,
    ),
  '%': (left, right) => {
    if (typeof left === 'number' || typeof right === 'number') throw noOverload();
    return arithmetic(
      left,
      right,
      (a, b) => a % nonZero(b, 'modulus by zero'),
      (a) => a,
    );
  },
};

export function negate(value: CelValue): CelValue {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Duration) return new Duration(-value.nanos);
  throw noOverload();
}

export function noOverload(): CelError {
  return new CelError('no such overload');
}

function compared(left: CelValue, right: CelValue): number {
  const order = celCompare(left, right);
  if (order === undefined) throw noOverload();
  return order;
}

function isIn(item: CelValue, container: CelValue, budget: Budget): boolean {
  if (container instanceof CelMap) return container.get(item) !== undefined;
  if (container instanceof CelList) return container.items.some((other) => celEquals(item, other, budget));
  throw noOverload();
}

function add(left: CelValue, right: CelValue, budget: Budget): CelValue {
  if (typeof left === 'string' && typeof right === 'string') {
    const units = left.length + right.length;
    if (units > stringUnitsMax) throw new CelError(`string of more than ${stringUnitsMax} characters`);
    budget.spendUnits(units);
    return left + right;
  }
  if (left instanceof CelList && right instanceof CelList) return concatenated(left, right, budget);
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    if (left.length + right.length > stringUnitsMax) {
      throw new CelError(`bytes of more than ${stringUnitsMax}`);
    }
    budget.spendUnits(left.length + right.length);
    return Buffer.concat([left, right]);
  }
  if (left instanceof Timestamp && right instanceof Duration) return new Timestamp(left.nanos + right.nanos);
  if (left instanceof Duration && right instanceof Timestamp) return new Timestamp(left.nanos + right.nanos);
  if (left instanceof Duration && right instanceof Duration) return new Duration(left.nanos + right.nanos);
  return arithmetic(
    left,
    right,
    (a, b) => a + b,
    (a, b) => a + b,
  );
}

/** Of set and map lists the sum is a union (Kubernetes, apiserver/pkg/cel/common/values.go). */
function concatenated(left: CelList, right: CelList, budget: Budget): CelList {
  const count = left.items.length + right.items.length;
  if (count > listItemsMax) throw new CelError(`list of more than ${listItemsMax} items`);
  budget.spendUnits(count);
  if (left.kind === 'set') {
    const added = right.items.filter((item) => !left.items.some((other) => celEquals(item, other, budget)));
    return new CelList([...left.items, ...added], 'set');
  }
  if (left.kind === 'map') {
    const sameKeys = (a: CelValue, b: CelValue) =>
      left.keys.every((key) => {
        const [one, other] = [a, b].map((item) => (item instanceof CelMap ? item.get(key) : undefined));
        return one === undefined || other === undefined ? one === other : celEquals(one, other, budget);
      });
    const kept = left.items.map((item) => right.items.find((other) => sameKeys(item, other)) ?? item);
    const added = right.items.filter((item) => !left.items.some((other) => sameKeys(item, other)));
    return new CelList([...kept, ...added], 'map', left.keys);
  }
  return new CelList([...left.items, ...right.items]);
}

function subtract(left: CelValue, right: CelValue): CelValue {
  if (left instanceof Timestamp && right instanceof Timestamp) return new Duration(left.nanos - right.nanos);
  if (left instanceof Timestamp && right instanceof Duration) return new Timestamp(left.nanos - right.nanos);
  if (left instanceof Duration && right instanceof Duration) return new Duration(left.nanos - right.nanos);
  return arithmetic(
    left,
    right,
    (a, b) => a - b,
    (a, b) => a - b,
  );
}

function arithmetic(
  left: CelValue,
  right: CelValue,
  onIntegers: (a: bigint, b: bigint) => bigint,
  onDoubles: (a: number, b: number) => number,
): CelValue {
  if (typeof left === 'bigint' && typeof right === 'bigint') return checkedInt(onIntegers(left, right));
  if (typeof left === 'number' && typeof right === 'number') return onDoubles(left, right);
  if (left instanceof Uint && right instanceof Uint) return new Uint(onIntegers(left.value, right.value));
  throw noOverload();
}

function nonZero(value: bigint, message: string): bigint {
  if (value === 0n) throw new CelError(message);
  return value;
}
