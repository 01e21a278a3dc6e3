import type { Known } from './known.ts';

/**
 * What is wrong or may go wrong in a cluster whatever its release: read in one go, each fact for itself. A fact about
 * a kind that the cluster does not have is undefined: there is nothing to look at.
 */
export interface ClusterFacts {
  readonly disruptionBudgets: Known<readonly BudgetFact[]> | undefined;
  readonly storage: Known<readonly StorageFact[]>;
  readonly deprecatedUse: Known<readonly DeprecatedUse[]> | undefined;
  readonly definitions: Known<readonly DefinitionFact[]>;
  readonly certificates: Known<readonly CertificateFact[]> | undefined;
  readonly clocks: Known<readonly ClockFact[]> | undefined;
  readonly pools: Known<readonly PoolFact[]> | undefined;
  readonly signingRequests: Known<readonly SigningRequestFact[]> | undefined;
  readonly webhooks: Known<readonly WebhookFact[]> | undefined;
  /** What of etcd is not well. */
  readonly etcdTroubles: Known<readonly string[]> | undefined;
  readonly etcdBackup: Known<BackupFact> | undefined;
  readonly olm: Known<readonly InstalledOperator[]> | undefined;
}

export interface BudgetFact {
  readonly namespace: string;
  readonly name: string;
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly expectedPods: number;
}

/** Space of one control-plane node. */
export interface StorageFact {
  readonly node: string;
  readonly diskPressure: boolean;
  /** Why its copy of the release stands still for want of space, in the node's own words. */
  readonly full?: string;
}

/** A use of an API that some release of Kubernetes serves no more. */
export interface DeprecatedUse {
  /** `resource.version.group`. */
  readonly api: string;
  /** Version of Kubernetes that serves it no more, such as `1.32`. */
  readonly removedIn: string;
  /** Who used it last, where that is known. */
  readonly users: readonly string[];
}

/** A CustomResourceDefinition as the cluster has it. */
export interface DefinitionFact {
  readonly name: string;
  /** Versions in which objects are stored. */
  readonly stored: readonly string[];
}

export interface CertificateFact {
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since the epoch; undefined where the certificate cannot be read. */
  readonly notAfter: number | undefined;
  /** Whether the update itself is served with it. */
  readonly vital: boolean;
}

export interface ClockFact {
  readonly node: string;
  /** Milliseconds by which the node's own time is ahead of ours (below 0: behind); undefined where nothing tells. */
  readonly aheadMs: number | undefined;
}

export interface PoolFact {
  readonly name: string;
  /** By whom: a person, or a closed window of ours that opens again. */
  readonly paused?: 'person' | 'window';
  /** Why it needs a person. */
  readonly degraded?: string;
}

export interface SigningRequestFact {
  readonly name: string;
  readonly signer: string;
  readonly createdAt: number;
  readonly pending: boolean;
}

export interface WebhookFact {
  readonly configuration: string;
  readonly webhook: string;
  /** `namespace/name` of the service that answers. */
  readonly service: string;
  /** Whether requests are refused where nobody answers. */
  readonly fails: boolean;
  /** Whether it stands before Pods or Nodes, which an update must be able to change. */
  readonly vital: boolean;
  /** Why nobody answers; undefined where somebody does. */
  readonly dead?: string;
}

export interface BackupFact {
  readonly name: string;
  /** When the last one ended well, in milliseconds since the epoch; undefined where none ever did. */
  readonly at: number | undefined;
}

export interface InstalledOperator {
  readonly namespace: string;
  readonly name: string;
  /** Values of its properties `olm.maxOpenShiftVersion`, as they stand there. */
  readonly maxOpenShiftVersions: readonly unknown[];
}
