import { Budget, BudgetExceeded, expressionStepsMax, objectStepsMax } from '../cel/budget.ts';
import type { Expression } from '../cel/cel.ts';
import { AuthorizerValue } from '../cel/library-authorizer.ts';
import { toCel } from '../cel/typing.ts';
import { CelError, CelMap, type CelValue } from '../cel/values.ts';
import { matchesLabelSelector } from '../rest/label-selector.ts';
import { isObject, type JsonObject, type JsonValue, stringAt, valueAt } from '../schema/json.ts';
import { compilePolicy, type PolicyExpressions, requestTyping, type Validation } from './expressions.ts';
import { isExempt, labelsOf, matchesResources } from './match.ts';
import type { Attributes, Decision, UserInfo } from './rbac.ts';

/** One write as admission sees it. `group`/`version`/`resource` are those of the request's URL. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** After the write; null for DELETE. */
  readonly object: JsonObject | null;
  /** Before the write; null for CREATE. */
  readonly oldObject: JsonObject | null;
  readonly options?: JsonObject | undefined;
}

/** What policies are judged with; read at every request, so that a change acts at once. */
export interface AdmissionSource {
  policies(): readonly JsonObject[];
  bindings(): readonly JsonObject[];
  namespace(name: string): JsonObject | undefined;
  /** Objects of a params kind in a namespace ('' for cluster-scoped or all); undefined where the kind is not served. */
  params(apiVersion: string, kind: string, namespace: string): readonly JsonObject[] | undefined;
  /** Whether the params kind is namespaced; undefined where it is not served. */
  paramsNamespaced(apiVersion: string, kind: string): boolean | undefined;
  authorize(user: UserInfo, attributes: Attributes): Decision;
}

export interface AdmissionVerdict {
  /** Set when the request is refused: HTTP code, Status reason and message (without `… is forbidden: `). */
  readonly denied?: { readonly code: number; readonly reason: string; readonly message: string };
  /** For `Warning: 299` headers. */
  readonly warnings: readonly string[];
  /** Audit annotations, key `policy/annotation`. */
  readonly audit: Readonly<Record<string, string>>;
}

export interface Admission {
  review(request: AdmissionRequest): AdmissionVerdict;
}

/** Why a validation did not hold; `reason` is a Status reason. */
interface Failure {
  readonly message: string;
  readonly reason: string;
}

/** A policy or binding that cannot be worked with as it stands. */
class ConfigurationError extends Error {}

const codes: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/** Longest message that an expression may make, and audit annotation, in characters. */
const messageUnitsMax = 5 * 1024;
const annotationUnitsMax = 10 * 1024;

/**
 * Judges writes by ValidatingAdmissionPolicy and its bindings (admissionregistration.k8s.io/v1), as the real server's
 * dispatcher: the first refusal is told, in its words.
 */
export function createAdmission(source: AdmissionSource): Admission {
  const compiled = new WeakMap<JsonObject, PolicyExpressions>();
  const byVersion = new Map<string, { version: string; expressions: PolicyExpressions }>();

  const expressionsOf = (policy: JsonObject): PolicyExpressions => {
    const known = compiled.get(policy);
    if (known !== undefined) return known;
    const name = nameOf(policy);
    const generation = valueAt(policy, 'metadata', 'generation') ?? JSON.stringify(policy.spec);
    const version = `${stringAt(policy, 'metadata', 'uid')}/${generation}`;
    const cached = byVersion.get(name);
    const expressions = cached?.version === version ? cached.expressions : compilePolicy(policy);
    byVersion.set(name, { version, expressions });
    compiled.set(policy, expressions);
    return expressions;
  };

  return {
    review: (request) => {
      const review = new Review(source, request);
      if (isExempt(request)) return review.verdict();
      for (const policy of source.policies()) review.judge(policy, expressionsOf);
      return review.verdict();
    },
  };
}

class Review {
  readonly #source: AdmissionSource;
  readonly #request: AdmissionRequest;
  readonly #denials: (Failure & { readonly policy: string; readonly binding: string | undefined })[] = [];
  readonly #warnings: string[] = [];
  readonly #audit: Record<string, string> = {};

  constructor(source: AdmissionSource, request: AdmissionRequest) {
    this.#source = source;
    this.#request = request;
  }

