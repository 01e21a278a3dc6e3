import { parseQuantity } from '../cel/quantity.ts';
import { equalJson } from '../object.ts';
import {
  childPath,
  duplicate,
  type FieldError,
  forbidden,
  indexPath,
  invalid,
  keyPath,
  notSupported,
  required,
} from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { labelProblems } from './names.ts';
import { objectsOf } from './pod-defaults.ts';

/** Kubernetes, pkg/apis/core/validation: ValidatePodSpec and what it calls, for the fields that the embedded kubelet acts on. */
export function* podRules(pod: JsonObject, old?: JsonObject): Generator<FieldError> {
  const spec = isObject(pod.spec) ? pod.spec : {};
  if (old === undefined) yield* podSpecErrors(spec, 'spec');
  else yield* podUpdateErrors(spec, isObject(old.spec) ? old.spec : {});
}

export const nonNegative = 'must be greater than or equal to 0';

export function* podSpecErrors(spec: JsonObject, path: string): Generator<FieldError> {
  const volumes = new Map<string, JsonObject>();
  for (const [at, volume] of objectsOf(spec.volumes).entries()) {
    const here = indexPath(childPath(path, 'volumes'), at);
    yield* nameErrors(volume.name, `${here}.name`, volumes);
    volumes.set(String(volume.name), volume);
    const sources = Object.keys(volume).filter((name) => name !== 'name');
    if (sources.length > 1)
      yield forbidden(`${here}.${sources[1]}`, 'may not specify more than 1 volume type');
  }
  const names = new Map<string, JsonObject>();
  for (const list of ['initContainers', 'containers'] as const) {
    const containers = objectsOf(spec[list]);
    if (list === 'containers' && containers.length === 0) yield required(childPath(path, 'containers'));
    for (const [at, container] of containers.entries()) {
      const here = indexPath(childPath(path, list), at);
      yield* nameErrors(container.name, `${here}.name`, names);
      names.set(String(container.name), container);
      yield* containerErrors(container, here, volumes);
    }
  }
  yield* oneOf(spec.restartPolicy, childPath(path, 'restartPolicy'), ['Always', 'OnFailure', 'Never']);
  yield* oneOf(spec.dnsPolicy, childPath(path, 'dnsPolicy'), [
    'ClusterFirstWithHostNet',
    'ClusterFirst',
    'Default',
    'None',
  ]);
  const { activeDeadlineSeconds: deadline } = spec;
  if (typeof deadline === 'number' && (deadline < 1 || deadline > secondsMax)) {
    yield invalid(
      childPath(path, 'activeDeadlineSeconds'),
      deadline,
      `must be between 1 and ${secondsMax}, inclusive`,
    );
  }
}

const secondsMax = 2 ** 31 - 1;

function* nameErrors(
  name: JsonValue | undefined,
  path: string,
  taken: ReadonlyMap<string, unknown>,
): Generator<FieldError> {
  if (typeof name !== 'string' || name === '') yield required(path);
  else if (taken.has(name)) yield duplicate(path, name);
  else for (const problem of labelProblems(name)) yield invalid(path, name, problem);
}

function* oneOf(
  value: JsonValue | undefined,
  path: string,
  allowed: readonly string[],
): Generator<FieldError> {
  if (value === undefined || value === '') yield required(path);
  else if (!allowed.includes(String(value))) yield notSupported(path, value, allowed);
}

