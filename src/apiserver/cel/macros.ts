import type { ASTNode } from '@marcbachmann/cel-js';
import { fieldTyping } from './access.ts';
import {
  boolOrError,
  type Code,
  type Compiler,
  type Frame,
  LocatedError,
  requireBool,
  type Scope,
} from './code.ts';
import { noOverload } from './operators.ts';
import { describeTyping, dyn, joined, type Typing } from './typing.ts';
import {
  CelError,
  CelList,
  CelMap,
  type CelValue,
  Duration,
  LiteralMap,
  mapKey,
  Optional,
  Uint,
} from './values.ts';

/** A call as the parser saw it; `namespace` is the receiver's name where that is no variable. */
export interface Call {
  readonly compiler: Compiler;
  readonly node: ASTNode;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly receiver: ASTNode | undefined;
  readonly args: readonly ASTNode[];
  readonly scope: Scope;
}

/** Macros of the CEL specification, and of cel-go's optionals and two-variable comprehensions, as Kubernetes enables them. */
export function compileMacro(call: Call): Code | undefined {
  const { name, namespace, receiver, args } = call;
  if (receiver === undefined) return name === 'has' && args.length === 1 ? has(call) : undefined;
  if (namespace === 'optional') return optionalNamespace(call);
  if (args.length === 1 && (name === 'or' || name === 'orValue'))
    return orElse(call, receiver, name === 'or');
  if (args.length === 2 && (name === 'optMap' || name === 'optFlatMap')) return optionalMap(call, receiver);
  return comprehension(call, receiver);
}

function has({ compiler, args, scope }: Call): Code {
  const [field] = args as [ASTNode];
  if (field.op !== '.') throw new LocatedError('invalid argument to has() macro', field);
  const target = compiler.compile(field.args[0], scope);
  const name = field.args[1];
  fieldTyping(target.typing.name === 'optional' ? (target.typing.item ?? dyn) : target.typing, name);
  return {
    typing: { name: 'bool' },
    run: (frame) => {
      const found = target.run(frame);
      const container = found instanceof Optional ? found.value : found;
      if (container === undefined) return false;
      if (!(container instanceof CelMap)) throw noOverload();
      return container.get(name) !== undefined;
    },
  };
}

function optionalNamespace({ compiler, name, args, scope }: Call): Code {
  if (name === 'none' && args.length === 0) {
    return { typing: { name: 'optional', item: dyn }, run: () => new Optional(undefined) };
  }
  if (args.length !== 1 || (name !== 'of' && name !== 'ofNonZeroValue')) {
    throw new CelError(`undeclared reference to 'optional.${name}' (in container '')`);
  }
  const value = compiler.compile(args[0] as ASTNode, scope);
  return {
    typing: { name: 'optional', item: value.typing },
    run: (frame) => {
      const content = value.run(frame);
      return new Optional(name === 'ofNonZeroValue' && isZero(content) ? undefined : content);
    },
  };
}

function isZero(value: CelValue): boolean {
  if (value instanceof CelList) return value.items.length === 0;
  if (value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Uint8Array) return value.length === 0;
  return value === null || value === false || value === 0 || value === 0n || value === '';
}

function orElse({ compiler, args, scope, name }: Call, receiver: ASTNode, keepsOptional: boolean): Code {
  const optional = compiler.compile(receiver, scope);
  const other = compiler.compile(args[0] as ASTNode, scope);
  const content = optional.typing.item ?? dyn;
  const wanted = keepsOptional ? (other.typing.item ?? dyn) : other.typing;
  const both = joined(content, wanted);
  const isOptional = optional.typing.name === 'optional' || optional.typing.name === 'dyn';
  if (!isOptional || both === undefined) {
    const applied = `${describeTyping(optional.typing)}.(${describeTyping(other.typing)})`;
    throw new CelError(`found no matching overload for '${name}' applied to '${applied}'`);
  }
  return {
    typing: keepsOptional ? { name: 'optional', item: both } : both,
    run: (frame) => {
      const value = optional.run(frame);
      if (!(value instanceof Optional)) throw noOverload();
      if (value.value === undefined) return other.run(frame);
      return keepsOptional ? value : value.value;
    },
  };
}

function optionalMap({ compiler, args, scope, name }: Call, receiver: ASTNode): Code {
  const optional = compiler.compile(receiver, scope);
  const [variable, body] = args as [ASTNode, ASTNode];
  const { slot, scope: inner } = compiler.bind(scope, variableName(variable), optional.typing.item ?? dyn);
  const code = compiler.compile(body, inner);
  const isFlat = name === 'optFlatMap';
  return {
    typing: isFlat ? code.typing : { name: 'optional', item: code.typing },
    run: (frame) => {
      const value = optional.run(frame);
      if (!(value instanceof Optional)) throw noOverload();
      if (value.value === undefined) return value;
      frame.locals[slot] = value.value;
      const result = code.run(frame);
      return isFlat ? result : new Optional(result);
    },
  };
}

/** One pass over a list or the keys of a map; `visit` returns a result to end it early. */
interface Loop {
  each(frame: Frame, visit: (key: CelValue, value: CelValue) => CelValue | undefined): CelValue | undefined;
  readonly scope: Scope;
}

const quantifiers = new Set(['all', 'exists', 'exists_one', 'existsOne']);
const arities: Readonly<Record<string, readonly number[]>> = {
  all: [2, 3],
  exists: [2, 3],
  exists_one: [2],
  existsOne: [3],
  filter: [2],
  map: [2, 3],
  transformList: [3, 4],
  transformMap: [3, 4],
};

