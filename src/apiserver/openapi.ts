import type { JsonObject } from './schema/json.ts';

/** One served kind, as data. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  /** openAPIV3Schema of a CRD's version; absent for built-in kinds. */
  readonly schema?: JsonObject | undefined;
}

/** `/openapi/v3`: group versions and the URLs (with hashes) of their documents. */
export declare function openApiIndex(scope: readonly ServedKind[]): JsonObject;

/** `/openapi/v3/<groupVersion>` (`api/v1`, `apis/apps/v1`); undefined where nothing of it is served. */
export declare function openApiDocument(
  scope: readonly ServedKind[],
  groupVersion: string,
): JsonObject | undefined;