  verdict(): AdmissionVerdict {
    const [first] = this.#denials;
    const told = { warnings: this.#warnings, audit: this.#audit };
    if (first === undefined) return told;
    const by = first.binding === undefined ? '' : ` with binding '${first.binding}'`;
    const message = `ValidatingAdmissionPolicy '${first.policy}'${by} denied request: ${first.message}`;
    return { denied: { code: codes[first.reason] ?? 422, reason: first.reason, message }, ...told };
  }

  judge(policy: JsonObject, expressionsOf: (policy: JsonObject) => PolicyExpressions): void {
    const constraints = valueAt(policy, 'spec', 'matchConstraints');
    if (!this.#matches(isObject(constraints) ? constraints : {})) return;
    for (const binding of this.#source.bindings()) {
      if (stringAt(binding, 'spec', 'policyName') !== nameOf(policy)) continue;
      const narrower = valueAt(binding, 'spec', 'matchResources');
      if (isObject(narrower) && !this.#matches(narrower)) continue;
      this.#judgeBound(policy, binding, expressionsOf(policy));
    }
  }

  #matches(match: JsonObject): boolean {
    return matchesResources(match, this.#request, () =>
      labelsOf(this.#source.namespace(this.#request.namespace ?? this.#request.name)),
    );
  }

  #judgeBound(policy: JsonObject, binding: JsonObject, expressions: PolicyExpressions): void {
    const isLenient = stringAt(policy, 'spec', 'failurePolicy') === 'Ignore';
    const deny = (failure: Failure) => {
      this.#denials.push({ ...failure, policy: nameOf(policy), binding: nameOf(binding) });
    };
    try {
      for (const params of this.#paramsOf(policy, binding)) {
        const evaluation = new Evaluation(this.#source, this.#request, expressions, params);
        for (const [at, failure] of evaluation.failures(isLenient).entries()) {
          if (failure !== undefined) this.#act(policy, binding, at, failure, deny);
        }
        for (const { key, value } of evaluation.annotations())
          this.#audit[`${nameOf(policy)}/${key}`] = value;
      }
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      if (isLenient) return;
      deny({ message: `failed to configure binding: ${error.message}`, reason: 'Invalid' });
    }
  }

  #act(
    policy: JsonObject,
    binding: JsonObject,
    at: number,
    failure: Failure,
    deny: (failure: Failure) => void,
  ): void {
    const actions = valueAt(binding, 'spec', 'validationActions');
    for (const action of Array.isArray(actions) ? actions : []) {
      if (action === 'Deny') deny(failure);
      if (action === 'Warn') {
        this.#warnings.push(
          `Validation failed for ValidatingAdmissionPolicy '${nameOf(policy)}' with binding '${nameOf(binding)}': ${failure.message}`,
        );
      }
      if (action === 'Audit') {
        const entry = {
          message: failure.message,
          policy: nameOf(policy),
          binding: nameOf(binding),
          expressionIndex: at,
          validationActions: actions as JsonValue,
        };
        this.#audit['validation.policy.admission.k8s.io/validation_failure'] = JSON.stringify([entry]);
      }
    }
  }

  /** Each params object that the binding names or selects; `undefined` once where there are to be none. */
  #paramsOf(policy: JsonObject, binding: JsonObject): readonly (JsonObject | undefined)[] {
    const kind = valueAt(policy, 'spec', 'paramKind');
    const reference = valueAt(binding, 'spec', 'paramRef');
    if (!isObject(kind) || !isObject(reference)) return [undefined];
    const apiVersion = stringAt(kind, 'apiVersion') ?? '';
    const kindName = stringAt(kind, 'kind') ?? '';
    const isNamespaced = this.#source.paramsNamespaced(apiVersion, kindName);
    if (isNamespaced === undefined) {
      throw new ConfigurationError(`paramKind kind \`${apiVersion}, Kind=${kindName}\` not known`);
    }
    const wanted = stringAt(reference, 'namespace') ?? '';
    if (!isNamespaced && wanted !== '') {
      throw new ConfigurationError(
        'paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
      );
    }
    const namespace = isNamespaced ? wanted || (this.#request.namespace ?? '') : '';
    if (isNamespaced && namespace === '') {
      throw new ConfigurationError(
        'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
      );
    }
    const name = stringAt(reference, 'name') ?? '';
    const found = (this.#source.params(apiVersion, kindName, namespace) ?? []).filter((object) =>
      name === ''
        ? matchesLabelSelector(reference.selector ?? {}, labelsOf(object) as Record<string, string>)
        : nameOf(object) === name,
    );
    if (found.length === 0 && reference.parameterNotFoundAction === 'Deny') {
      throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
    }
    return found;
  }
}

/** One policy's expressions on one request with one params object. */
class Evaluation {
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
    const value = this.#evaluate(expression);
    this.#known.set(name, value);
    return value;
  }

  override keys(): readonly CelValue[] {
    return [...this.#expressions.keys()];
  }
}

function requestObject(request: AdmissionRequest): JsonObject {
  const { group, version, kind, resource, subresource = '', user } = request;
  const extra = Object.fromEntries(
    Object.entries(user.extra ?? {}).map(([key, values]) => [key, [...values]]),
  );
  return {
    kind: { group, version, kind },
    resource: { group, version, resource },
    subResource: subresource,
    requestKind: { group, version, kind },
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

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name') ?? '';
}
