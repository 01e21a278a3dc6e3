import type { ASTNode } from '@marcbachmann/cel-js';
import { boolOrError, type Code, mismatch, requireBool } from './code.ts';
import { binaryOperators, negate, noOverload } from './operators.ts';
import { accepts, joined, type Typing } from './typing.ts';
import { CelError } from './values.ts';

const bool: Typing = { name: 'bool' };

export function conditional(test: Code, then: Code, otherwise: Code): Code {
  const typing = joined(then.typing, otherwise.typing);
  if (!accepts(bool, test.typing) || typing === undefined) throw mismatch('_?_:_', test, then, otherwise);
  return {
    typing,
    run: (frame) => {
      const decided = test.run(frame);
      if (typeof decided !== 'boolean') throw noOverload();
      return decided ? then.run(frame) : otherwise.run(frame);
    },
  };
}

/** `||` and `&&`: whichever operand decides wins, even over an error of the other. */
export function logical(
  op: '||' | '&&',
  left: Code,
  right: Code,
  nodes: readonly [left: ASTNode, right: ASTNode],
): Code {
  requireBool(left, nodes[0]);
  requireBool(right, nodes[1]);
  const decisive = op === '||';
  return {
    typing: bool,
    run: (frame) => {
      const first = boolOrError(left, frame);
      if (first === decisive) return decisive;
      const second = boolOrError(right, frame);
      if (second === decisive) return decisive;
      for (const outcome of [first, second]) if (outcome instanceof CelError) throw outcome;
      return !decisive;
    },
  };
}

export function not(operand: Code): Code {
  if (!accepts(bool, operand.typing)) throw mismatch('!_', operand);
  return {
    typing: bool,
    run: (frame) => {
      const value = operand.run(frame);
      if (typeof value !== 'boolean') throw noOverload();
      return !value;
    },
  };
}

export function minus(operand: Code): Code {
  if (!['double', 'duration', 'dyn', 'int'].includes(operand.typing.name)) throw mismatch('-_', operand);
  return { typing: operand.typing, run: (frame) => negate(operand.run(frame)) };
}

const comparisons = new Set(['<', '<=', '>', '>=']);
const numbers = new Set(['int', 'uint', 'double']);
const comparable = new Set([...numbers, 'string', 'bool', 'bytes', 'timestamp', 'duration', 'dyn']);
const addable = new Set([...numbers, 'string', 'bytes', 'list', 'dyn']);

export function binary(op: string, left: Code, right: Code): Code {
  const operate = binaryOperators[op];
  if (operate === undefined) throw new CelError(`unknown operator ${op}`);
  const typing = resultOf(op, left.typing, right.typing);
  if (typing === undefined) throw mismatch(op === 'in' ? '@in' : `_${op}_`, left, right);
  return { typing, run: (frame) => operate(left.run(frame), right.run(frame), frame.budget) };
}

/** The type of the result, undefined where the operands do not go together. */
function resultOf(op: string, left: Typing, right: Typing): Typing | undefined {
  if (op === 'in') return mayContain(right, left) ? bool : undefined;
  if (op === '==' || op === '!=') return joined(left, right) && bool;
  if (comparisons.has(op)) {
    const isNumeric = numbers.has(left.name) && numbers.has(right.name);
    const isOrdered = comparable.has(left.name) && comparable.has(right.name);
    return isNumeric || (isOrdered && joined(left, right) !== undefined) ? bool : undefined;
  }
  const time = timeResult(op, left.name, right.name);
  if (time !== undefined) return { name: time };
  const allowed =
    op === '+' ? addable : op === '%' ? new Set(['int', 'uint', 'dyn']) : new Set([...numbers, 'dyn']);
  if (!allowed.has(left.name) || !allowed.has(right.name)) return undefined;
  // Only one overload takes the known operand, so the result is of its type, as cel-go resolves it.
  if (left.name === 'dyn') return right;
  return right.name === 'dyn' ? left : joined(left, right);
}

function mayContain(container: Typing, item: Typing): boolean {
  if (container.name === 'dyn') return true;
  if (container.name === 'map') return accepts({ name: 'string' }, item);
  return (
    container.name === 'list' && (container.item === undefined || joined(container.item, item) !== undefined)
  );
}

/** Two times apart are a duration; a time and a duration make a time. */
function timeResult(op: string, left: string, right: string): string | undefined {
  const pair = `${left} ${op} ${right}`;
  if (pair === 'timestamp - timestamp' || pair === 'duration + duration' || pair === 'duration - duration') {
    return 'duration';
  }
  const isTime = ['timestamp + duration', 'timestamp - duration', 'duration + timestamp'].includes(pair);
  return isTime ? 'timestamp' : undefined;
}
