import type { Budget } from './budget.ts';
import { accepts, describeTyping, dyn, type Typing, typingOf } from './typing.ts';
import { CelError, type CelValue, typeNameOf } from './values.ts';

/** What a function may use besides its arguments. */
export interface CallContext {
  readonly budget: Budget;
}

/** One implementation of a name, for one list of argument types (the receiver of a method comes first). */
export interface Overload {
  readonly method: boolean;
  readonly args: readonly Typing[];
  readonly result: Typing;
  readonly call: (args: readonly CelValue[], context: CallContext) => CelValue;
}

export type Library = ReadonlyMap<string, readonly Overload[]>;

// biome-ignore lint/suspicious/noExplicitAny: the signature that stands beside it types the arguments at run time
export type Implementation = (this: CallContext, ...args: any[]) => CelValue;

/**
 * A library from signatures: `'string.contains(string): bool'` is a method, `'size(list): int'` a function. Several
 * signatures of one implementation are separated by `|`.
 */
export function library(definitions: Record<string, Implementation>): Library {
  const made = new Map<string, Overload[]>();
  for (const [signatures, implementation] of Object.entries(definitions)) {
    for (const signature of signatures.split('|')) {
      const { name, ...shape } = parseSignature(signature.trim());
      const overloads = made.get(name) ?? [];
      overloads.push({ ...shape, call: (args, context) => implementation.apply(context, [...args]) });
      made.set(name, overloads);
    }
  }
  return made;
}

function parseSignature(signature: string): Omit<Overload, 'call'> & { name: string } {
  const match = /^(?:([\w.<>]+)\.)?(\w+)\(([^)]*)\): (.+)$/.exec(signature);
  if (match === null) throw new TypeError(`not a signature: ${signature}`);
  const [, receiver, name, list, result] = match as unknown as [
    string,
    string | undefined,
    string,
    string,
    string,
  ];
  const args = list === '' ? [] : list.split(', ').map(typingOf);
  return {
    name,
    method: receiver !== undefined,
    args: receiver === undefined ? args : [typingOf(receiver), ...args],
    result: typingOf(result),
  };
}

export function mergeLibraries(...libraries: readonly Library[]): Library {
  const merged = new Map<string, Overload[]>();
  for (const each of libraries) {
    for (const [name, overloads] of each) merged.set(name, [...(merged.get(name) ?? []), ...overloads]);
  }
  return merged;
}

/** The overloads that may fit what is known before evaluation. @throws CelError in cel-go's words where none does. */
export function candidates(
  known: Library,
  name: string,
  method: boolean,
  args: readonly Typing[],
): { overloads: readonly Overload[]; result: Typing } {
  const named = known.get(name)?.filter((overload) => overload.method === method) ?? [];
  if (named.length === 0) throw new CelError(`undeclared reference to '${name}' (in container '')`);
  const overloads = named.filter(
    (overload) =>
      overload.args.length === args.length &&
      overload.args.every((wanted, at) => accepts(wanted, args[at] ?? dyn)),
  );
  if (overloads.length === 0) throw new CelError(noOverload(name, method, args.map(describeTyping)));
  const [first, ...others] = overloads as [Overload, ...Overload[]];
  const isOne = others.every((other) => describeTyping(other.result) === describeTyping(first.result));
  return { overloads, result: isOne ? first.result : dyn };
}

/** Calls the overload whose types are those of the values. @throws CelError where none is. */
export function dispatch(
  overloads: readonly Overload[],
  args: readonly CelValue[],
  context: CallContext,
): CelValue {
  for (const overload of overloads) {
    if (overload.args.every(({ name }, at) => name === 'dyn' || name === typeNameOf(args[at] as CelValue))) {
      return overload.call(args, context);
    }
  }
  throw new CelError('no such overload');
}

function noOverload(name: string, method: boolean, types: readonly string[]): string {
  const applied = method ? `${types[0]}.(${types.slice(1).join(', ')})` : `(${types.join(', ')})`;
  return `found no matching overload for '${name}' applied to '${applied}'`;
}
