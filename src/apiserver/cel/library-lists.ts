import { type CallContext, type Library, library } from './library.ts';
import { checkedInt } from './library-standard.ts';
import {
  CelError,
  type CelList,
  type CelValue,
  celCompare,
  celEquals,
  Duration,
  type Optional,
  Uint,
} from './values.ts';

/** Kubernetes' list library (apiserver, cel/library/lists.go), cel-go's sets and the methods of optionals. */
export const listsLibrary: Library = library({
  'list.isSorted(): bool'(list: CelList) {
    this.budget.spend(list.items.length);
    return list.items.every((item, at) => at === 0 || compared(list.items[at - 1] as CelValue, item) <= 0);
  },
  'list<int>.sum(): int | list<uint>.sum(): uint | list<double>.sum(): double | list<duration>.sum(): duration'(
    list: CelList,
  ) {
    this.budget.spend(list.items.length);
    return list.items.reduce(
      (total, item) => added(total, item),
      list.items.length === 0 ? 0n : zeroOf(list.items[0]),
    );
  },
  'list.min(): dyn'(list: CelList) {
    return extreme(this, list, -1);
  },
  'list.max(): dyn'(list: CelList) {
    return extreme(this, list, 1);
  },
  'list.indexOf(dyn): int'(list: CelList, wanted: CelValue) {
    return BigInt(list.items.findIndex((item) => celEquals(item, wanted, this.budget)));
  },
  'list.lastIndexOf(dyn): int'(list: CelList, wanted: CelValue) {
    return BigInt(list.items.findLastIndex((item) => celEquals(item, wanted, this.budget)));
  },

  'sets.contains(list, list): bool'(_sets: CelValue, list: CelList, part: CelList) {
    return covers(this, list, part);
  },
  'sets.equivalent(list, list): bool'(_sets: CelValue, a: CelList, b: CelList) {
    return covers(this, a, b) && covers(this, b, a);
  },
  'sets.intersects(list, list): bool'(_sets: CelValue, a: CelList, b: CelList) {
    return a.items.some((item) => b.items.some((other) => celEquals(item, other, this.budget)));
  },

  'optional.hasValue(): bool': (optional: Optional) => optional.value !== undefined,
  'optional.value(): dyn': (optional: Optional) => {
    if (optional.value === undefined) throw new CelError('optional.none() dereference');
    return optional.value;
  },
});

function covers(context: CallContext, list: CelList, part: CelList): boolean {
  return part.items.every((item) => list.items.some((other) => celEquals(item, other, context.budget)));
}

function compared(a: CelValue, b: CelValue): number {
  const order = celCompare(a, b);
  if (order === undefined) throw new CelError('no such overload');
  return order;
}

function extreme(context: CallContext, list: CelList, sign: 1 | -1): CelValue {
  context.budget.spend(list.items.length);
  const [first, ...rest] = list.items;
  if (first === undefined) throw new CelError(`${sign > 0 ? 'max' : 'min'} called on empty list`);
  return rest.reduce((best, item) => (compared(item, best) * sign > 0 ? item : best), first);
}

function zeroOf(value: CelValue | undefined): CelValue {
  if (typeof value === 'number') return 0;
  if (value instanceof Uint) return new Uint(0n);
  return value instanceof Duration ? new Duration(0n) : 0n;
}

function added(a: CelValue, b: CelValue): CelValue {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a + b);
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (a instanceof Uint && b instanceof Uint) return new Uint(a.value + b.value);
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.nanos + b.nanos);
  throw new CelError('no such overload');
}
