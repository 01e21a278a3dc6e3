import { type JsonRecord, list, record } from '../object.ts';

/** A Pod, or the template of one, as the checks look at it. */
export interface PodFacts {
  readonly annotations: JsonRecord;
  readonly spec: JsonRecord;
  readonly securityContext: JsonRecord;
  /** Init containers, then containers, then ephemeral ones. */
  readonly containers: readonly ContainerFacts[];
}

export interface ContainerFacts {
  readonly name: string;
  readonly container: JsonRecord;
  readonly securityContext: JsonRecord;
}

/** What a check finds wrong; undefined where nothing is. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type CheckPod = (pod: PodFacts) => Violation | undefined;

export function podFacts(metadata: unknown, podSpec: unknown): PodFacts {
  const spec = record(podSpec);
  const containers = [
    ...list(spec.initContainers),
    ...list(spec.containers),
    ...list(spec.ephemeralContainers),
  ].map((one) => {
    const container = record(one);
    return {
      name: String(container.name ?? ''),
      container,
      securityContext: record(container.securityContext),
    };
  });
  return {
    annotations: record(record(metadata).annotations),
    spec,
    securityContext: record(spec.securityContext),
    containers,
  };
}

/** `"a", "b"` */
export function quoted(items: readonly string[]): string {
  return items.map((item) => `"${item}"`).join(', ');
}

/** Each once, in the order of their bytes. */
export function distinct(items: readonly string[]): string[] {
  return [...new Set(items)].sort();
}

export function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`;
}

/** `containers "a", "b"` */
export function named(word: string, names: readonly string[]): string {
  return `${plural(word, names.length)} ${quoted(names)}`;
}

/** `pod and containers "a"`: who sets what is forbidden; undefined where nobody does. */
export function setters(pod: boolean, containers: readonly string[]): string | undefined {
  const said = [...(pod ? ['pod'] : []), ...(containers.length > 0 ? [named('container', containers)] : [])];
  return said.length === 0 ? undefined : said.join(' and ');
}

/** The names of the containers of which `wrong` holds. */
export function containersWhere(pod: PodFacts, wrong: (container: ContainerFacts) => boolean): string[] {
  return pod.containers.filter(wrong).map(({ name }) => name);
}
