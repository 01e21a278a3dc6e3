import { type KubeObject, list, record } from '../object.ts';
import type { Served } from '../served.ts';
import { badRequest, conflict, pathNotFound } from '../status.ts';

/** Where a kind keeps its replicas, as paths of members. */
interface ReplicaPaths {
  readonly wanted: readonly string[];
  readonly current: readonly string[];
  readonly selector: readonly string[] | undefined;
}

function pathsOf(served: Served): ReplicaPaths {
  const custom = served.custom?.scale;
  if (served.custom === undefined) {
    return { wanted: ['spec', 'replicas'], current: ['status', 'replicas'], selector: ['spec', 'selector'] };
  }
  if (custom === undefined) throw pathNotFound();
  const split = (path: string) => path.replace(/^\./, '').split('.');
  return {
    wanted: split(custom.specReplicasPath),
    current: split(custom.statusReplicasPath),
    selector: custom.labelSelectorPath === undefined ? undefined : split(custom.labelSelectorPath),
  };
}

/** The Scale (autoscaling/v1) of an object. */
export function scaleOf(served: Served, object: KubeObject): KubeObject {
  const paths = pathsOf(served);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorText(paths.selector === undefined ? undefined : at(object, paths.selector));
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as KubeObject['metadata'],
    spec: { replicas: Number(at(object, paths.wanted) ?? 0) },
    status: { replicas: Number(at(object, paths.current) ?? 0), ...(selector === '' ? {} : { selector }) },
  };
}

/** The object with the replicas that a Scale wants. @throws 400, 409 */
export function withScale(served: Served, object: KubeObject, scale: KubeObject): KubeObject {
  const { replicas } = record(scale.spec);
  if (!Number.isInteger(replicas ?? 0) || Number(replicas ?? 0) < 0) {
    throw badRequest(
      `spec.replicas: Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`,
    );
  }
  const asked = record(scale.metadata).resourceVersion;
  if (asked && asked !== object.metadata.resourceVersion) throw conflict(served, object.metadata.name);
  const changed = structuredClone(object);
  let target: Record<string, unknown> = changed;
  const path = pathsOf(served).wanted;
  for (const part of path.slice(0, -1)) {
    const next = { ...record(target[part]) };
    target[part] = next;
    target = next;
  }
  target[path.at(-1) ?? 'replicas'] = Number(replicas ?? 0);
  return changed;
}

/** The replicas at a path such as `.spec.replicas`; undefined where there are none. */
export function replicasAt(object: KubeObject, path: string): number | undefined {
  const value = at(object, path.replace(/^\./, '').split('.'));
  return typeof value === 'number' ? value : undefined;
}

function at(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, part) => record(value)[part], object);
}

function selectorText(selector: unknown): string {
  if (typeof selector === 'string') return selector;
  const { matchLabels, matchExpressions } = record(selector);
  const parts = Object.entries(record(matchLabels)).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values } of list(matchExpressions).map(record)) {
    const all = list(values).join(',');
    if (operator === 'In') parts.push(`${key} in (${all})`);
    else if (operator === 'NotIn') parts.push(`${key} notin (${all})`);
    else parts.push(operator === 'Exists' ? String(key) : `!${key}`);
  }
  return parts.join(',');
}