function* containerErrors(
  container: JsonObject,
  path: string,
  volumes: ReadonlyMap<string, JsonObject>,
): Generator<FieldError> {
  const { image } = container;
  // A template may leave it out: whoever makes Pods of it may fill it in.
  if (typeof image !== 'string' || image === '') {
    if (path.startsWith('spec.containers') || path.startsWith('spec.initContainers')) {
      yield required(`${path}.image`);
    }
  } else if (image.trim() !== image) {
    yield invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
  }
  yield* oneOf(container.imagePullPolicy, `${path}.imagePullPolicy`, ['Always', 'IfNotPresent', 'Never']);
  for (const [at, port] of objectsOf(container.ports).entries()) {
    const here = indexPath(`${path}.ports`, at);
    if ((port.containerPort ?? 0) === 0) yield required(`${here}.containerPort`);
    else yield* portErrors(port.containerPort ?? 0, `${here}.containerPort`);
    yield* oneOf(port.protocol, `${here}.protocol`, ['SCTP', 'TCP', 'UDP']);
  }
  for (const [at, variable] of objectsOf(container.env).entries()) {
    const here = indexPath(`${path}.env`, at);
    if (typeof variable.name !== 'string' || variable.name === '') yield required(`${here}.name`);
    const isBoth = variable.valueFrom !== undefined && (variable.value ?? '') !== '';
    if (isBoth) yield invalid(`${here}.valueFrom`, '', 'may not be specified when `value` is not empty');
  }
  yield* mountErrors(objectsOf(container.volumeMounts), `${path}.volumeMounts`, volumes);
  yield* resourceErrors(isObject(container.resources) ? container.resources : {}, `${path}.resources`);
}

export function* portErrors(port: JsonValue, path: string): Generator<FieldError> {
  if (typeof port !== 'number' || (port >= 1 && port <= 65_535)) return;
  yield invalid(path, port, 'must be between 1 and 65535, inclusive');
}

function* mountErrors(
  mounts: readonly JsonObject[],
  path: string,
  volumes: ReadonlyMap<string, JsonObject>,
): Generator<FieldError> {
  const paths = new Set<string>();
  for (const [at, mount] of mounts.entries()) {
    const here = indexPath(path, at);
    const { name, mountPath } = mount;
    if (typeof name !== 'string' || name === '') yield required(`${here}.name`);
    else if (!volumes.has(name))
      yield { type: 'FieldValueNotFound', field: `${here}.name`, value: name, detail: '' };
    if (typeof mountPath !== 'string' || mountPath === '') yield required(`${here}.mountPath`);
    else if (paths.has(mountPath)) yield invalid(`${here}.mountPath`, mountPath, 'must be unique');
    else paths.add(mountPath);
  }
}

function* resourceErrors(resources: JsonObject, path: string): Generator<FieldError> {
  const quantities = (name: 'limits' | 'requests') =>
    Object.entries(isObject(resources[name]) ? resources[name] : {});
  const limits = new Map<string, bigint>();
  for (const kind of ['limits', 'requests'] as const) {
    for (const [name, value] of quantities(kind)) {
      const here = keyPath(`${path}.${kind}`, name);
      const amount = parseQuantity(String(value))?.nanos;
      if (amount === undefined) continue; // The schema says so already.
      if (amount < 0n) yield invalid(here, value, nonNegative);
      const limit = limits.get(name);
      if (kind === 'limits') limits.set(name, amount);
      else if (limit !== undefined && amount > limit) {
        const shown = String((resources.limits as JsonObject)[name]);
        yield invalid(`${path}.requests`, value, `must be less than or equal to ${name} limit of ${shown}`);
      }
    }
  }
}

const updatable =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** A Pod that runs can change very little; a scheduler may still give it its node. */
function* podUpdateErrors(spec: JsonObject, old: JsonObject): Generator<FieldError> {
  const comparable = ({
    activeDeadlineSeconds: _,
    tolerations: __,
    schedulingGates: ___,
    ...rest
  }: JsonObject): JsonObject => ({
    ...rest,
    ...(old.nodeName === undefined ? { nodeName: null } : {}),
    containers: objectsOf(rest.containers).map((container) => ({ ...container, image: '' })),
    initContainers: objectsOf(rest.initContainers).map((container) => ({ ...container, image: '' })),
  });
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [at, container] of objectsOf(spec[list]).entries()) {
      if ((container.image ?? '') === '') yield required(`spec.${list}[${at}].image`);
    }
  }
  const gates = objectsOf(spec.schedulingGates);
  const held = new Set(objectsOf(old.schedulingGates).map(({ name }) => name));
  for (const [at, { name }] of gates.entries()) {
    if (held.has(name)) continue;
    const message = `only deletion is allowed, but found new scheduling gate '${name}'`;
    yield forbidden(indexPath('spec.schedulingGates', at), message);
  }
  if (!equalJson(comparable(spec), comparable(old))) yield forbidden('spec', updatable);
}
