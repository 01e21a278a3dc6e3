import type { Condition } from '../api/core.ts';
import type { Digest } from '../oci/digest.ts';

/** What one control-plane node last said about one release, from its own verified record. */
export interface ReleaseReport {
  readonly name: string;
  /** Identity: digest of the bundle's signed manifest. */
  readonly bundle?: Digest | undefined;
  /** Digest of the release payload that the signed bundle names. */
  readonly payload?: Digest | undefined;
  /** Whole and verified on the node's disk; undefined: it cannot be told from what is known. */
  readonly held: boolean | undefined;
  /** Verified media on this node carry it. */
  readonly mounted: boolean;
  /** Releases that must be held already where those media carry a delta. */
  readonly deltaSince?: readonly string[] | undefined;
  readonly removing: boolean;
  readonly copy?: CopyReport | undefined;
  /** Why it cannot be had or is not whole; the message names image and digest where one is at fault. */
  readonly problem?: { readonly reason: string; readonly message: string } | undefined;
}

export interface CopyReport {
  readonly state: 'Copying' | 'Verifying' | 'Paused' | 'Failed';
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** Why it is paused or what it waits for. */
  readonly message?: string | undefined;
}

export interface NodeReport {
  readonly name: string;
  /** The Node's Ready condition is True. */
  readonly ready: boolean;
  /** Its registry answers: as the node itself says, and as seen from here. */
  readonly registryReachable: boolean;
  readonly releases: readonly ReleaseReport[];
}

export interface AggregationInput {
  /** Names in spec.releases, in its order. */
  readonly spec: readonly string[];
  /** The object is being deleted: what is not in use goes. */
  readonly deleting?: boolean;
  /** Control-plane nodes only. */
  readonly nodes: readonly NodeReport[];
  /**
   * How clients reach any registry by one name: `host:port`, undefined where the platform has not said it;
   * `reachable` undefined where that is never resolved.
   */
  readonly apiInt: { readonly host: string | undefined; readonly reachable: boolean | undefined };
  /** Why a release is in use, by its name; undefined: it cannot be told. */
  readonly inUse: ReadonlyMap<string, string> | undefined;
  /** For each seen release: what the running version may go to, as the signed document says it. */
  readonly updates?: ReadonlyMap<string, string> | undefined;
  /** What the cluster's own keyrings say of a release; none where nothing is demanded of it. */
  readonly signatures?: ReadonlyMap<string, { readonly good: boolean; readonly message: string }> | undefined;
  readonly previous: ReleaseImageStatus | undefined;
  /** The controller could not do its work. */
  readonly syncError?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface ReleaseStatus {
  readonly name: string;
  readonly image?: string;
  readonly conditions: Condition[];
}

/** `status` of InternalReleaseImage, as its schema has it. */
export interface ReleaseImageStatus {
  readonly conditions: Condition[];
  readonly releases: ReleaseStatus[];
}
