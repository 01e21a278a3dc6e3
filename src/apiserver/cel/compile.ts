import type { ASTNode } from '@marcbachmann/cel-js';
import { boolOrError, type Code, type Compiler, fieldTyping, requireBool, type Scope } from './code.ts';
import { candidates, dispatch, type Library } from './library.ts';
import { compileMacro } from './macros.ts';
import { binaryOperators, negate, noOverload } from './operators.ts';
import { describeTyping, dyn, type Typing, unify } from './typing.ts';
import {
  CelError,
  CelList,
  CelMap,
  CelType,
  type CelValue,
  LiteralMap,
  literalValue,
  mapKey,
  Opaque,
  Optional,
  typeNameOf,
} from './values.ts';

/**
 * From the syntax tree of cel-js to closures. Its own evaluator is not used: it compares maps by the order of their
 * keys where types are dynamic, hands patterns to a backtracking engine, and knows no bound on work.
 */

/** Deepest nesting of an expression. */
export const nodesDeepMax = 500;

const typeNames = new Set('bool int uint double string bytes list map null_type type'.split(' '));
const namespaces: Readonly<Record<string, string>> = {
  sets: 'sets',
  strings: 'strings',
  format: 'format',
  ip: 'net.IP',
};

class Namespace extends Opaque {
  override readonly typeName: string;

  constructor(name: string) {
    super();
    this.typeName = name;
  }

  override equals(): boolean {
    return false;
  }
}

export function createCompiler(declared: Readonly<Record<string, Typing>>, known: Library): Compiler {
  let nesting = 0;

  const compile = (node: ASTNode, scope: Scope): Code => {
    if (++nesting > nodesDeepMax) throw new CelError('expression is nested too deeply');
    try {
      const code = compileNode(node, scope);
      return {
        typing: code.typing,
        run: (frame) => {
          frame.budget.spend(1);
          return code.run(frame);
        },
      };
    } finally {
      nesting--;
    }
  };

  const compileNode = (node: ASTNode, scope: Scope): Code => {
    switch (node.op) {
      case 'value':
        return constant(literalValue(node.args));
      case 'id':
        return identifier(node.args, scope);
      case '.':
      case '.?':
        return select(compile(node.args[0], scope), node.args[1], node.op === '.?');
      case '[]':
      case '[?]':
        return index(compile(node.args[0], scope), compile(node.args[1], scope), node.op === '[?]');
      case 'list':
        return listLiteral(node.args.map((item) => compile(item, scope)));
      case 'map':
        return mapLiteral(node.args.map(([key, value]) => [compile(key, scope), compile(value, scope)]));
      case '?:': {
        const [test, then, otherwise] = node.args.map((part) => compile(part, scope)) as [Code, Code, Code];
        return conditional(test, then, otherwise);
      }
      case '||':
      case '&&':
        return logical(node.op, compile(node.args[0], scope), compile(node.args[1], scope));
      case '!_':
        return not(compile(node.args, scope));
      case '-_': {
        const operand = compile(node.args, scope);
        return { typing: operand.typing, run: (frame) => negate(operand.run(frame)) };
      }
      case 'call':
        return call(node, node.args[0], undefined, node.args[1], scope);
      case 'rcall':
        return call(node, node.args[0], node.args[1], node.args[2], scope);
      default:
        return binary(node.op, compile(node.args[0], scope), compile(node.args[1], scope));
    }
  };

  const identifier = (name: string, scope: Scope): Code => {
    const local = scope.names.get(name);
    if (local !== undefined) {
      const { slot, typing } = local;
      return { typing, run: (frame) => frame.locals[slot] as CelValue };
    }
    if (Object.hasOwn(declared, name)) {
      return {
        typing: declared[name] as Typing,
        run: ({ variables }) => {
          if (!Object.hasOwn(variables, name)) throw new CelError(`no such attribute(s): ${name}`);
          return variables[name] as CelValue;
        },
      };
    }
    if (typeNames.has(name)) return { ...constant(new CelType(name)), typing: { name: 'type' } };
    throw new CelError(`undeclared reference to '${name}' (in container '')`);
  };

  const isFree = (name: string, scope: Scope) => !scope.names.has(name) && !Object.hasOwn(declared, name);

  const call = (
    node: ASTNode,
    name: string,
    receiver: ASTNode | undefined,
    argNodes: readonly ASTNode[],
    scope: Scope,
  ): Code => {
    const namespace = receiver?.op === 'id' && isFree(receiver.args, scope) ? receiver.args : undefined;
    const macro = compileMacro({ compiler, node, name, namespace, receiver, args: argNodes, scope });
    if (macro !== undefined) return macro;
    const isMethod = receiver !== undefined;
    const token = namespace === undefined ? undefined : namespaces[namespace];
    const first =
      token !== undefined ? [constant(new Namespace(token))] : isMethod ? [compile(receiver, scope)] : [];
    const args = [...first, ...argNodes.map((arg) => compile(arg, scope))];
    const { overloads, result } = candidates(
      known,
      name,
      isMethod,
      args.map((arg) => arg.typing),
    );
    return {
      typing: result,
      run: (frame) =>
        dispatch(
          overloads,
          args.map((arg) => arg.run(frame)),
          frame,
        ),
    };
  };

  const compiler: Compiler = {
    compile,
    bind: (scope, name, typing) => ({
      slot: scope.depth,
      scope: {
        names: new Map(scope.names).set(name, { slot: scope.depth, typing }),
        depth: scope.depth + 1,
      },
    }),
  };
  return compiler;
}

