import type { JsonObject } from '../schema/json.ts';
import type { Attributes, Decision, UserInfo } from './rbac.ts';

/** One write as admission sees it. `group`/`version`/`resource` are those of the request's URL. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Where the object is of another group than its resource, as the Scale of a Deployment. */
  readonly kindGroup?: string;
  readonly kindVersion?: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** After the write; null for DELETE. */
  readonly object: JsonObject | null;
  /** Before the write; null for CREATE. */
  readonly oldObject: JsonObject | null;
  readonly options?: JsonObject | undefined;
}

/** What policies are judged with; read at every request, so that a change acts at once. */
export interface AdmissionSource {
  policies(): readonly JsonObject[];
  bindings(): readonly JsonObject[];
  namespace(name: string): JsonObject | undefined;
  /** Objects of a params kind in a namespace ('' for cluster-scoped or all); undefined where the kind is not served. */
  params(apiVersion: string, kind: string, namespace: string): readonly JsonObject[] | undefined;
  /** Whether the params kind is namespaced; undefined where it is not served. */
  paramsNamespaced(apiVersion: string, kind: string): boolean | undefined;
  authorize(user: UserInfo, attributes: Attributes): Decision;
}
