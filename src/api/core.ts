/**
 * The built-in kinds of Kubernetes, thin: only the fields that Sluice reads or writes. Shapes follow the public
 * API reference of Kubernetes; what is not named here still travels, since objects are never rebuilt from types.
 */

export type * from './policy.ts';
export type * from './workloads.ts';

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  /** Set by the server, as all that follow up to `deletionTimestamp`. */
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** What every object of the API has. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object of a kind that is not known before it is read: a manifest of a payload, say. */
export type AnyObject = KubeObject & Record<string, unknown>;

/** An object as it is sent to be created: the server and the client fill in the rest. */
export type Draft<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion?: string;
  kind?: string;
  metadata: Omit<ObjectMeta, 'name'> & { name?: string };
};

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** `metav1.Condition`. */
export interface Condition {
  type: string;
  status: ConditionStatus;
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** A condition of ClusterVersion and ClusterOperator, where less is required. */
export type OperatorCondition = Omit<Condition, 'reason' | 'message' | 'observedGeneration'> & {
  reason?: string;
  message?: string;
};

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: {
    key: string;
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    values?: string[];
  }[];
}

/** The body of an answer that is no object (`metav1.Status`). */
export interface Status {
  kind: 'Status';
  status?: 'Success' | 'Failure';
  message?: string;
  /** A word for programs: NotFound, AlreadyExists, Conflict, Invalid, Expired, … */
  reason?: string;
  code?: number;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    retryAfterSeconds?: number;
    causes?: { reason?: string; message?: string; field?: string }[];
  };
}

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: 'Active' | 'Terminating'; conditions?: Condition[] };
}

export interface NodeCondition {
  type: string;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface Taint {
  key: string;
  value?: string;
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  timeAdded?: string;
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: Taint[]; providerID?: string; podCIDR?: string };
  status?: {
    addresses?: { type: string; address: string }[];
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    conditions?: NodeCondition[];
    daemonEndpoints?: { kubeletEndpoint?: { Port: number } };
    images?: { names?: string[]; sizeBytes?: number }[];
    nodeInfo?: {
      machineID: string;
      systemUUID: string;
      bootID: string;
      kernelVersion: string;
      osImage: string;
      containerRuntimeVersion: string;
      kubeletVersion: string;
      kubeProxyVersion: string;
      operatingSystem: string;
      architecture: string;
    };
  };
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string; apiVersion?: string };
    configMapKeyRef?: { name: string; key: string; optional?: boolean };
    secretKeyRef?: { name: string; key: string; optional?: boolean };
    resourceFieldRef?: { resource: string; containerName?: string; divisor?: string };
  };
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  subPath?: string;
  readOnly?: boolean;
}

export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
}

export interface Volume {
  name: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  secret?: { secretName: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  hostPath?: { path: string; type?: string };
  downwardAPI?: { items?: { path: string; fieldRef?: { fieldPath: string } }[]; defaultMode?: number };
  projected?: {
    defaultMode?: number;
    sources?: {
      serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number };
      configMap?: { name: string; items?: KeyToPath[]; optional?: boolean };
      secret?: { name: string; items?: KeyToPath[]; optional?: boolean };
      downwardAPI?: { items?: { path: string; fieldRef?: { fieldPath: string } }[] };
    }[];
  };
}

export interface SecurityContext {
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  privileged?: boolean;
  allowPrivilegeEscalation?: boolean;
  readOnlyRootFilesystem?: boolean;
  capabilities?: { add?: string[]; drop?: string[] };
  seccompProfile?: { type: string; localhostProfile?: string };
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  envFrom?: {
    prefix?: string;
    configMapRef?: { name: string; optional?: boolean };
    secretRef?: { name: string; optional?: boolean };
  }[];
  ports?: { name?: string; containerPort: number; hostPort?: number; protocol?: string }[];
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
  volumeMounts?: VolumeMount[];
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  terminationMessagePath?: string;
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  securityContext?: SecurityContext;
  readinessProbe?: Record<string, unknown>;
  livenessProbe?: Record<string, unknown>;
  startupProbe?: Record<string, unknown>;
}

export interface Toleration {
  key?: string;
  operator?: 'Exists' | 'Equal';
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: Record<string, unknown>;
  tolerations?: Toleration[];
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  hostNetwork?: boolean;
  hostPID?: boolean;
  priorityClassName?: string;
  securityContext?: SecurityContext & { fsGroup?: number; supplementalGroups?: number[] };
  imagePullSecrets?: { name: string }[];
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode: number;
    signal?: number;
    reason?: string;
    message?: string;
    startedAt?: string;
    finishedAt?: string;
    containerID?: string;
  };
}

export interface ContainerStatus {
  name: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface PodCondition {
  type: string;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastProbeTime?: string | null;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: {
    phase?: PodPhase;
    reason?: string;
    message?: string;
    hostIP?: string;
    podIP?: string;
    podIPs?: { ip: string }[];
    startTime?: string;
    conditions?: PodCondition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
    qosClass?: string;
    observedGeneration?: number;
  };
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  /** Base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export interface Secret extends KubeObject {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
  /** Plain text, for writing only. */
  stringData?: Record<string, string>;
  immutable?: boolean;
}

export interface ServiceAccount extends KubeObject {
  secrets?: { name: string }[];
  imagePullSecrets?: { name: string }[];
  automountServiceAccountToken?: boolean;
}

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** An Event of the core group. */
export interface Event extends KubeObject {
  involvedObject: ObjectReference;
  type?: 'Normal' | 'Warning';
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
}
