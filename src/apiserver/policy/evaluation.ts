import { Budget, BudgetExceeded, expressionStepsMax, objectStepsMax } from '../cel/budget.ts';
import type { Expression } from '../cel/cel.ts';
import { AuthorizerValue } from '../cel/library-authorizer.ts';
import { toCel } from '../cel/typing.ts';
import { CelError, CelMap, type CelValue } from '../cel/values.ts';
import type { JsonObject } from '../schema/json.ts';
import { type PolicyExpressions, requestTyping, type Validation } from './expressions.ts';
import type { UserInfo } from './rbac.ts';
import type { AdmissionRequest, AdmissionSource } from './request.ts';

/** Why a validation did not hold; `reason` is a Status reason. */
export interface Failure {
  readonly message: string;
  readonly reason: string;
}

/** Longest message that an expression may make, and audit annotation, in characters. */
const messageUnitsMax = 5 * 1024;
const annotationUnitsMax = 10 * 1024;

/** One policy's expressions on one request with one params object. */
export class Evaluation {
  readonly #expressions: PolicyExpressions;
  readonly #variables: Record<string, CelValue>;
  readonly #budget = new Budget(objectStepsMax);

  constructor(
    source: AdmissionSource,
    request: AdmissionRequest,
    expressions: PolicyExpressions,
    params: JsonObject | undefined,
  ) {
    this.#expressions = expressions;
    const namespace =
      request.namespace === undefined || request.resource === 'namespaces'
        ? undefined
        : source.namespace(request.namespace);
    const outer: Record<string, CelValue> = {
      object: toCel(request.object),
      oldObject: toCel(request.oldObject),
      request: toCel(requestObject(request), requestTyping),
      params: toCel(params ?? null),
      namespaceObject: toCel(namespace ?? null),
      authorizer: authorizerFor(source, request),
    };
    const lazy = new VariableMap(expressions.variables, (expression) => this.#evaluate(expression));
    this.#variables = { ...outer, variables: lazy };
  }

  /** By validation: why it failed, or undefined. Nothing where a match condition says that the policy is not meant. */
  failures(isLenient: boolean): (Failure | undefined)[] {
    const { matchConditions, validations, problems } = this.#expressions;
    let broken: string | undefined;
    for (const { expression } of matchConditions) {
      const outcome = this.#outcome(expression);
      if (outcome.value === false) return [];
      broken ??= outcome.error;
    }
    const failed = (message: string): Failure | undefined =>
      isLenient ? undefined : { message, reason: 'Invalid' };
    if (broken !== undefined) return [failed(broken)];
    const uncompiled = problems.map((problem) => failed(`compilation error: ${problem.detail}`));
    return [
      ...uncompiled,
      ...validations.map((validation) => {
        const { value, error } = this.#outcome(validation.expression);
        if (error !== undefined) return failed(error);
        if (value === true) return undefined;
        return { message: this.#message(validation), reason: validation.reason || 'Invalid' };
      }),
    ];
  }

  *annotations(): Generator<{ key: string; value: string }> {
    for (const { key, expression } of this.#expressions.auditAnnotations) {
      const { value } = this.#outcome(expression);
      const text = typeof value === 'string' ? value.trim().slice(0, annotationUnitsMax) : '';
      if (text !== '') yield { key, value: text };
    }
  }

  #message({ messageExpression, message, expression }: Validation): string {
    if (messageExpression !== undefined) {
      const { value } = this.#outcome(messageExpression);
      const text = typeof value === 'string' ? value.trim() : '';
      if (text !== '' && !text.includes('\n') && text.length <= messageUnitsMax) return text;
    }
    return message === '' ? `failed expression: ${expression.source.trim()}` : message;
  }

  #outcome(expression: Expression): { value?: CelValue; error?: string } {
    try {
      return { value: this.#evaluate(expression) };
    } catch (error) {
      if (!(error instanceof CelError || error instanceof BudgetExceeded)) throw error;
      return { error: `expression '${expression.source}' resulted in error: ${error.message}` };
    }
  }

  /** One expression may spend its own limit, all of the policy together another. */
  #evaluate(expression: Expression): CelValue {
    const budget = new Budget(expressionStepsMax);
    try {
      return expression.evaluate(this.#variables, budget);
    } finally {
      this.#budget.spend(budget.spent);
    }
  }
}

/** `variables`: each is evaluated when it is first read, and then remembered. */
class VariableMap extends CelMap {
  readonly #expressions: ReadonlyMap<string, Expression>;
  readonly #evaluate: (expression: Expression) => CelValue;
  readonly #known = new Map<string, CelValue>();

  constructor(
    variables: readonly { readonly name: string; readonly expression: Expression }[],
    evaluate: (expression: Expression) => CelValue,
  ) {
    super();
    this.#expressions = new Map(variables.map(({ name, expression }) => [name, expression]));
    this.#evaluate = evaluate;
  }

  override get(key: CelValue): CelValue | undefined {
    const name = String(key);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const expression = this.#expressions.get(name);
    if (expression === undefined) return undefined;
    const value = this.#valueOf(name, expression);
    this.#known.set(name, value);
    return value;
  }

  #valueOf(name: string, expression: Expression): CelValue {
    try {
      return this.#evaluate(expression);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      throw new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`);
    }
  }

  override keys(): readonly CelValue[] {
    return [...this.#expressions.keys()];
  }
}

function requestObject(request: AdmissionRequest): JsonObject {
  const { group, version, kind, resource, subresource = '', user } = request;
  const asKind = { group: request.kindGroup ?? group, version: request.kindVersion ?? version, kind };
  const extra = Object.fromEntries(
    Object.entries(user.extra ?? {}).map(([key, values]) => [key, [...values]]),
  );
  return {
    kind: asKind,
    resource: { group, version, resource },
    subResource: subresource,
    requestKind: asKind,
    requestResource: { group, version, resource },
    requestSubResource: subresource,
    name: request.name,
    namespace: request.namespace ?? '',
    operation: request.operation,
    userInfo: { username: user.username, uid: user.uid ?? '', groups: [...user.groups], extra },
    dryRun: request.dryRun,
    options: request.options ?? null,
  };
}

function authorizerFor(source: AdmissionSource, request: AdmissionRequest): AuthorizerValue {
  const { group, resource, subresource, namespace, name } = request;
  return new AuthorizerValue(
    ({ serviceAccount, path, verb, ...asked }) => {
      const user = serviceAccount === undefined ? request.user : serviceAccountUser(serviceAccount);
      if (path !== undefined) return source.authorize(user, { verb, path });
      return source.authorize(user, { verb, group: '', resource: '', ...asked });
    },
    {},
    'authorizer',
    {
      group,
      resource,
      name,
      ...(subresource === undefined ? {} : { subresource }),
      ...(namespace === undefined ? {} : { namespace }),
    },
  );
}

/** The groups that every ServiceAccount is in, by its user name. */
function serviceAccountUser(username: string): UserInfo {
  const namespace = username.split(':')[2] ?? '';
  return {
    username,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}
