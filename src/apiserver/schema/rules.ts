import { Budget, BudgetExceeded, expressionStepsMax, objectStepsMax } from '../cel/budget.ts';
import { CelCompileError, compileExpression, type Expression } from '../cel/cel.ts';
import { type Typing, toCel } from '../cel/typing.ts';
import { CelError, type CelValue, Optional } from '../cel/values.ts';
import { equalJson } from '../object.ts';
import { childPath, type FieldError, type FieldErrorType, indexPath, invalid } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { objectDepthMax, type SchemaNode } from './node.ts';
import { typingOfNode } from './typing.ts';
import { correlated } from './values.ts';

/** One entry of x-kubernetes-validations, made ready. */
interface Rule {
  readonly source: string;
  readonly expression: Expression | undefined;
  /** Why it does not compile, and which of its expressions. */
  readonly problem: { readonly field: 'messageExpression' | 'rule'; readonly message: string } | undefined;
  readonly isTransition: boolean;
  readonly optionalOldSelf: boolean;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: FieldErrorType;
  readonly fieldPath: string;
}

const reasons: Record<string, FieldErrorType> = {
  FieldValueInvalid: 'FieldValueInvalid',
  FieldValueForbidden: 'FieldValueForbidden',
  FieldValueRequired: 'FieldValueRequired',
  FieldValueDuplicate: 'FieldValueDuplicate',
};

/** Longest message that an expression may make, in characters (Kubernetes: MaxEvaluatedMessageExpressionSizeBytes). */
const messageUnitsMax = 5 * 1024;

export interface RuleSet {
  readonly isEmpty: boolean;
  /** Rules that do not compile, by their place in the schema. */
  readonly problems: readonly FieldError[];
  /** What the rules say of an object; transition rules only where there is an old one. */
  validate(object: JsonObject, oldObject?: JsonObject): FieldError[];
}

/** Finds and compiles all rules of a schema. */
export function compileRules(root: SchemaNode): RuleSet {
  const compiled = new Map<SchemaNode, readonly Rule[]>();
  const withRules = new Map<SchemaNode, boolean>();
  const problems: FieldError[] = [];

  // Whether there are rules at or below: the walk of an object visits no other place.
  const visit = (node: SchemaNode, isResource: boolean): boolean => {
    const known = withRules.get(node);
    if (known !== undefined) return known;
    withRules.set(node, false);
    const typing = node.rules.length > 0 ? typingOfNode(node, isResource) : undefined;
    const rules = node.rules.map((raw, at) => {
      const rule = compileRule(raw, typing);
      const path = `${childPath(node.path, 'x-kubernetes-validations')}[${at}]`;
      const { problem } = rule;
      if (problem !== undefined)
        problems.push(invalid(`${path}.${problem.field}`, shownRule(raw), problem.message));
      return rule;
    });
    compiled.set(node, rules);
    const below = [...node.properties.values(), ...node.allOf];
    if (node.items !== undefined) below.push(node.items);
    if (typeof node.additional === 'object') below.push(node.additional);
    const found = below.map((child) => visit(child, child.embedded)).some(Boolean) || rules.length > 0;
    withRules.set(node, found);
    return found;
  };
  const isEmpty = !visit(root, true);

  return {
    isEmpty,
    problems,
    validate: (object, oldObject) => {
      if (isEmpty) return [];
      const run = new RuleRun(compiled, withRules);
      run.visit(object, oldObject, root, true, '', 0);
      return run.errors;
    },
  };
}

function compileRule(raw: JsonObject, self: Typing | undefined): Rule {
  const source = typeof raw.rule === 'string' ? raw.rule : '';
  const optionalOldSelf = raw.optionalOldSelf === true;
  const rule = {
    source,
    optionalOldSelf,
    message: typeof raw.message === 'string' ? raw.message : '',
    reason: reasons[String(raw.reason)] ?? 'FieldValueInvalid',
    fieldPath: typeof raw.fieldPath === 'string' ? raw.fieldPath.replace(/^\./, '') : '',
  };
  const oldSelf: Typing | undefined = optionalOldSelf && self ? { name: 'optional', item: self } : self;
  const compile = (text: string, field: 'messageExpression' | 'rule', type: 'bool' | 'string') => {
    const refused = (message: string) => ({ expression: undefined, problem: { field, message } });
    if (self === undefined || oldSelf === undefined) return refused('the schema gives no type to validate');
    try {
      const expression = compileExpression(text, { self, oldSelf });
      if (expression.typing.name === type) return { expression, problem: undefined };
      return refused(`${field === 'rule' ? 'cel expression' : field} must evaluate to a ${type}`);
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error;
      return refused(field === 'rule' ? error.message : `${field} ${error.message}`);
    }
  };
  const { expression, problem } = compile(source, 'rule', 'bool');
  const told = typeof raw.messageExpression === 'string' ? raw.messageExpression.trim() : '';
  const message = told === '' ? undefined : compile(told, 'messageExpression', 'string');
  return {
    ...rule,
    expression,
    isTransition: expression?.uses.has('oldSelf') ?? false,
    messageExpression: message?.expression,
    problem: problem ?? message?.problem,
  };
}

