import { TypeError as CelTypeError, Environment, ParseError } from '@marcbachmann/cel-js';
import { Budget, BudgetExceeded, expressionStepsMax } from './budget.ts';
import { LocatedError, outerScope } from './code.ts';
import { createCompiler } from './compile.ts';
import { mergeLibraries } from './library.ts';
import { authorizerLibrary } from './library-authorizer.ts';
import { kubernetesLibrary } from './library-kubernetes.ts';
import { listsLibrary } from './library-lists.ts';
import { networkLibrary } from './library-network.ts';
import { standardLibrary } from './library-standard.ts';
import { stringsLibrary } from './library-strings.ts';
import { positionOf, shownAt } from './position.ts';
import { describeTyping, type Typing } from './typing.ts';
import type { CelValue } from './values.ts';

/**
 * The Common Expression Language as Kubernetes speaks it. cel-js parses; types are checked against what is known of the
 * variables, and evaluation is bounded in work, so that no expression can hold up the process.
 */
export interface Expression {
  readonly source: string;
  /** What is known of the result before evaluation. */
  readonly typing: Typing;
  /** Which of the declared variables it reads. */
  readonly uses: ReadonlySet<string>;
  /** @throws CelError, or BudgetExceeded. */
  evaluate(variables: Readonly<Record<string, CelValue>>, budget?: Budget): CelValue;
}

/** An expression that is refused before it is ever evaluated. */
export class CelCompileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CelCompileError';
  }
}

const parserLimits = {
  maxAstNodes: 10_000,
  maxDepth: 100,
  maxListElements: 1000,
  maxMapEntries: 1000,
  maxCallArguments: 32,
};
const expressionUnitsMax = 64 * 1024;

const parser = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  limits: parserLimits,
});

const library = mergeLibraries(
  standardLibrary,
  stringsLibrary,
  listsLibrary,
  networkLibrary,
  kubernetesLibrary,
  authorizerLibrary,
);

/**
 * @param variables the names that the expression may read, with what is known of each.
 * @param result the types of which it must be known to give one (`bool`, `string`); unchecked where absent.
 * @throws CelCompileError
 */
export function compileExpression(
  source: string,
  variables: Readonly<Record<string, Typing>>,
  result?: readonly string[],
): Expression {
  if (source.length > expressionUnitsMax) {
    throw new CelCompileError(`expression of more than ${expressionUnitsMax} characters`);
  }
  const uses = new Set<string>();
  const code = compiled(source, tracked(variables, uses));
  const { typing } = code;
  if (result !== undefined && !result.includes(typing.name)) {
    const wanted = result.length === 1 ? result[0] : `one of [${result.join(' ')}]`;
    throw new CelCompileError(`must evaluate to ${wanted} but got ${describeTyping(typing)}`);
  }
  return {
    source,
    typing,
    uses,
    evaluate: (values, budget = new Budget(expressionStepsMax)) => {
      try {
        return code.run({ variables: values, locals: [], budget });
      } catch (error) {
        throw isStackOverflow(error) ? new BudgetExceeded() : error;
      }
    },
  };
}

function compiled(source: string, variables: Readonly<Record<string, Typing>>) {
  try {
    return createCompiler(variables, library).compile(parser.parse(source).ast, outerScope);
  } catch (error) {
    if (isStackOverflow(error)) throw new CelCompileError('expression is nested too deeply');
    if (error instanceof LocatedError) throw failed(error.message, source, positionOf(error.node));
    if (isParserError(error)) throw failed(parserMessage(error), source, error.range?.start ?? 0);
    throw error;
  }
}

/** Notes which variables the compiler asks for. */
function tracked(variables: Readonly<Record<string, Typing>>, uses: Set<string>) {
  return new Proxy(variables, {
    get: (target, name) => {
      if (typeof name === 'string' && Object.hasOwn(target, name)) uses.add(name);
      return Reflect.get(target, name);
    },
  });
}

function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

type ParserError = ParseError | CelTypeError;

function isParserError(error: unknown): error is ParserError {
  return error instanceof ParseError || error instanceof CelTypeError;
}

function parserMessage(error: ParserError): string {
  // The parser checks the variables of macros itself, in words of its own.
  if (error.code === 'invalid_macro_argument') return 'argument must be a simple name';
  const [first = ''] = error.summary;
  return error.code === 'reserved_identifier'
    ? `${first.toLowerCase()}${error.summary.slice(1)}`
    : `Syntax error: ${error.summary}`;
}

function failed(message: string, source: string, offset: number): CelCompileError {
  return new CelCompileError(`compilation failed: ${shownAt(message, source, offset)}`);
}
