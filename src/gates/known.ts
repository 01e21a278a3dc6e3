import { messageOf } from '../errors/error.ts';

/**
 * A fact. One that could not be read says so: the gates that need it answer
 * Error, and only they (unknown means no).
 */
export type Known<T> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly why: string };

export function known<T>(value: T): Known<T> {
  return { known: true, value };
}

export function unknown<T>(why: string): Known<T> {
  return { known: false, why };
}

export function mapKnown<A, B>(fact: Known<A>, change: (value: A) => B): Known<B> {
  return fact.known ? known(change(fact.value)) : fact;
}

/** Of two facts one: unknown where either is. */
export function bothKnown<A, B, C>(a: Known<A>, b: Known<B>, change: (a: A, b: B) => C): Known<C> {
  if (!a.known) return a;
  return b.known ? known(change(a.value, b.value)) : b;
}

/** A fact that is read; where that fails it is unknown, in the words of the failure. */
export async function readFact<T>(what: string, read: () => Promise<T>): Promise<Known<T>> {
  try {
    return known(await read());
  } catch (error) {
    return unknown(`${what} cannot be read: ${messageOf(error)}`);
  }
}