function constant(value: CelValue): Code {
  return { typing: { name: typeNameOf(value) }, run: () => value };
}

function select(target: Code, name: string, optional: boolean): Code {
  const viaOptional = target.typing.name === 'optional';
  const from = viaOptional ? (target.typing.item ?? dyn) : target.typing;
  const typing = fieldTyping(from, name, optional || viaOptional);
  if (optional || viaOptional) {
    return {
      typing: { name: 'optional', item: typing },
      run: (frame) => optionalField(target.run(frame), name),
    };
  }
  return {
    typing,
    run: (frame) => {
      const container = target.run(frame);
      if (container instanceof Optional) return optionalField(container, name);
      return fieldOf(container, name);
    },
  };
}

function fieldOf(container: CelValue, name: CelValue): CelValue {
  const value =
    container instanceof CelMap
      ? container.get(name)
      : container instanceof Opaque && typeof name === 'string'
        ? container.field(name)
        : undefined;
  if (value === undefined && !(container instanceof CelMap)) throw noOverload();
  if (value === undefined) throw new CelError(`no such key: ${String(name)}`);
  return value;
}

function optionalField(container: CelValue, key: CelValue): Optional {
  const inner = container instanceof Optional ? container.value : container;
  if (inner === undefined) return new Optional(undefined);
  if (inner instanceof CelMap) return new Optional(inner.get(key));
  if (inner instanceof CelList) return new Optional(inner.items[listIndex(key) ?? -1]);
  throw noOverload();
}

function index(target: Code, key: Code, optional: boolean): Code {
  const container = target.typing.name === 'optional' ? (target.typing.item ?? dyn) : target.typing;
  if (!['list', 'map', 'dyn'].includes(container.name)) {
    throw new CelError(
      `found no matching overload for '_[_]' applied to '(${describeTyping(container)}, ${describeTyping(key.typing)})'`,
    );
  }
  const typing = container.fields === undefined ? (container.item ?? dyn) : dyn;
  if (optional || target.typing.name === 'optional') {
    return {
      typing: { name: 'optional', item: typing },
      run: (frame) => optionalField(target.run(frame), key.run(frame)),
    };
  }
  return {
    typing,
    run: (frame) => {
      const from = target.run(frame);
      const at = key.run(frame);
      if (!(from instanceof CelList)) return fieldOf(from, at);
      const position = listIndex(at);
      if (position === undefined) throw noOverload();
      const item = from.items[position];
      if (item === undefined) throw new CelError(`index out of bounds: ${position}`);
      return item;
    },
  };
}

