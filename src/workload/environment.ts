import type { ConfigMap, Container, EnvVar, Pod, Secret } from '../api/core.ts';
import { parseQuantity } from '../cluster/quantity.ts';

export interface Variable {
  readonly name: string;
  readonly value: string;
}

/** What the variables of a container can be taken from. */
export interface EnvironmentSources {
  /** undefined where there is none of that name in the Pod's namespace. */
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  /** NAME=value of the image. */
  readonly image: readonly string[];
  /** Where a container finds the cluster API. */
  readonly service: readonly Variable[];
  readonly nodeAddress: string;
}

/** The container cannot be configured; the message has the words of a kubelet (CreateContainerConfigError). */
export class ConfigError extends Error {}

/**
 * The variables of a container: those of the image, the cluster API, `envFrom`, then `env`; later ones win, and
 * `$(NAME)` in `env` sees what came before (core/v1 EnvVar). Errors: ConfigError.
 */
export function environment(pod: Pod, container: Container, sources: EnvironmentSources): Variable[] {
  const values = new Map<string, string>();
  for (const line of sources.image) {
    const equals = line.indexOf('=');
    if (equals > 0) values.set(line.slice(0, equals), line.slice(equals + 1));
  }
  values.set('HOSTNAME', pod.metadata.name);
  // Only what the Pod itself and the kubelet set can be referred to; the image's own is not known there.
  const known = new Map<string, string>();
  const set = (name: string, value: string) => {
    values.set(name, value);
    known.set(name, value);
  };
  for (const { name, value } of sources.service) set(name, value);
  for (const [name, value] of fromObjects(container, sources)) set(name, value);
  for (const variable of container.env ?? []) {
    const value = variableValue(pod, container, variable, sources, known);
    if (value !== undefined) set(variable.name, value);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}

function fromObjects(container: Container, sources: EnvironmentSources): [string, string][] {
  const found: [string, string][] = [];
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) {
      const object = sources.configMap(configMapRef.name);
      if (object === undefined && configMapRef.optional !== true) {
        throw new ConfigError(`configmap "${configMapRef.name}" not found`);
      }
      for (const [key, value] of Object.entries(object?.data ?? {})) found.push([`${prefix}${key}`, value]);
    }
    if (secretRef !== undefined) {
      const object = sources.secret(secretRef.name);
      if (object === undefined && secretRef.optional !== true) {
        throw new ConfigError(`secret "${secretRef.name}" not found`);
      }
      for (const [key, value] of Object.entries(object?.data ?? {})) {
        found.push([`${prefix}${key}`, Buffer.from(value, 'base64').toString('utf8')]);
      }
    }
  }
  return found;
}

function variableValue(
  pod: Pod,
  container: Container,
  variable: EnvVar,
  sources: EnvironmentSources,
  known: ReadonlyMap<string, string>,
): string | undefined {
  const { valueFrom } = variable;
  if (valueFrom === undefined) return expand(variable.value ?? '', known);
  const { fieldRef, configMapKeyRef, secretKeyRef, resourceFieldRef } = valueFrom;
  if (fieldRef !== undefined) return fieldOf(pod, fieldRef.fieldPath, sources.nodeAddress);
  if (resourceFieldRef !== undefined) {
    return resourceOf(pod, container, resourceFieldRef);
  }
  const namespace = pod.metadata.namespace ?? '';
  if (configMapKeyRef !== undefined) {
    const { name, key, optional } = configMapKeyRef;
    const object = sources.configMap(name);
    const value = object?.data?.[key];
    if (value !== undefined || optional === true) return value;
    if (object === undefined) throw new ConfigError(`configmap "${name}" not found`);
    throw new ConfigError(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
  }
  if (secretKeyRef !== undefined) {
    const { name, key, optional } = secretKeyRef;
    const object = sources.secret(name);
    const value = object?.data?.[key];
    if (value !== undefined) return Buffer.from(value, 'base64').toString('utf8');
    if (optional === true) return undefined;
    if (object === undefined) throw new ConfigError(`secret "${name}" not found`);
    throw new ConfigError(`couldn't find key ${key} in Secret ${namespace}/${name}`);
  }
  return '';
}

/**
 * `$(NAME)` becomes the variable's value where it is known and stays as it is where not; `$$` is one `$`
 * (kubernetes, third_party/forked/golang/expansion).
 */
export function expand(text: string, known: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([^()]*)\)/g, (all, name: string | undefined) =>
    name === undefined ? '$' : (known.get(name) ?? all),
  );
}

/** The value of a field of the Pod as text (core/v1 ObjectFieldSelector). Errors: ConfigError. */
export function fieldOf(pod: Pod, path: string, nodeAddress: string): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed !== null) return pod.metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  switch (path) {
    case 'metadata.name':
      return pod.metadata.name;
    case 'metadata.namespace':
      return pod.metadata.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata.uid ?? '';
    case 'metadata.labels':
      return mapLines(pod.metadata.labels);
    case 'metadata.annotations':
      return mapLines(pod.metadata.annotations);
    case 'spec.nodeName':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? 'default';
    case 'status.hostIP':
    case 'status.hostIPs':
    case 'status.podIP':
    case 'status.podIPs':
      return nodeAddress; // Pods have the network of their node.
    default:
      throw new ConfigError(`field path not supported: ${path}`);
  }
}

/** The form of the downward API for whole maps: sorted lines of `key="value"`. */
function mapLines(map: Readonly<Record<string, string>> = {}): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join('\n');
}

function resourceOf(
  pod: Pod,
  container: Container,
  { resource, containerName, divisor = '1' }: { resource: string; containerName?: string; divisor?: string },
): string {
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const one = containerName === undefined ? container : all.find(({ name }) => name === containerName);
  const [kind = '', name = ''] = resource.split('.');
  if (one === undefined || (kind !== 'limits' && kind !== 'requests')) {
    throw new ConfigError(`unsupported container resource: ${resource}`);
  }
  const text = one.resources?.[kind]?.[name] ?? one.resources?.limits?.[name] ?? '0';
  const unit = parseQuantity(divisor === '0' ? '1' : divisor) ?? 1;
  return String(Math.ceil((parseQuantity(text) ?? 0) / unit));
}
