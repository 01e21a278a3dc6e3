import type { KubeObject, LabelSelector } from './object.ts';

export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    /** RFC 3339 with six digits of a second (`metav1.MicroTime`). */
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Role extends KubeObject {
  rules?: PolicyRule[];
}

export interface ClusterRole extends KubeObject {
  rules?: PolicyRule[];
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
}

export interface Subject {
  kind: 'User' | 'Group' | 'ServiceAccount';
  name: string;
  namespace?: string;
  apiGroup?: string;
}

export interface RoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects?: Subject[];
}

export interface ClusterRoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects?: Subject[];
}

/** A structural schema of a CustomResourceDefinition (OpenAPI v3, as Kubernetes restricts it). */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  description?: string;
  format?: string;
  nullable?: boolean;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-validations'?: {
    rule: string;
    message?: string;
    messageExpression?: string;
    reason?: string;
    fieldPath?: string;
    optionalOldSelf?: boolean;
  }[];
}

export interface PrinterColumn {
  name: string;
  type: string;
  jsonPath: string;
  description?: string;
  format?: string;
  /** 0 is always shown, 1 with `-o wide`. */
  priority?: number;
}

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string;
    names: {
      kind: string;
      plural: string;
      singular?: string;
      listKind?: string;
      shortNames?: string[];
      categories?: string[];
    };
    scope: 'Namespaced' | 'Cluster';
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      deprecated?: boolean;
      schema?: { openAPIV3Schema?: Schema };
      subresources?: { status?: Record<string, never>; scale?: Record<string, unknown> };
      additionalPrinterColumns?: PrinterColumn[];
      selectableFields?: { jsonPath: string }[];
    }[];
    preserveUnknownFields?: boolean;
  };
  status?: {
    conditions?: {
      type: string;
      status: string;
      reason?: string;
      message?: string;
      lastTransitionTime?: string;
    }[];
    acceptedNames?: { kind: string; plural: string };
    storedVersions?: string[];
  };
}

export interface RuleWithOperations {
  apiGroups?: string[];
  apiVersions?: string[];
  operations?: ('CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT' | '*')[];
  resources?: string[];
  resourceNames?: string[];
  scope?: 'Cluster' | 'Namespaced' | '*';
}

export interface MatchResources {
  resourceRules?: RuleWithOperations[];
  excludeResourceRules?: RuleWithOperations[];
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  matchPolicy?: 'Exact' | 'Equivalent';
}

export interface ValidatingAdmissionPolicy extends KubeObject {
  spec: {
    paramKind?: { apiVersion: string; kind: string };
    matchConstraints?: MatchResources;
    matchConditions?: { name: string; expression: string }[];
    variables?: { name: string; expression: string }[];
    validations?: { expression: string; message?: string; messageExpression?: string; reason?: string }[];
    auditAnnotations?: { key: string; valueExpression: string }[];
    failurePolicy?: 'Fail' | 'Ignore';
  };
}

export interface ValidatingAdmissionPolicyBinding extends KubeObject {
  spec: {
    policyName: string;
    paramRef?: {
      name?: string;
      namespace?: string;
      selector?: LabelSelector;
      parameterNotFoundAction?: 'Allow' | 'Deny';
    };
    matchResources?: MatchResources;
    validationActions?: ('Deny' | 'Warn' | 'Audit')[];
  };
}