function listIndex(key: CelValue): number | undefined {
  const whole = mapKey(key);
  return typeof whole === 'bigint' ? Number(whole) : undefined;
}

function listLiteral(items: readonly Code[]): Code {
  const item = items.length === 0 ? dyn : items.map((code) => code.typing).reduce(unify);
  return {
    typing: { name: 'list', item },
    run: (frame) => new CelList(items.map((code) => code.run(frame))),
  };
}

function mapLiteral(entries: readonly (readonly [Code, Code])[]): Code {
  const item = entries.length === 0 ? dyn : entries.map(([, value]) => value.typing).reduce(unify);
  return {
    typing: { name: 'map', item },
    run: (frame) => {
      const made = new Map<CelValue, CelValue>();
      for (const [key, value] of entries) {
        const name = mapKey(key.run(frame));
        if (made.has(name)) throw new CelError(`Failed with repeated key ${String(name)}`);
        made.set(name, value.run(frame));
      }
      return new LiteralMap(made);
    },
  };
}

function conditional(test: Code, then: Code, otherwise: Code): Code {
  requireBool('_?_:_', test);
  return {
    typing: unify(then.typing, otherwise.typing),
    run: (frame) => {
      const decided = test.run(frame);
      if (typeof decided !== 'boolean') throw noOverload();
      return decided ? then.run(frame) : otherwise.run(frame);
    },
  };
}

/** `||` and `&&`: whichever operand decides wins, even over an error of the other. */
function logical(op: '||' | '&&', left: Code, right: Code): Code {
  requireBool(`_${op}_`, left, right);
  const decisive = op === '||';
  return {
    typing: { name: 'bool' },
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

function not(operand: Code): Code {
  requireBool('!_', operand);
  return {
    typing: { name: 'bool' },
    run: (frame) => {
      const value = operand.run(frame);
      if (typeof value !== 'boolean') throw noOverload();
      return !value;
    },
  };
}

const comparisons = new Set(['<', '<=', '>', '>=']);
const numbers = new Set(['int', 'uint', 'double']);

function binary(op: string, left: Code, right: Code): Code {
  const operate = binaryOperators[op];
  if (operate === undefined) throw new CelError(`unknown operator ${op}`);
  if (!mayCombine(op, left.typing.name, right.typing.name)) {
    const types = `${describeTyping(left.typing)}, ${describeTyping(right.typing)}`;
    throw new CelError(`found no matching overload for '_${op}_' applied to '(${types})'`);
  }
  const isTest = comparisons.has(op) || op === '==' || op === '!=' || op === 'in';
  return {
    typing: isTest ? { name: 'bool' } : resultTyping(op, left.typing, right.typing),
    run: (frame) => operate(left.run(frame), right.run(frame), frame.budget),
  };
}

/** Two times apart are a duration; a time and a duration make a time. */
function resultTyping(op: string, left: Typing, right: Typing): Typing {
  if (op === '-' && left.name === 'timestamp' && right.name === 'timestamp') return { name: 'duration' };
  if (left.name === 'timestamp' || right.name === 'timestamp') return { name: 'timestamp' };
  return unify(left, right);
}

function mayCombine(op: string, left: string, right: string): boolean {
  if (left === 'dyn' || right === 'dyn') return true;
  if (op === 'in') return right === 'list' || right === 'map';
  if (left === 'null_type' || right === 'null_type') return op === '==' || op === '!=';
  if (comparisons.has(op) && numbers.has(left) && numbers.has(right)) return true;
  const isTime = (name: string) => name === 'timestamp' || name === 'duration';
  if ((op === '+' || op === '-') && isTime(left) && isTime(right)) return true;
  return left === right;
}
