import type { LabelSelector } from '../../api/core.ts';
import { selects } from '../../api/selector.ts';
import { isObject, type JsonObject, type JsonValue, stringAt, valueAt } from '../schema/json.ts';
import { Evaluation, type Failure } from './evaluation.ts';
import { compilePolicy, type PolicyExpressions } from './expressions.ts';
import { isExempt, labelsOf, matchesResources } from './match.ts';
import type { AdmissionRequest, AdmissionSource } from './request.ts';

/** HTTP code, Status reason and message (without `… is forbidden: `). */
export interface AdmissionDenial {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Whether the message is a cause too, as what policies refuse: kubectl shows the causes of what is Invalid. */
  readonly isCause?: boolean;
}

export interface AdmissionVerdict {
  /** Set when the request is refused. */
  readonly denied?: AdmissionDenial;
  /** For `Warning: 299` headers. */
  readonly warnings: readonly string[];
  /** Audit annotations, key `policy/annotation`. */
  readonly audit: Readonly<Record<string, string>>;
}

export interface Admission {
  review(request: AdmissionRequest): AdmissionVerdict;
}

/** A policy or binding that cannot be worked with as it stands. */
class ConfigurationError extends Error {}

const codes: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/** Compiled policies that are kept. */
const compiledMax = 1_000;

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
    if (byVersion.size >= compiledMax) byVersion.clear(); // Names of policies that are gone stand there too.
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
    const code = codes[first.reason] ?? 422;
    return { denied: { code, reason: first.reason, message, isCause: true }, ...told };
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
        ? selects((reference.selector ?? {}) as LabelSelector, labelsOf(object) as Record<string, string>)
        : nameOf(object) === name,
    );
    if (found.length === 0 && reference.parameterNotFoundAction === 'Deny') {
      throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
    }
    return found;
  }
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name') ?? '';
}