/** A rule as the real server shows it in errors: the Go structure of its own. */
function shownRule(raw: JsonObject): JsonObject {
  const {
    rule = '',
    message = '',
    messageExpression = '',
    reason = null,
    fieldPath = '',
    optionalOldSelf = null,
  } = raw;
  return {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf,
  };
}

/** One pass over one object. */
class RuleRun {
  readonly errors: FieldError[] = [];
  readonly #compiled: ReadonlyMap<SchemaNode, readonly Rule[]>;
  readonly #withRules: ReadonlyMap<SchemaNode, boolean>;
  readonly #budget = new Budget(objectStepsMax);
  #isOver = false;

  constructor(
    compiled: ReadonlyMap<SchemaNode, readonly Rule[]>,
    withRules: ReadonlyMap<SchemaNode, boolean>,
  ) {
    this.#compiled = compiled;
    this.#withRules = withRules;
  }

  visit(
    value: JsonValue,
    old: JsonValue | undefined,
    node: SchemaNode,
    isResource: boolean,
    path: string,
    depth: number,
  ): void {
    if (this.#isOver || value === null || depth > objectDepthMax || !this.#withRules.get(node)) return;
    const before = old === null ? undefined : old;
    const rules = this.#compiled.get(node) ?? [];
    if (rules.length > 0) this.#judge(value, before, node, isResource, path, rules);
    for (const part of node.allOf) this.visit(value, before, part, false, path, depth + 1);
    if (Array.isArray(value)) {
      const { items } = node;
      if (items === undefined) return;
      value.forEach((item, at) => {
        const oldItem = correlated(item, before, node);
        this.visit(item, oldItem, items, items.embedded, indexPath(path, at), depth + 1);
      });
      return;
    }
    if (!isObject(value)) return;
    for (const name of Object.keys(value)) {
      const property =
        node.properties.get(name) ?? (typeof node.additional === 'object' ? node.additional : undefined);
      if (property === undefined) continue;
      const oldValue = isObject(before) && Object.hasOwn(before, name) ? before[name] : undefined;
      this.visit(
        value[name] as JsonValue,
        oldValue,
        property,
        property.embedded,
        childPath(path, name),
        depth + 1,
      );
    }
  }

  #judge(
    value: JsonValue,
    old: JsonValue | undefined,
    node: SchemaNode,
    isResource: boolean,
    path: string,
    rules: readonly Rule[],
  ): void {
    const isUnchanged = old !== undefined && equalJson(value, old);
    const typing = typingOfNode(node, isResource) as Typing;
    const convert = (json: JsonValue): CelValue => toCel(json, typing);
    try {
      const self = convert(value);
      const oldSelf = old === undefined ? undefined : convert(old);
      for (const rule of rules) {
        if (this.#isOver) return;
        if (rule.isTransition ? old === undefined && !rule.optionalOldSelf : isUnchanged) continue;
        this.#apply(rule, self, oldSelf, node.type ?? '', path);
      }
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.errors.push(invalid(path, node.type ?? '', error.message));
    }
  }

  #apply(rule: Rule, self: CelValue, oldSelf: CelValue | undefined, type: string, path: string): void {
    if (rule.expression === undefined) {
      this.errors.push(invalid(path, type, `rule compile error: ${rule.problem?.message}`));
      return;
    }
    const variables: Record<string, CelValue> = { self };
    if (rule.optionalOldSelf) variables.oldSelf = new Optional(oldSelf);
    else if (oldSelf !== undefined) variables.oldSelf = oldSelf;
    try {
      const holds = this.#within((budget) => rule.expression?.evaluate(variables, budget));
      if (holds === true) return;
      const field = rule.fieldPath === '' ? path : childPath(path, rule.fieldPath);
      this.errors.push({ type: rule.reason, field, value: type, detail: this.#message(rule, variables) });
    } catch (error) {
      this.errors.push(invalid(path, type, this.#failure(error, rule)));
    }
  }

  /** One expression may spend its own limit, all together that of the object. */
  #within<T>(evaluate: (budget: Budget) => T): T {
    const budget = new Budget(expressionStepsMax);
    try {
      return evaluate(budget);
    } finally {
      this.#budget.spend(Math.min(budget.spent, expressionStepsMax));
    }
  }

  #failure(error: unknown, rule: Rule): string {
    if (error instanceof BudgetExceeded) {
      this.#isOver = true;
      return `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${named(rule)}`;
    }
    if (!(error instanceof CelError)) throw error;
    if (error.message.startsWith('no such overload')) {
      return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${named(rule)}`;
    }
    return `${error.message} evaluating rule: ${named(rule)}`;
  }

  #message(rule: Rule, variables: Record<string, CelValue>): string {
    const fallback = rule.message === '' ? `failed rule: ${rule.source.trim()}` : rule.message.trim();
    const { messageExpression } = rule;
    if (messageExpression === undefined) return fallback;
    try {
      const made = this.#within((budget) => messageExpression.evaluate(variables, budget));
      const text = typeof made === 'string' ? made.trim() : '';
      return text === '' || text.includes('\n') || text.length > messageUnitsMax ? fallback : text;
    } catch (error) {
      if (error instanceof CelError || error instanceof BudgetExceeded) return fallback;
      throw error;
    }
  }
}

/** As apiextensions-apiserver names a rule in errors: its message where it has one. */
function named(rule: Rule): string {
  return rule.message === '' ? rule.source.trim() : rule.message.trim();
}
