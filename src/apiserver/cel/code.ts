import type { ASTNode } from '@marcbachmann/cel-js';
import type { Budget } from './budget.ts';
import { noOverload } from './operators.ts';
import { accepts, describeTyping, dyn, type Typing } from './typing.ts';
import { CelError, type CelValue } from './values.ts';

/** An expression made ready. */
export interface Code {
  readonly run: (frame: Frame) => CelValue;
  /** What is known of the result before evaluation. */
  readonly typing: Typing;
}

/** One evaluation: variables given from outside, those of macros by slot, and what may still be spent. */
export interface Frame {
  readonly variables: Readonly<Record<string, CelValue>>;
  readonly locals: CelValue[];
  readonly budget: Budget;
}

/** The names that macros have bound around an expression. */
export interface Scope {
  readonly names: ReadonlyMap<string, { readonly slot: number; readonly typing: Typing }>;
  readonly depth: number;
}

export const outerScope: Scope = { names: new Map(), depth: 0 };

export interface Compiler {
  compile(node: ASTNode, scope: Scope): Code;
  /** Binds one more name; returns its slot and the scope within. */
  bind(scope: Scope, name: string, typing: Typing): { slot: number; scope: Scope };
}

/** What is known of a field. @throws CelError where there is no such field. */
export function fieldTyping(from: Typing, name: string, lenient: boolean): Typing {
  if (from.fields !== undefined) {
    const field = from.fields().get(name);
    if (field === undefined && !lenient) throw new CelError(`undefined field '${name}'`);
    return field?.typing ?? dyn;
  }
  if (from.name === 'map') return from.item ?? dyn;
  if (from.name === 'dyn') return dyn;
  throw new CelError(`type '${describeTyping(from)}' does not support field selection`);
}

/** The boolean that the code gives, or the error that it ends with. */
export function boolOrError(code: Code, frame: Frame): boolean | CelError {
  try {
    const value = code.run(frame);
    return typeof value === 'boolean' ? value : noOverload();
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

/** @throws CelError where an operand is known to be no boolean. */
export function requireBool(operator: string, ...operands: readonly Code[]): void {
  if (operands.every(({ typing }) => accepts('bool', typing))) return;
  const types = operands.map(({ typing }) => describeTyping(typing)).join(', ');
  throw new CelError(`found no matching overload for '${operator}' applied to '(${types})'`);
}
