import type { LabelSelector } from '../../api/core.ts';
import { selects } from '../../api/selector.ts';
import { equalJson } from '../object.ts';
import { type FieldError, forbidden, indexPath, invalid, notSupported, required } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue, valueAt } from './json.ts';
import { labelErrors } from './metadata.ts';
import { objectsOf } from './pod-defaults.ts';
import { nonNegative, podSpecErrors, portErrors } from './pod-rules.ts';

const immutable = 'field is immutable';

export function* deploymentRules(deployment: JsonObject, old?: JsonObject): Generator<FieldError> {
  const spec = isObject(deployment.spec) ? deployment.spec : {};
  yield* setRules(deployment, old);
  yield* counts(spec, 'spec', ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']);
  const type = valueAt(spec, 'strategy', 'type');
  const types = ['Recreate', 'RollingUpdate'];
  if (typeof type !== 'string' || !types.includes(type)) {
    yield notSupported('spec.strategy', { Type: type ?? '', RollingUpdate: null }, types);
  } else if (type === 'Recreate' && valueAt(spec, 'strategy', 'rollingUpdate') !== undefined) {
    yield forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'");
  }
}

/** What Deployment, StatefulSet and DaemonSet have in common: a selector that fits the template and never changes. */
export function* setRules(workload: JsonObject, old?: JsonObject): Generator<FieldError> {
  const spec = isObject(workload.spec) ? workload.spec : {};
  yield* counts(spec, 'spec', ['replicas']);
  yield* templateErrors(spec, ['Always']);
  const { selector } = spec;
  const labels = valueAt(spec, 'template', 'metadata', 'labels') ?? {};
  if (!isObject(selector)) yield required('spec.selector');
  else if (Object.keys(selector).length === 0) {
    yield invalid('spec.selector', selector, 'empty selector is invalid for deployment');
  }
  if (isObject(labels) && !selects(selector as LabelSelector, labels as Record<string, string>)) {
    yield invalid('spec.template.metadata.labels', labels, '`selector` does not match template `labels`');
  }
  if (old !== undefined) yield* unchanged(spec, old, ['selector']);
}

export function* jobRules(job: JsonObject, old?: JsonObject): Generator<FieldError> {
  const spec = isObject(job.spec) ? job.spec : {};
  yield* counts(spec, 'spec', [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
  ]);
  yield* templateErrors(spec, ['Never', 'OnFailure']);
  if (!isObject(spec.selector)) yield required('spec.selector');
  const { completionMode: mode } = spec;
  const modes = ['NonIndexed', 'Indexed'];
  if (mode !== undefined && !modes.includes(String(mode)))
    yield notSupported('spec.completionMode', mode, modes);
  if (old === undefined) return;
  // While suspended and never started, the scheduling part of the template may change; it never is here.
  yield* unchanged(spec, old, ['selector', 'template', 'completionMode', 'completions']);
}

export function* disruptionBudgetRules(budget: JsonObject): Generator<FieldError> {
  const spec = isObject(budget.spec) ? budget.spec : {};
  const { minAvailable, maxUnavailable } = spec;
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    yield invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set');
  }
  for (const name of ['minAvailable', 'maxUnavailable'] as const) {
    const value = spec[name];
    if (typeof value === 'number' && value < 0) yield invalid(`spec.${name}`, value, nonNegative);
    if (typeof value === 'string' && !/^\d{1,3}%$/.test(value)) {
      yield invalid(
        `spec.${name}`,
        value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      );
    }
  }
}

export function* leaseRules(lease: JsonObject): Generator<FieldError> {
  const spec = isObject(lease.spec) ? lease.spec : {};
  const { leaseDurationSeconds: duration } = spec;
  if (typeof duration === 'number' && duration <= 0) {
    yield invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0');
  }
  yield* counts(spec, 'spec', ['leaseTransitions']);
}

export function* serviceRules(service: JsonObject): Generator<FieldError> {
  const spec = isObject(service.spec) ? service.spec : {};
  const ports = objectsOf(spec.ports);
  if (ports.length === 0 && spec.clusterIP !== 'None' && spec.type !== 'ExternalName') {
    yield required('spec.ports');
  }
  for (const [at, port] of ports.entries()) {
    const here = indexPath('spec.ports', at);
    if (ports.length > 1 && (port.name ?? '') === '') yield required(`${here}.name`);
    yield* portErrors(port.port ?? 0, `${here}.port`);
  }
}

function* templateErrors(spec: JsonObject, restartPolicies: readonly string[]): Generator<FieldError> {
  const { template } = spec;
  if (!isObject(template)) {
    yield required('spec.template');
    return;
  }
  const path = 'spec.template.spec';
  const pod = isObject(template.spec) ? template.spec : {};
  yield* labelErrors(valueAt(template, 'metadata', 'labels'), 'spec.template.metadata.labels');
  yield* podSpecErrors(pod, path);
  const { restartPolicy = '' } = pod;
  if (restartPolicies.includes(String(restartPolicy))) return;
  if (restartPolicies.includes('Always'))
    yield notSupported(`${path}.restartPolicy`, restartPolicy, restartPolicies);
  else yield required(`${path}.restartPolicy`, 'valid values: "OnFailure", "Never"');
}

function* counts(spec: JsonObject, path: string, names: readonly string[]): Generator<FieldError> {
  for (const name of names) {
    const value = spec[name];
    if (typeof value === 'number' && value < 0) yield invalid(`${path}.${name}`, value, nonNegative);
  }
}

function* unchanged(spec: JsonObject, old: JsonObject, names: readonly string[]): Generator<FieldError> {
  const before = isObject(old.spec) ? old.spec : {};
  for (const name of names) {
    if (equalJson(spec[name], before[name])) continue;
    yield invalid(`spec.${name}`, (spec[name] ?? null) as JsonValue, immutable);
  }
}
