import type { ASTNode } from '@marcbachmann/cel-js';
import { index, select } from './access.ts';
import { type Code, type Compiler, LocatedError, type Scope } from './code.ts';
import { candidates, dispatch, type Library } from './library.ts';
import { binary, conditional, logical, minus, not } from './logic.ts';
import { compileMacro } from './macros.ts';
import { compileRegex } from './regex.ts';
import { parseDuration, parseTimestamp } from './time.ts';
import { describeTyping, joined, type Typing } from './typing.ts';
import {
  CelError,
  CelList,
  CelType,
  type CelValue,
  LiteralMap,
  literalValue,
  mapKey,
  Opaque,
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
    } catch (error) {
      if (!(error instanceof CelError) || error instanceof LocatedError) throw error;
      throw new LocatedError(error.message, node);
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
        return listLiteral(
          node.args.map((item) => compile(item, scope)),
          node.args,
        );
      case 'map':
        return mapLiteral(
          node.args.map(([key, value]) => [compile(key, scope), compile(value, scope)]),
          node.args,
        );
      case '?:': {
        const [test, then, otherwise] = node.args.map((part) => compile(part, scope)) as [Code, Code, Code];
        return conditional(test, then, otherwise);
      }
      case '||':
      case '&&':
        return logical(node.op, compile(node.args[0], scope), compile(node.args[1], scope), node.args);
      case '!_':
        return not(compile(node.args, scope));
      case '-_':
        return minus(compile(node.args, scope));
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

  const mixedList = (nodes: readonly ASTNode[], scope: Scope): Code => {
    const items = nodes.map((node) => compile(node, scope));
    return { typing: { name: 'list' }, run: (frame) => new CelList(items.map((code) => code.run(frame))) };
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
    checkLiteral(name, argNodes);
    const isMethod = receiver !== undefined;
    const token = namespace === undefined ? undefined : namespaces[namespace];
    const first =
      token !== undefined ? [constant(new Namespace(token))] : isMethod ? [compile(receiver, scope)] : [];
    const args = [
      ...first,
      // What is formatted may be of any types.
      ...argNodes.map((arg) =>
        name === 'format' && arg.op === 'list' ? mixedList(arg.args, scope) : compile(arg, scope),
      ),
    ];
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

function listLiteral(items: readonly Code[], nodes: readonly ASTNode[]): Code {
  const item = items.length === 0 ? undefined : common(items, nodes);
  return {
    typing: { name: 'list', ...(item === undefined ? {} : { item }) },
    run: (frame) => new CelList(items.map((code) => code.run(frame))),
  };
}

function mapLiteral(
  entries: readonly (readonly [Code, Code])[],
  nodes: readonly (readonly [ASTNode, ASTNode])[],
): Code {
  const values = entries.map(([, value]) => value);
  const item =
    values.length === 0
      ? undefined
      : common(
          values,
          nodes.map(([, value]) => value),
        );
  return {
    typing: { name: 'map', ...(item === undefined ? {} : { item }) },
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

/** The one type of the members of a literal. @throws LocatedError where a member is of another. */
function common(members: readonly Code[], nodes: readonly ASTNode[]): Typing {
  let typing = (members[0] as Code).typing;
  for (const [at, member] of members.entries()) {
    const next = joined(typing, member.typing);
    if (next === undefined) {
      const [expected, found] = [typing, member.typing].map(describeTyping);
      throw new LocatedError(`expected type '${expected}' but found '${found}'`, nodes[at] as ASTNode);
    }
    typing = next;
  }
  return typing;
}

/** Literal arguments that could never be read are refused at once. */
const literalChecks: Readonly<Record<string, (text: string) => boolean>> = {
  matches: isRegex,
  timestamp: (text) => parseTimestamp(text) !== undefined,
  duration: (text) => parseDuration(text) !== undefined,
};

function checkLiteral(name: string, args: readonly ASTNode[]): void {
  const check = Object.hasOwn(literalChecks, name) ? literalChecks[name] : undefined;
  const last = args.at(-1);
  if (check === undefined || last?.op !== 'value' || typeof last.args !== 'string') return;
  if (!check(last.args)) throw new LocatedError(`invalid ${name} argument`, last);
}

function isRegex(text: string): boolean {
  try {
    compileRegex(text);
    return true;
  } catch {
    return false;
  }
}