function comprehension(call: Call, receiver: ASTNode): Code | undefined {
  const { compiler, name, args } = call;
  if (!Object.hasOwn(arities, name) || !arities[name]?.includes(args.length)) return undefined;
  const isPaired = name.startsWith('transform') || (quantifiers.has(name) && args.length === 3);
  const loop = createLoop(call, receiver, isPaired ? 2 : 1);
  const bodies = args.slice(isPaired ? 2 : 1).map((arg) => compiler.compile(arg, loop.scope));
  const [predicate] = args.slice(isPaired ? 2 : 1) as [ASTNode];
  if (quantifiers.has(name)) return quantifier(name, loop, bodies[0] as Code, predicate);
  const last = bodies.at(-1) as Code;
  if (name === 'filter') return filter(loop, last, predicate, compiler.compile(receiver, call.scope).typing);
  const condition = bodies.length === 2 ? bodies[0] : undefined;
  if (condition !== undefined) requireBool(condition, predicate);
  return name === 'transformMap' ? transformMap(loop, condition, last) : transform(loop, condition, last);
}

function createLoop({ compiler, args, scope }: Call, receiver: ASTNode, variables: 1 | 2): Loop {
  const range = compiler.compile(receiver, scope);
  const { name, item = dyn } = range.typing;
  if (!['list', 'map', 'dyn'].includes(name)) {
    throw new LocatedError(
      `expression of type '${describeTyping(range.typing)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      receiver,
    );
  }
  const keyTyping: Typing = { name: name === 'list' ? 'int' : name === 'map' ? 'string' : 'dyn' };
  const value = item;
  const names = args.slice(0, variables).map(variableName);
  const first = compiler.bind(
    scope,
    names[0] as string,
    variables === 2 ? keyTyping : name === 'map' ? keyTyping : value,
  );
  const second = variables === 2 ? compiler.bind(first.scope, names[1] as string, value) : undefined;
  return {
    scope: second?.scope ?? first.scope,
    each: (frame, visit) => {
      const container = range.run(frame);
      for (const [key, entry] of entriesOf(container, variables === 2)) {
        frame.budget.spend(1);
        if (second === undefined) frame.locals[first.slot] = entry;
        else {
          frame.locals[first.slot] = key;
          frame.locals[second.slot] = entry;
        }
        const result = visit(key, entry);
        if (result !== undefined) return result;
      }
      return undefined;
    },
  };
}

/** Index and item of a list; key and value of a map, or the key twice where only one variable is bound. */
function* entriesOf(container: CelValue, paired: boolean): Generator<[CelValue, CelValue]> {
  if (container instanceof CelList) {
    for (let at = 0; at < container.items.length; at++) yield [BigInt(at), container.items[at] as CelValue];
  } else if (container instanceof CelMap) {
    for (const key of container.keys()) yield [key, paired ? (container.get(key) as CelValue) : key];
  } else {
    throw noOverload();
  }
}

function quantifier(name: string, loop: Loop, body: Code, node: ASTNode): Code {
  requireBool(body, node);
  const typing: Typing = { name: 'bool' };
  if (name === 'exists_one' || name === 'existsOne') {
    return {
      typing,
      run: (frame) => {
        let count = 0;
        loop.each(frame, () => {
          const holds = body.run(frame);
          if (typeof holds !== 'boolean') throw noOverload();
          if (holds) count++;
          return undefined;
        });
        return count === 1;
      },
    };
  }
  const decisive = name === 'exists';
  return {
    typing,
    run: (frame) => {
      let failure: CelError | undefined;
      const decided = loop.each(frame, () => {
        const outcome = boolOrError(body, frame);
        if (outcome instanceof CelError) failure ??= outcome;
        return outcome === decisive ? decisive : undefined;
      });
      if (decided !== undefined) return decided;
      if (failure !== undefined) throw failure;
      return !decisive;
    },
  };
}

function filter(loop: Loop, body: Code, node: ASTNode, range: Typing): Code {
  requireBool(body, node);
  return {
    typing: range.name === 'list' ? range : { name: 'list', item: dyn },
    run: (frame) => {
      const kept: CelValue[] = [];
      loop.each(frame, (_key, value) => {
        const holds = body.run(frame);
        if (typeof holds !== 'boolean') throw noOverload();
        if (holds) kept.push(value);
        return undefined;
      });
      return new CelList(kept);
    },
  };
}

function transform(loop: Loop, condition: Code | undefined, body: Code): Code {
  return {
    typing: { name: 'list', item: body.typing },
    run: (frame) => {
      const made: CelValue[] = [];
      loop.each(frame, () => {
        if (selected(condition, frame)) made.push(body.run(frame));
        return undefined;
      });
      return new CelList(made);
    },
  };
}

function transformMap(loop: Loop, condition: Code | undefined, body: Code): Code {
  return {
    typing: { name: 'map', item: body.typing },
    run: (frame) => {
      const made = new Map<CelValue, CelValue>();
      loop.each(frame, (key) => {
        if (selected(condition, frame)) made.set(mapKey(key), body.run(frame));
        return undefined;
      });
      return new LiteralMap(made);
    },
  };
}

function selected(condition: Code | undefined, frame: Frame): boolean {
  if (condition === undefined) return true;
  const holds = condition.run(frame);
  if (typeof holds !== 'boolean') throw noOverload();
  return holds;
}

function variableName(node: ASTNode): string {
  if (node.op !== 'id') throw new LocatedError('argument must be a simple name', node);
  return node.args;
}
