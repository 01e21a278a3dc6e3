import type { ErrorCode } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import type { FindingResult, Severity } from './finding.ts';
import type { Known } from './known.ts';
import type { SignatureWord } from './release-keys.ts';

/** One entry of ClusterVersion.status.history; newest first in a list. */
export interface HistoryFact {
  readonly state: string;
  readonly version: string;
  readonly image: string;
}

/** The release that is asked for, read from its signed bundle. */
export interface VerifiedTarget {
  readonly verified: true;
  readonly version: string;
  /** The payload's digest. */
  readonly digest: Digest;
  readonly previous: readonly string[];
  /** Version of Kubernetes that it brings, where it says so. */
  readonly kubernetesVersion?: string;
  /** Versions that its own CustomResourceDefinitions know, by the name of the definition. */
  readonly definitions?: ReadonlyMap<string, readonly string[]>;
  /** What tells the set of its checks from every other. */
  readonly checkSet?: string;
  readonly bundle: { readonly name: string; readonly digest: Digest; readonly signedBy: string };
  /** OpenPGP signatures of the release that it carries; undefined where they could not be read. */
  readonly signatures?: readonly Uint8Array[];
}

/** Why there is no verified release; the words of the error that said so. */
export interface UnverifiedTarget {
  readonly verified: false;
  readonly code: ErrorCode;
  readonly message: string;
  readonly next: string;
}

export interface OperatorFact {
  readonly name: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}

export interface NodeFact {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly ready: boolean;
  readonly kubeletVersion: string;
  /** Digests of the bundles that its store holds whole; undefined where it never said so. */
  readonly bundles?: readonly string[];
}

export interface ContentFact {
  /** Whether InternalReleaseImage's spec asks for it. */
  readonly asked: boolean;
  /** The Available condition of the release in InternalReleaseImage; absent where none tells. */
  readonly available?: { readonly status: string; readonly reason: string; readonly message: string };
  /** Nodes that serve the bundle from attached media right now. */
  readonly mountedOn: readonly string[];
  /** Copies of it that its content has ended, by node: no waiting mends those. Absent where there are none. */
  readonly failed?: readonly { readonly node: string; readonly reason: string; readonly message: string }[];
}

/** One row of UpdatePreflight.status.checks that comes from the target release. */
export interface CheckFact {
  readonly name: string;
  readonly component: string;
  readonly result: FindingResult;
  readonly severity: Severity;
  readonly message: string;
  readonly next?: string;
}

export interface PreflightFact {
  readonly object: string;
  readonly verdict: string;
  readonly reason: string;
  readonly message: string;
  readonly targetDigest: string;
  readonly sourceDigest: string;
  /** Which checks it speaks about; undefined where the report does not say. */
  readonly checkSet: string | undefined;
  /** Milliseconds since the epoch; undefined while it runs. */
  readonly finishedAt?: number;
  readonly maxAgeMs: number;
  readonly checks: readonly CheckFact[];
}

export interface GateFacts {
  /** A preflight looks ahead: what may still be done before the update is told, not held against it. */
  readonly purpose: 'update' | 'preflight';
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The release that the cluster runs or is being brought to. */
  readonly source: { readonly version: string; readonly digest: string };
  readonly history: readonly HistoryFact[];
  /** Objects that ClusterVersion.spec.overrides takes out of management. */
  readonly overrides: readonly string[];
  readonly target: VerifiedTarget | UnverifiedTarget;
  /** What the cluster's release keys say of it; undefined where nothing is demanded. */
  readonly openpgp: Known<SignatureWord | undefined>;
  readonly content: Known<ContentFact>;
  readonly operators: Known<readonly OperatorFact[]>;
  readonly nodes: Known<readonly NodeFact[]>;
  readonly adminGates: Known<Readonly<Record<string, string>>>;
  readonly adminAcks: Known<Readonly<Record<string, string>>>;
  readonly cluster: ClusterFacts;
  /** The report for this very target; undefined while there is none. Not looked at for a preflight. */
  readonly preflight: Known<PreflightFact | undefined>;
}
