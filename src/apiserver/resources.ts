import { customResources } from './custom.ts';
import type { KubeObject } from './object.ts';
import { builtInKinds, groupOrder, type ResourceScope } from './scope/kinds.ts';
import type { Served, ServedGroup } from './served.ts';

/** Which resources are served: the built-in ones, and one for each version of each established definition. */
export class Resources {
  #byPath = new Map<string, Served>();
  #byKind = new Map<string, Served>();
  #groups: readonly ServedGroup[] = [];
  readonly #builtIn: readonly Served[] = builtInKinds.map(builtIn);
  /** Counts changes, so that what is made from the set can be kept until then. */
  generation = 0;

  constructor() {
    this.setDefinitions([]);
  }

  /** Replaces all custom kinds by those that these established definitions serve. */
  setDefinitions(definitions: readonly KubeObject[]): void {
    const all = [...this.#builtIn, ...definitions.flatMap(customResources)];
    this.#byPath = new Map(all.map((served) => [`${served.apiVersion}/${served.plural}`, served]));
    this.#byKind = new Map(all.map((served) => [`${served.apiVersion}/${served.kind}`, served]));
    this.#groups = group(all);
    this.generation += 1;
  }

  find(apiVersion: string, plural: string): Served | undefined {
    return this.#byPath.get(`${apiVersion}/${plural}`);
  }

  findKind(apiVersion: string, kind: string): Served | undefined {
    return this.#byKind.get(`${apiVersion}/${kind}`);
  }

  /** A built-in resource that must be there. */
  builtIn(apiVersion: string, plural: string): Served {
    const served = this.find(apiVersion, plural);
    if (served === undefined) throw new Error(`${apiVersion} ${plural} is not in the scope`);
    return served;
  }

  groups(): readonly ServedGroup[] {
    return this.#groups;
  }
}

function builtIn(scope: ResourceScope): Served {
  return {
    ...scope,
    listKind: `${scope.kind}List`,
    apiVersion: scope.group === '' ? scope.version : `${scope.group}/${scope.version}`,
    storage: scope.group === '' ? scope.plural : `${scope.plural}.${scope.group}`,
    custom: undefined,
  };
}

function group(all: readonly Served[]): ServedGroup[] {
  const groups = new Map<string, Map<string, Served[]>>();
  for (const served of all) {
    const versions = groups.get(served.group) ?? new Map<string, Served[]>();
    groups.set(served.group, versions);
    versions.set(served.version, [...(versions.get(served.version) ?? []), served]);
  }
  const known = groupOrder.filter((name) => groups.has(name));
  const others = [...groups.keys()].filter((name) => !groupOrder.includes(name)).sort();
  return [...known, ...others].map((name) => ({
    group: name,
    versions: [...(groups.get(name) ?? [])]
      .map(([version, resources]) => ({ version, resources }))
      .sort((a, b) => compareVersions(a.version, b.version)),
  }));
}

/** Order of preference of API versions: v2, v1, v1beta1, v1alpha1, others by name (apimachinery, CompareKubeAwareVersionStrings). */
export function compareVersions(a: string, b: string): number {
  const left = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(a);
  const right = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(b);
  if (left === null || right === null) {
    return left === right ? a.localeCompare(b) : left === null ? 1 : -1;
  }
  const stage = (match: RegExpExecArray) => (match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0);
  return (
    stage(right) - stage(left) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}
