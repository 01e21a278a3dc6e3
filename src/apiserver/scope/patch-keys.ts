/**
 * How lists of the built-in kinds are merged by a strategic merge patch, as data: the `patchMergeKey` and
 * `patchStrategy` of the Go types (kubernetes, staging/src/k8s.io/api). A list that is not named here is replaced.
 */

export interface FieldRule {
  /** The rules of what stands in the field: of the object, or of each member of the list. */
  readonly type?: string;
  /** The field by which members of a list are known; `set` for a list of plain values that is merged. */
  readonly key?: string;
  /** Members of the object that the patch does not name under `$retainKeys` are dropped. */
  readonly retainKeys?: boolean;
}

export type TypeRules = Readonly<Record<string, FieldRule>>;

export const setMember = 'set';

/** Every kind has these. */
const metadata: TypeRules = {
  ownerReferences: { key: 'uid' },
  finalizers: { key: setMember },
};

const conditions: FieldRule = { key: 'type' };
const template: FieldRule = { type: 'PodTemplateSpec' };

export const typeRules: Readonly<Record<string, TypeRules>> = {
  ObjectMeta: metadata,
  PodTemplateSpec: { metadata: { type: 'ObjectMeta' }, spec: { type: 'PodSpec' } },
  PodSpec: {
    volumes: { key: 'name', retainKeys: true },
    initContainers: { key: 'name', type: 'Container' },
    containers: { key: 'name', type: 'Container' },
    ephemeralContainers: { key: 'name', type: 'Container' },
    imagePullSecrets: { key: 'name' },
    hostAliases: { key: 'ip' },
    topologySpreadConstraints: { key: 'topologyKey' },
    schedulingGates: { key: 'name' },
    resourceClaims: { key: 'name', retainKeys: true },
  },
  Container: {
    ports: { key: 'containerPort' },
    env: { key: 'name' },
    volumeMounts: { key: 'mountPath' },
    volumeDevices: { key: 'devicePath' },
  },
  PodStatus: { conditions, podIPs: { key: 'ip' } },
  NodeSpec: { podCIDRs: { key: setMember } },
  NodeStatus: { conditions, addresses: { key: 'type' } },
  ConditionStatus: { conditions },
  ServiceSpec: { ports: { key: 'port' } },
  DeploymentSpec: { template, strategy: { retainKeys: true } },
  StatefulSetSpec: { template },
  DaemonSetSpec: { template },
  JobSpec: { template },
  JobTemplateSpec: { metadata: { type: 'ObjectMeta' }, spec: { type: 'JobSpec' } },
  CronJobSpec: { jobTemplate: { type: 'JobTemplateSpec' } },
  PolicySpec: { matchConditions: { key: 'name' }, variables: { key: 'name' } },
  Webhook: { matchConditions: { key: 'name' } },
};

/** The rules of the top of each kind, by `kind`; what is missing has those of its metadata alone. */
const kindRules: Readonly<Record<string, TypeRules>> = {
  Namespace: { status: { type: 'ConditionStatus' } },
  Node: { spec: { type: 'NodeSpec' }, status: { type: 'NodeStatus' } },
  Pod: { spec: { type: 'PodSpec' }, status: { type: 'PodStatus' } },
  ServiceAccount: { secrets: { key: 'name' } },
  Service: { spec: { type: 'ServiceSpec' }, status: { type: 'ConditionStatus' } },
  Deployment: { spec: { type: 'DeploymentSpec' }, status: { type: 'ConditionStatus' } },
  StatefulSet: { spec: { type: 'StatefulSetSpec' }, status: { type: 'ConditionStatus' } },
  DaemonSet: { spec: { type: 'DaemonSetSpec' }, status: { type: 'ConditionStatus' } },
  Job: { spec: { type: 'JobSpec' }, status: { type: 'ConditionStatus' } },
  CronJob: { spec: { type: 'CronJobSpec' } },
  PodDisruptionBudget: { status: { type: 'ConditionStatus' } },
  ValidatingAdmissionPolicy: { spec: { type: 'PolicySpec' } },
  ValidatingWebhookConfiguration: { webhooks: { key: 'name', type: 'Webhook' } },
  MutatingWebhookConfiguration: { webhooks: { key: 'name', type: 'Webhook' } },
};

/** The rules of a kind's top level. */
export function rulesOfKind(kind: string): TypeRules {
  return { metadata: { type: 'ObjectMeta' }, ...kindRules[kind] };
}
