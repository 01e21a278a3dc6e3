import type { Condition, KubeObject, LabelSelector, ObjectMeta } from './object.ts';
import type { PodSpec } from './pod.ts';

export interface PodTemplate {
  metadata?: Partial<ObjectMeta>;
  spec: PodSpec;
}

/** Conditions of Jobs and Deployments: as `Condition`, with less of it required. */
export type LooseCondition = Omit<Condition, 'reason' | 'message' | 'lastTransitionTime'> & {
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  lastProbeTime?: string;
};

export interface Job extends KubeObject {
  spec: {
    template: PodTemplate;
    parallelism?: number;
    completions?: number;
    backoffLimit?: number;
    /** Seconds from status.startTime, time in Pending included. */
    activeDeadlineSeconds?: number;
    ttlSecondsAfterFinished?: number;
    suspend?: boolean;
    selector?: LabelSelector;
    manualSelector?: boolean;
    completionMode?: 'NonIndexed' | 'Indexed';
    podFailurePolicy?: {
      rules: {
        action: 'FailJob' | 'Ignore' | 'Count' | 'FailIndex';
        onExitCodes?: { containerName?: string | null; operator: 'In' | 'NotIn'; values: number[] };
        onPodConditions?: { type: string; status?: string }[];
      }[];
    };
  };
  status?: {
    startTime?: string;
    completionTime?: string;
    active?: number;
    ready?: number;
    succeeded?: number;
    failed?: number;
    terminating?: number;
    conditions?: LooseCondition[];
    uncountedTerminatedPods?: { succeeded?: string[]; failed?: string[] };
  };
}

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplate;
    strategy?: {
      type?: 'Recreate' | 'RollingUpdate';
      rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string };
    };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    progressDeadlineSeconds?: number;
    paused?: boolean;
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    unavailableReplicas?: number;
    conditions?: LooseCondition[];
  };
}

export interface PodDisruptionBudget extends KubeObject {
  spec: {
    selector?: LabelSelector | null;
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  status?: {
    observedGeneration?: number;
    disruptionsAllowed: number;
    currentHealthy: number;
    desiredHealthy: number;
    expectedPods: number;
    disruptedPods?: Record<string, string>;
    conditions?: Condition[];
  };
}
