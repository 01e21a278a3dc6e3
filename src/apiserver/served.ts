import type { KubeObject } from './object.ts';
import type { ResourceScope, SubresourceScope } from './scope/kinds.ts';

/** A column that a CustomResourceDefinition adds to the table of its kind. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

/** Where a custom kind keeps its replicas (CustomResourceSubresourceScale). */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** What a served kind has beyond the built-in ones. */
export interface CustomKind {
  readonly crd: KubeObject;
  readonly columns: readonly PrinterColumn[] | undefined;
  readonly scale: ScalePaths | undefined;
  /** The version in which objects are stored. */
  readonly storageVersion: string;
  readonly deprecationWarning: string | undefined;
}

/** One resource at one version, as it is served now. */
export interface Served extends ResourceScope {
  readonly listKind: string;
  readonly apiVersion: string;
  /** First part of the keys of its objects: `pods`, `jobs.batch`. The same for all versions. */
  readonly storage: string;
  readonly custom: CustomKind | undefined;
}

export interface ServedGroup {
  readonly group: string;
  /** In order of preference. */
  readonly versions: readonly { readonly version: string; readonly resources: readonly Served[] }[];
}

/** The key of an object; a prefix of keys where `name` is absent. */
export function keyOf(served: Served, namespace: string, name: string): string {
  return `${served.storage}/${namespace}/${name}`;
}

export function prefixOf(served: Served, namespace: string): string {
  return namespace === '' ? `${served.storage}/` : `${served.storage}/${namespace}/`;
}

export function subresourceOf(served: Served, name: string): SubresourceScope | undefined {
  return served.subresources.find((subresource) => subresource.name === name);
}

export function hasStatus(served: Served): boolean {
  return subresourceOf(served, 'status') !== undefined;
}
