import type { JsonObject } from '../schema/json.ts';

/** Who asks. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What is asked: a resource, or a path that is none. */
export type Attributes =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string | undefined;
      readonly namespace?: string | undefined;
      readonly name?: string | undefined;
    }
  | { readonly verb: string; readonly path: string };

export interface Decision {
  readonly allowed: boolean;
  /** Why (allowed: the rule that grants; denied: kube-apiserver's message without the `… is forbidden: ` before it). */
  readonly reason: string;
}

/** The RBAC objects as they stand; asked for again after `changed()`. */
export interface RbacSource {
  roles(): readonly JsonObject[];
  clusterRoles(): readonly JsonObject[];
  roleBindings(): readonly JsonObject[];
  clusterRoleBindings(): readonly JsonObject[];
}

export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision;
  /** To be called when an RBAC object was written or deleted. */
  changed(): void;
}

export declare function createAuthorizer(source: RbacSource): Authorizer;
