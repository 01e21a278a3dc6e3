import type { ASTNode } from '@marcbachmann/cel-js';
import type { Budget } from './budget.ts';
import { noOverload } from './operators.ts';
import { describeTyping, type Typing } from './typing.ts';
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

/** An error of compilation, and the place in the expression that it is about. */
export class LocatedError extends CelError {
  readonly node: ASTNode;

  constructor(message: string, node: ASTNode) {
    super(message);
    this.node = node;
  }
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

/** @throws LocatedError where an operand is known to be no boolean. */
export function requireBool(code: Code, node: ASTNode): void {
  const { name } = code.typing;
  if (name === 'bool' || name === 'dyn') return;
  throw new LocatedError(`expected type 'bool' but found '${describeTyping(code.typing)}'`, node);
}

/** The error for operands of types that do not go together, in cel-go's words. */
export function mismatch(operator: string, ...operands: readonly Code[]): CelError {
  const types = operands.map(({ typing }) => describeTyping(typing)).join(', ');
  return new CelError(`found no matching overload for '${operator}' applied to '(${types})'`);
}
