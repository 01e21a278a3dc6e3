import { compilePolicy } from '../policy/expressions.ts';
import { type FieldError, forbidden, indexPath, invalid, notSupported, required } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from './json.ts';
import { qualifiedNameProblems } from './names.ts';
import { objectsOf } from './pod-defaults.ts';

/** Kubernetes, pkg/apis/admissionregistration/validation: ValidatingAdmissionPolicy. */
export function* policyRules(policy: JsonObject): Generator<FieldError> {
  const spec = isObject(policy.spec) ? policy.spec : {};
  yield* oneOf(spec.failurePolicy, 'spec.failurePolicy', ['Fail', 'Ignore']);
  if (isObject(spec.paramKind)) {
    if ((spec.paramKind.apiVersion ?? '') === '') yield required('spec.paramKind.apiVersion');
    if ((spec.paramKind.kind ?? '') === '') yield required('spec.paramKind.kind');
  }
  const constraints = isObject(spec.matchConstraints) ? spec.matchConstraints : {};
  if (objectsOf(constraints.resourceRules).length === 0)
    yield required('spec.matchConstraints.resourceRules');
  yield* ruleErrors(constraints, 'spec.matchConstraints');
  if (objectsOf(spec.validations).length === 0 && objectsOf(spec.auditAnnotations).length === 0) {
    for (const field of ['validations', 'auditAnnotations']) {
      yield required(`spec.${field}`, 'validations or auditAnnotations must contain at least one item');
    }
  }
  for (const [at, { name = '' }] of objectsOf(spec.variables).entries()) {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(String(name))) continue;
    yield invalid(`${indexPath('spec.variables', at)}.name`, name, 'must be a valid CEL identifier');
  }
  for (const [at, { key = '' }] of objectsOf(spec.auditAnnotations).entries()) {
    const name = `${stringAt(policy, 'metadata', 'name')}/${key}`;
    for (const problem of qualifiedNameProblems(name)) {
      yield invalid(`${indexPath('spec.auditAnnotations', at)}.key`, name, problem);
    }
  }
  for (const [at, validation] of objectsOf(spec.validations).entries()) {
    const path = indexPath('spec.validations', at);
    if (String(validation.expression ?? '').trim() === '') {
      yield required(`${path}.expression`, 'expression is not specified');
    }
    const { reason } = validation;
    const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
    if (reason !== undefined && !reasons.includes(String(reason)))
      yield notSupported(`${path}.reason`, reason, reasons);
  }
  yield* compilePolicy(policy).problems.filter(({ value }) => String(value ?? '').trim() !== '');
}

/** ValidatingAdmissionPolicyBinding. */
export function* policyBindingRules(binding: JsonObject): Generator<FieldError> {
  const spec = isObject(binding.spec) ? binding.spec : {};
  if ((spec.policyName ?? '') === '') yield required('spec.policyName');
  const actions = Array.isArray(spec.validationActions) ? spec.validationActions : [];
  if (actions.length === 0)
    yield required('spec.validationActions', 'at least one validation action is required');
  for (const [at, action] of actions.entries()) {
    yield* oneOf(action, indexPath('spec.validationActions', at), ['Audit', 'Deny', 'Warn']);
  }
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const message =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    yield invalid('spec.validationActions', actions, message);
  }
  if (isObject(spec.matchResources)) yield* ruleErrors(spec.matchResources, 'spec.matchResources');
  if (isObject(spec.paramRef)) yield* paramRefErrors(spec.paramRef);
}

function* paramRefErrors(reference: JsonObject): Generator<FieldError> {
  const hasName = (reference.name ?? '') !== '';
  const hasSelector = isObject(reference.selector);
  if (hasName && hasSelector) {
    for (const field of ['name', 'selector']) {
      yield forbidden(`spec.paramRef.${field}`, 'name and selector are mutually exclusive');
    }
  }
  if (!hasName && !hasSelector) {
    yield required('spec.paramRef', 'one of name or selector must be specified');
  }
  yield* oneOf(reference.parameterNotFoundAction, 'spec.paramRef.parameterNotFoundAction', ['Deny', 'Allow']);
}

function* ruleErrors(match: JsonObject, path: string): Generator<FieldError> {
  for (const list of ['resourceRules', 'excludeResourceRules'] as const) {
    for (const [at, rule] of objectsOf(match[list]).entries()) {
      const here = indexPath(`${path}.${list}`, at);
      const operations = Array.isArray(rule.operations) ? rule.operations : [];
      if (operations.length === 0) yield required(`${here}.operations`);
      for (const [index, operation] of operations.entries()) {
        yield* oneOf(operation, indexPath(`${here}.operations`, index), [
          '*',
          'CONNECT',
          'CREATE',
          'DELETE',
          'UPDATE',
        ]);
      }
      for (const field of ['apiGroups', 'apiVersions', 'resources'] as const) {
        const values = rule[field];
        if (!Array.isArray(values) || values.length === 0) yield required(`${here}.${field}`);
      }
    }
  }
}

function* oneOf(
  value: JsonValue | undefined,
  path: string,
  allowed: readonly string[],
): Generator<FieldError> {
  if (value === undefined || value === '') yield required(path);
  else if (!allowed.includes(String(value))) yield notSupported(path, value, allowed);
}
