/** What every object of the API has, and the shapes that many kinds share. */

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
