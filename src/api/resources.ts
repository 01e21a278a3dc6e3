// Generated from crds/*.yaml by src/api/generate.ts (npm run generate). Do not edit.

import type { Condition, KubeObject, OperatorCondition } from './core.ts';

/**
 * How one component of the cluster fares, told by the operator that runs it. An update waits until every
 * operator of the payload is Available, not Degraded, and reports the new version.
 */
export interface ClusterOperator extends KubeObject {
  /** Empty; operators are configured elsewhere. */
  spec: Record<string, unknown>;
  /** What the operator reports. */
  status?: ClusterOperatorStatus;
}

/** What the operator reports. */
export interface ClusterOperatorStatus {
  /**
   * Available: it does its work. Progressing: it brings a change about. Degraded: something lasting is wrong.
   * Upgradeable: False forbids the next minor version; absent allows it.
   */
  conditions?: OperatorCondition[];
  /**
   * Versions by name. 'operator' is the operator's own, and it moves only when everything that the operator
   * runs has moved.
   */
  versions?: ClusterOperatorStatusVersion[];
  /** What to look at, and to gather, when the component is in trouble. */
  relatedObjects?: ClusterOperatorStatusRelatedObject[];
  /** Whatever else the operator wants to tell. */
  extension?: Record<string, unknown> | null;
}

/** One version. */
export interface ClusterOperatorStatusVersion {
  /** What has this version, 'operator' or something that it runs. */
  name: string;
  /** The version that is in use, not the one that is on its way. */
  version: string;
}

/** One object, or all of a kind. */
export interface ClusterOperatorStatusRelatedObject {
  /** The API group; empty for the core group. */
  group: string;
  /** The plural name of the kind. */
  resource: string;
  /** The namespace, where there is one. */
  namespace?: string;
  /** The name; empty for all. */
  name: string;
}

/**
 * The version of the cluster: the one it has, the one it should have, and how far it is between them. There
 * is one, named 'version'. Set spec.desiredUpdate to ask for an update; status tells the rest.
 */
export interface ClusterVersion extends KubeObject {
  /** What people ask for. */
  spec: ClusterVersionSpec;
  /** How the cluster stands, written by what applies the update. */
  status?: ClusterVersionStatus;
}

/** What people ask for. */
export interface ClusterVersionSpec {
  /** What tells this cluster from every other, a version 4 UUID. It never changes. */
  clusterID: string;
  /**
   * The release that the cluster should go to. Give the version, the image, or both: with both, the image
   * must hold that version. A version is looked up among the bundles at hand (or among availableUpdates) and
   * must name exactly one. The update starts once every gate is open; condition ReleaseAccepted says what is
   * still in its way. Setting it back to the version that the cluster came from tries a rollback: within one
   * minor version it is let through, else the risk ClusterVersionRollback must be accepted. It may fail.
   */
  desiredUpdate?: ClusterVersionSpecDesiredUpdate;
  /** The channel of the update graph to follow, such as stable-4.19. */
  channel?: string;
  /** The URL of the update service to ask instead of the default one. */
  upstream?: string;
  /** Which optional components the cluster has. */
  capabilities?: ClusterVersionSpecCapabilities;
  /**
   * Objects of the payload that the update leaves alone. A cluster with an override set is warned before it
   * goes to another minor version.
   */
  overrides?: ClusterVersionSpecOverride[];
}

/**
 * The release that the cluster should go to. Give the version, the image, or both: with both, the image must
 * hold that version. A version is looked up among the bundles at hand (or among availableUpdates) and must
 * name exactly one. The update starts once every gate is open; condition ReleaseAccepted says what is still
 * in its way. Setting it back to the version that the cluster came from tries a rollback: within one minor
 * version it is let through, else the risk ClusterVersionRollback must be accepted. It may fail.
 */
export interface ClusterVersionSpecDesiredUpdate {
  /** The version to go to, such as 4.19.3. */
  version?: string;
  /** The payload image of the release, by digest. For a release that is not in availableUpdates. */
  image?: string;
  /** Multi takes a cluster of one architecture to the payload for several. Needs version, excludes image. */
  architecture?: 'Multi' | '';
  /**
   * Goes through findings that would block: use it only where you know better than the checks. What was
   * passed over is written into the history. It never passes over the integrity of content: unsigned or
   * damaged content stays refused.
   */
  force?: boolean;
  /**
   * Names of risks that are accepted, for this update and later ones. Served by clusters with the feature
   * gate ClusterUpdateAcceptRisks.
   */
  acceptRisks?: ClusterVersionSpecDesiredUpdateAcceptRisk[];
  /**
   * Preflight only looks: the checks of the release run, the report says what would happen, and no update
   * starts. Served by clusters with the feature gate ClusterUpdatePreflight.
   */
  mode?: 'Preflight';
}

/** One accepted risk. */
export interface ClusterVersionSpecDesiredUpdateAcceptRisk {
  /** The name of the risk, as the findings print it. */
  name: string;
}

/** Which optional components the cluster has. */
export interface ClusterVersionSpecCapabilities {
  /** The set of components to begin from. Absent means the default, vCurrent. */
  baselineCapabilitySet?: 'None' | 'v4.11' | 'v4.12' | 'v4.13' | 'v4.14' | 'v4.15' | 'v4.16' | 'v4.17' | 'v4.18' | 'vCurrent';
  /** Components beyond the baseline. */
  additionalEnabledCapabilities?: ('openshift-samples' | 'baremetal' | 'marketplace' | 'Console' | 'Insights' | 'Storage' | 'CSISnapshot' | 'NodeTuning' | 'MachineAPI' | 'Build' | 'DeploymentConfig' | 'ImageRegistry' | 'OperatorLifecycleManager' | 'CloudCredential' | 'Ingress' | 'CloudControllerManager' | 'OperatorLifecycleManagerV1')[];
}

/** One object that is left alone. */
export interface ClusterVersionSpecOverride {
  /** The API group of its kind; empty for the core group. */
  group: string;
  /** Its kind. */
  kind: string;
  /** Its namespace; empty where the kind has none. */
  namespace: string;
  /** Its name. */
  name: string;
  /** True leaves the object alone; false is as if the entry were absent. */
  unmanaged: boolean;
}

/** How the cluster stands, written by what applies the update. */
export interface ClusterVersionStatus {
  /** A release. In desired, the one that the cluster goes towards or has reached. */
  desired: ClusterVersionStatusDesired;
  /** Releases that were applied, newest first. Long histories are thinned out. */
  history?: ClusterVersionStatusHistory[];
  /** The generation of spec that status speaks about. */
  observedGeneration: number;
  /** A fingerprint of the content that is being applied. */
  versionHash: string;
  /** Optional components, as they are. */
  capabilities?: ClusterVersionStatusCapabilities;
  /**
   * What holds of the cluster now. ReleaseAccepted: the desired release passed the gates. Progressing: it is
   * being applied. Available: one was applied to its end. Failing: applying meets errors. Upgradeable: False
   * while something forbids the next minor version. Invalid: spec cannot be used. They speak about the
   * current spec when observedGeneration equals metadata.generation.
   */
  conditions?: OperatorCondition[];
  /** Releases that the cluster can go to and that nothing speaks against, newest first. */
  availableUpdates: ClusterVersionStatusDesired[] | null;
  /** Releases that the cluster could go to, with the known risks of doing so. */
  conditionalUpdates?: ClusterVersionStatusConditionalUpdate[];
  /**
   * All risks of all conditionalUpdates, once each. Served by clusters with the feature gate
   * ClusterUpdateAcceptRisks.
   */
  conditionalUpdateRisks?: ClusterVersionStatusConditionalUpdateRisk[];
}

/** A release. In desired, the one that the cluster goes towards or has reached. */
export interface ClusterVersionStatusDesired {
  /** Its version. */
  version: string;
  /** Its payload image, by digest. */
  image: string;
  /** Multi for a payload for several architectures. */
  architecture?: 'Multi' | '';
  /** The channels of the update graph that it is in. */
  channels?: string[];
  /** Where people read about it. */
  url?: string;
}

/** One release, and how its application went. */
export interface ClusterVersionStatusHistory {
  /**
   * Completed where the release was applied to its end, on every node; Partial while it is under way, or
   * where another one was begun before it was done.
   */
  state: string;
  /** Its version; empty where it was never found out. */
  version?: string;
  /** Its payload image. */
  image: string;
  /** When its application began. */
  startedTime: string;
  /** When it ended; null while it is under way. */
  completionTime: string | null;
  /** Whether its signature was verified before it was applied. */
  verified: boolean;
  /** What was forced or accepted to let it through, in words. */
  acceptedRisks?: string;
}

/** Optional components, as they are. */
export interface ClusterVersionStatusCapabilities {
  /** Those that the cluster has. */
  enabledCapabilities?: ('openshift-samples' | 'baremetal' | 'marketplace' | 'Console' | 'Insights' | 'Storage' | 'CSISnapshot' | 'NodeTuning' | 'MachineAPI' | 'Build' | 'DeploymentConfig' | 'ImageRegistry' | 'OperatorLifecycleManager' | 'CloudCredential' | 'Ingress' | 'CloudControllerManager' | 'OperatorLifecycleManagerV1')[];
  /** Those that the release knows. */
  knownCapabilities?: ('openshift-samples' | 'baremetal' | 'marketplace' | 'Console' | 'Insights' | 'Storage' | 'CSISnapshot' | 'NodeTuning' | 'MachineAPI' | 'Build' | 'DeploymentConfig' | 'ImageRegistry' | 'OperatorLifecycleManager' | 'CloudCredential' | 'Ingress' | 'CloudControllerManager' | 'OperatorLifecycleManagerV1')[];
}

/** One release with its risks. */
export interface ClusterVersionStatusConditionalUpdate {
  /** A release. In desired, the one that the cluster goes towards or has reached. */
  release: ClusterVersionStatusDesired;
  /** What speaks against it. */
  risks: ClusterVersionStatusConditionalUpdateRisk[];
  /**
   * Names of the risks, told in conditionalUpdateRisks. Served by clusters with the feature gate
   * ClusterUpdateAcceptRisks.
   */
  riskNames?: string[];
  /** Recommended, whether the cluster should go there. */
  conditions?: Condition[];
}

/** One known risk. */
export interface ClusterVersionStatusConditionalUpdateRisk {
  /** Its name, in CamelCase; what acceptRisks names. */
  name: string;
  /** What may happen, for people. */
  message: string;
  /** Where people read about it. */
  url: string;
  /** How to tell whether it concerns a cluster; the first rule that can be evaluated decides. */
  matchingRules: ClusterVersionStatusConditionalUpdateRiskMatchingRule[];
  /**
   * Applies, whether it concerns this cluster. Served by clusters with the feature gate
   * ClusterUpdateAcceptRisks.
   */
  conditions?: Condition[];
}

/** One rule. */
export interface ClusterVersionStatusConditionalUpdateRiskMatchingRule {
  /** Always concerns every cluster; PromQL asks its metrics. */
  type: 'Always' | 'PromQL';
  /** The question to the metrics. */
  promql?: ClusterVersionStatusConditionalUpdateRiskMatchingRulePromql;
}

/** The question to the metrics. */
export interface ClusterVersionStatusConditionalUpdateRiskMatchingRulePromql {
  /** A query that answers 1 where the risk concerns the cluster and 0 where not. */
  promql: string;
}

/**
 * A group of nodes of which only a few may be away at once. A node that wants to reboot asks for a slot
 * (FleetLock protocol); the server drains it first, and takes the slot back when the node has returned.
 */
export interface FleetLockGroup extends KubeObject {
  /** The rule of the group. */
  spec: FleetLockGroupSpec;
  /** Who is away. */
  status?: FleetLockGroupStatus;
}

/** The rule of the group. */
export interface FleetLockGroupSpec {
  /** How many nodes may be away at once; 0 lets none go. */
  slots?: number;
  /** How long a node that has returned must have been Ready before its slot goes to the next one. */
  minReadySeconds?: number;
  /**
   * After how long a node that has not returned stops the whole group, free slots included, so that a bad
   * update does not walk from node to node.
   */
  overdueSeconds?: number;
  /**
   * Whether a node may go only when its Pods have been moved away (Required), also when they have not after a
   * while (BestEffort), or without a drain (None). What is not moved is stopped with the node.
   */
  drain?: 'Required' | 'BestEffort' | 'None';
  /** With BestEffort, how long the Pods of a node have for moving away. */
  drainTimeoutSeconds?: number;
}

/** Who is away. */
export interface FleetLockGroupStatus {
  /** The nodes that hold a slot. */
  holders?: FleetLockGroupStatusHolder[];
}

/** One node. */
export interface FleetLockGroupStatusHolder {
  /** What the node calls itself in the FleetLock protocol. */
  id: string;
  /** The Node that it is, where it could be found. */
  node?: string;
  /** Since when it holds the slot. */
  since: string;
  /**
   * Reserved: the slot is taken. Draining: its Pods are being moved away. Granted: it may reboot. Soaking: it
   * has returned and must stay Ready for a while.
   */
  state: 'Reserved' | 'Draining' | 'Granted' | 'Soaking';
  /** When it last asked. */
  lastSeen?: string;
  /** The boot in which it asked, where it tells. */
  bootID?: string;
  /** From where it asked. */
  address?: string;
  /** What the drain waits for. */
  message?: string;
}

/**
 * Where images that are pulled by digest may come from instead of the registry that their name gives. Images
 * that are pulled by tag are not concerned.
 */
export interface ImageDigestMirrorSet extends KubeObject {
  /** The mirrors. */
  spec: ImageDigestMirrorSetSpec;
  /** Empty; reserved by the platform. */
  status?: Record<string, unknown>;
}

/** The mirrors. */
export interface ImageDigestMirrorSetSpec {
  /** Repositories and their mirrors. The longest source that fits an image decides. */
  imageDigestMirrors?: ImageDigestMirrorSetSpecImageDigestMirror[];
}

/** One repository, or all below a prefix, and its mirrors. */
export interface ImageDigestMirrorSetSpecImageDigestMirror {
  /**
   * What image names begin with: a registry, a registry with a path, or *.example.org for all registries of a
   * domain.
   */
  source: string;
  /** What to ask instead, in this order. */
  mirrors?: string[];
  /**
   * Whether source itself may be asked after all mirrors have failed. Absent allows it; in a disconnected
   * cluster, NeverContactSource saves the wait.
   */
  mirrorSourcePolicy?: 'NeverContactSource' | 'AllowContactingSource';
}

/**
 * The releases whose content the control-plane nodes keep on their own disks and serve to the cluster. There
 * is one object, named 'cluster'. Add the name of a bundle to spec.releases to have it copied from attached
 * media to every node; take it away to free the space.
 */
export interface InternalReleaseImage extends KubeObject {
  /** What people ask for. */
  spec: InternalReleaseImageSpec;
  /** How the content stands, on all nodes together. */
  status?: InternalReleaseImageStatus;
}

/** What people ask for. */
export interface InternalReleaseImageSpec {
  /** The bundles that the nodes should keep. */
  releases: InternalReleaseImageSpecRelease[];
}

/** One bundle. */
export interface InternalReleaseImageSpecRelease {
  /**
   * The name of the bundle, ocp-release-bundle-<version>-<arch>, at most 64 characters, such as
   * ocp-release-bundle-4.19.3-x86_64.
   */
  name: string;
}

/** How the content stands, on all nodes together. */
export interface InternalReleaseImageStatus {
  /** Degraded, whether something is wrong, with the nodes in its message. */
  conditions?: Condition[];
  /** Every release that some node keeps or has on attached media, asked for or not. */
  releases: InternalReleaseImageStatusRelease[];
}

/** One release. */
export interface InternalReleaseImageStatusRelease {
  /**
   * The name of the bundle, ocp-release-bundle-<version>-<arch>, at most 64 characters, such as
   * ocp-release-bundle-4.19.3-x86_64.
   */
  name: string;
  /**
   * The payload image by digest, under the name by which the cluster reaches its own registries. The last one
   * that was known stays through an outage.
   */
  image?: string;
  /**
   * Mounted: media with the release are attached to some node. Installing: it is being copied; the message
   * tells how far. Available: it is whole on every control-plane node, and the media can be taken away.
   * Removing: it is being deleted. Degraded: something is wrong with it somewhere.
   */
  conditions?: Condition[];
}

/**
 * How one node stands: which configuration and OS image it has and should have, and which releases it keeps
 * on its disk. It has the name of its node.
 */
export interface MachineConfigNode extends KubeObject {
  /** What the node should have. */
  spec: MachineConfigNodeSpec;
  /** What the node has, told by its agent. */
  status?: MachineConfigNodeStatus;
}

/** What the node should have. */
export interface MachineConfigNodeSpec {
  /** The node. */
  node: MachineConfigNodeSpecNode;
  /** The pool that the node is in. */
  pool: MachineConfigNodeSpecPool;
  /** The configuration of the node. */
  configVersion: MachineConfigNodeSpecConfigVersion;
  /** The OS image of the node. Served by clusters with the feature gate ImageModeStatusReporting. */
  configImage?: MachineConfigNodeSpecConfigImage;
}

/** The node. */
export interface MachineConfigNodeSpecNode {
  /** Its name. */
  name: string;
}

/** The pool that the node is in. */
export interface MachineConfigNodeSpecPool {
  /** Its name. */
  name: string;
}

/** The configuration of the node. */
export interface MachineConfigNodeSpecConfigVersion {
  /** Its name. */
  desired: string;
}

/** The OS image of the node. Served by clusters with the feature gate ImageModeStatusReporting. */
export interface MachineConfigNodeSpecConfigImage {
  /** An image by digest, host[:port][/namespace]/name@sha256:<digest>. */
  desiredImage: string;
}

/** What the node has, told by its agent. */
export interface MachineConfigNodeStatus {
  /** The generation of spec that status speaks about. */
  observedGeneration?: number;
  /** The configuration of the node. */
  configVersion?: MachineConfigNodeStatusConfigVersion;
  /** The OS image of the node. Served by clusters with the feature gate ImageModeStatusReporting. */
  configImage?: MachineConfigNodeStatusConfigImage;
  /**
   * Updated and the steps towards it, and InternalReleaseImageDegraded: something is wrong with the release
   * content on this node.
   */
  conditions?: Condition[];
  /** The releases on this node. */
  internalReleaseImage?: MachineConfigNodeStatusInternalReleaseImage;
}

/** The configuration of the node. */
export interface MachineConfigNodeStatusConfigVersion {
  /** Its name. */
  current?: string;
  /** Its name. */
  desired: string;
}

/** The OS image of the node. Served by clusters with the feature gate ImageModeStatusReporting. */
export interface MachineConfigNodeStatusConfigImage {
  /** An image by digest, host[:port][/namespace]/name@sha256:<digest>. */
  currentImage?: string;
  /** An image by digest, host[:port][/namespace]/name@sha256:<digest>. */
  desiredImage?: string;
}

/** The releases on this node. */
export interface MachineConfigNodeStatusInternalReleaseImage {
  /** Those that it keeps on its disk or has on attached media. */
  releases: MachineConfigNodeStatusInternalReleaseImageRelease[];
}

/** One release. */
export interface MachineConfigNodeStatusInternalReleaseImageRelease {
  /** The name of the bundle, ocp-release-bundle-<version>-<arch>. */
  name: string;
  /** The payload image by digest, as this node serves it to itself. */
  image?: string;
  /**
   * Mounted, Installing, Available, Removing and Degraded, as in InternalReleaseImage, of this node alone.
   */
  conditions?: Condition[];
}

/**
 * The update of one node: the OS image that it should boot, when it may reboot, and what holds it. It has the
 * name of its node, and the agent on the node writes status.
 */
export interface NodeUpdate extends KubeObject {
  /** What the node should do. */
  spec: NodeUpdateSpec;
  /** How the node stands. */
  status?: NodeUpdateStatus;
}

/** What the node should do. */
export interface NodeUpdateSpec {
  /**
   * The OS image that the node should boot, by digest. Set by the rollout; the node stages it and then waits
   * until it may reboot.
   */
  osImage?: string;
  /** Lets the node reboot now, whatever its calendar says. Users and locks still hold it. */
  window?: NodeUpdateSpecWindow;
}

/** Lets the node reboot now, whatever its calendar says. Users and locks still hold it. */
export interface NodeUpdateSpecWindow {
  /** Until when. */
  notAfter: string;
  /** Whether the first reboot closes the window. */
  once?: boolean;
  /** The OS version that it is meant for; absent means any. */
  release?: string;
}

/** How the node stands. */
export interface NodeUpdateStatus {
  /** The generation of spec that the node has seen. */
  observedGeneration?: number;
  /** The version of Sluice on the node. */
  agent?: string;
  /** What stages and boots the OS, such as rpm-ostree, bootc or simulated. */
  driver?: string;
  /** The boot that runs (/proc/sys/kernel/random/boot_id). */
  bootID?: string;
  /**
   * Where the node stands: Idle (nothing to do), Staging (the OS is brought to its disk), Held (staged, and
   * something of holds forbids the reboot), WaitingForSlot (only the fleet lock holds it), Finalizing (it
   * reboots into what is staged).
   */
  state?: string;
  /** What the node does or waits for, in one sentence. */
  message?: string;
  /** The OS that runs. */
  booted?: NodeUpdateStatusBooted;
  /** The OS that the next reboot boots; absent while nothing is staged. */
  staged?: NodeUpdateStatusStaged;
  /** The strategies that must all allow a reboot, such as marker_file and fleet_lock. */
  strategies?: string[];
  /**
   * The end of the window of spec that is closed on the node before it: used up by the reboot that it was
   * for, or closed on the node itself.
   */
  closedWindow?: string;
  /** The weekly windows of the strategy periodic; absent where it is not in force. */
  calendar?: NodeUpdateStatusCalendar;
  /** Everything that holds the reboot now, what would hold it longest first. */
  holds?: NodeUpdateStatusHold[];
  /** When the node could reboot at the earliest; absent where nobody can tell. */
  nextPossible?: string;
  /**
   * Which generation of the registries' credentials this node accepts: a fingerprint, from which nothing of
   * them can be told.
   */
  registryCredentials?: string;
  /** Media that are attached to the node. */
  media?: NodeUpdateStatusMedia[];
  /** Releases that are being copied to the disk of the node. */
  copies?: NodeUpdateStatusCopy[];
  /** Releases that the node keeps whole on its disk. */
  store?: NodeUpdateStatusStore[];
  /**
   * Updated: the node runs what it should. Held: it wants to reboot and may not. Degraded: something needs a
   * person.
   */
  conditions?: Condition[];
}

/** The OS that runs. */
export interface NodeUpdateStatusBooted {
  /** Its image, by digest. */
  image?: string;
  /** Its version. */
  version?: string;
}

/** The OS that the next reboot boots; absent while nothing is staged. */
export interface NodeUpdateStatusStaged {
  /** Its image, by digest. */
  image?: string;
  /** Its version. */
  version?: string;
}

/** The weekly windows of the strategy periodic; absent where it is not in force. */
export interface NodeUpdateStatusCalendar {
  /** The IANA name of the zone that the windows are written in, such as Europe/Berlin. */
  timeZone: string;
  /** When the node may reboot, every week. */
  windows: NodeUpdateStatusCalendarWindow[];
}

/** One window. */
export interface NodeUpdateStatusCalendarWindow {
  /** The day on which it opens. */
  day: 'Mon' | 'Tue' | 'Wed' | 'Thu' | 'Fri' | 'Sat' | 'Sun';
  /** When it opens, by the wall clock of the zone, such as 22:30. */
  start: string;
  /** How long it stays open. */
  minutes: number;
}

/** One thing. */
export interface NodeUpdateStatusHold {
  /** Which rule, such as strategy, window, inhibitor, users, lock. */
  gate: string;
  /** One word for why. */
  reason: string;
  /** Why, and what would end it. */
  message: string;
  /** Since when it holds. */
  since: string;
}

/** One bundle on one of them. */
export interface NodeUpdateStatusMedia {
  /** The name of the bundle. */
  name: string;
  /** The digest of its signed manifest, which is its identity. */
  bundleDigest?: string;
  /** The version of the release in it. */
  version?: string;
  /** The digest of the payload of the release. */
  payload?: string;
  /** Where the media were found on the node. */
  path?: string;
  /** What they are, such as directory, iso. */
  format?: string;
  /** Whether a trusted key signed the bundle. Nothing is served or copied from it before. */
  verified?: boolean;
  /** Present where the media leave out what earlier releases have. */
  delta?: NodeUpdateStatusMediaDelta;
  /** One word for why it is not verified. */
  reason?: string;
  /** Why, in words. */
  message?: string;
}

/** Present where the media leave out what earlier releases have. */
export interface NodeUpdateStatusMediaDelta {
  /** The releases that hold what is left out. */
  since: NodeUpdateStatusMediaDeltaSince[];
  /** Bytes that are left out. */
  bytes: number;
  /** Of these, bytes that this node does not have. 0 where the delta is usable here. */
  missingBytes: number;
}

/** One of them. */
export interface NodeUpdateStatusMediaDeltaSince {
  /** The name of the bundle. */
  name: string;
  /** Its identity. */
  bundleDigest: string;
}

/** One release. */
export interface NodeUpdateStatusCopy {
  /** The name of the bundle. */
  release: string;
  /** Its identity. */
  bundleDigest?: string;
  /** How the copy goes, such as Copying, Paused, Done, Failed. */
  state?: string;
  /** One word for why it does not move. */
  reason?: string;
  /** Why, in words. */
  message?: string;
  /** Bytes that are on the disk and verified. */
  bytesDone?: number;
  /** Bytes that the release needs. */
  bytesTotal?: number;
  /** Bytes a second, over the last while. */
  rate?: number;
  /** Seconds until it is done, at the rate of the last while. */
  secondsLeft?: number;
  /** Images that are whole. */
  imagesDone?: number;
  /** Images that the release has. */
  imagesTotal?: number;
}

/** One release. */
export interface NodeUpdateStatusStore {
  /** The name of the bundle. */
  name: string;
  /** Its identity. */
  bundleDigest: string;
  /** The version of the release in it. */
  version?: string;
  /** The digest of the payload of the release. */
  payload?: string;
  /** Bytes that it takes, those that it shares with others included. */
  bytes?: number;
  /** Bytes that the copy wrote; what other releases share with it was there already. */
  bytesWritten?: number;
  /** When all of it was last found to be right. */
  verifiedAt?: string;
}

/**
 * What an admission policy of Sluice judges by; the controller keeps it. A kind of its own and no ConfigMap:
 * an API server reads a built-in kind as a parameter of policies only until the last policy that has it is
 * deleted, and never again until it is restarted.
 */
export interface PolicyFacts extends KubeObject {
  /** Texts by their key; lists are parted by commas. */
  data: Record<string, string>;
}

/**
 * Asks whether this cluster could go to a release, before it does. The checks that the release ships are run
 * against the cluster as it is, with others that are built in; status holds the report. Nothing is changed by
 * it. The one that an update makes for itself is named update-<first 12 digits of the digest>.
 */
export interface UpdatePreflight extends KubeObject {
  /** What to look at, and when. */
  spec: UpdatePreflightSpec;
  /** The report. */
  status?: UpdatePreflightStatus;
}

/** What to look at, and when. */
export interface UpdatePreflightSpec {
  /** The payload image of the release, by digest. With version, it must hold that version. */
  image?: string;
  /** The version of the release, which a bundle at hand must have, such as 4.19.3. */
  version?: string;
  /**
   * How often to look again, such as 24h or 1d12h (s, m, h, d), one minute at least. Absent means once, and
   * again only when spec changes.
   */
  frequency?: string;
  /** How long one run may take before what is not done counts as an error. Absent means 30m. */
  timeout?: string;
  /** How old a report may be and still let an update through. Absent means 24h. */
  maxAge?: string;
  /** Risks that somebody has looked at and takes. Errors cannot be accepted. */
  acceptedRisks?: UpdatePreflightSpecAcceptedRisk[];
}

/** One accepted risk. */
export interface UpdatePreflightSpecAcceptedRisk {
  /** The name of the risk, as the report prints it. */
  name: string;
  /** Why it is taken, for those who read it later. */
  reason?: string;
}

/** The report. */
export interface UpdatePreflightStatus {
  /** The generation of spec that the report speaks about. */
  observedGeneration?: number;
  /** What tells this run from others; it stands on everything that the run made. */
  runID?: string;
  /** The release that was looked at. */
  target?: UpdatePreflightStatusTarget;
  /** What the cluster had when it was looked at. */
  source?: UpdatePreflightStatusSource;
  /** What tells the set of checks that was run from every other; another set makes the report old. */
  checkSet?: string;
  /**
   * Passed: nothing stands against the update that was not accepted. Blocked: a finding does. Incomplete:
   * something could not be found out, which counts as no. Running: not done yet. Superseded: spec or the
   * release changed under it.
   */
  verdict?: 'Passed' | 'Blocked' | 'Incomplete' | 'Running' | 'Superseded';
  /** One word for why, such as NoChecks, AllPassed, RisksFound. */
  reason?: string;
  /** The report in one sentence. */
  message?: string;
  /** When the run began. */
  startedAt?: string;
  /** When it ended. */
  finishedAt?: string;
  /** When it runs again by itself. */
  nextRun?: string;
  /** Every check and what it found; those that block come first. */
  checks?: UpdatePreflightStatusCheck[];
  /** Runs before, newest first. */
  history?: UpdatePreflightStatusHistory[];
  /** Progressing: a run is under way. Passed: True, where the last report lets the update through. */
  conditions?: Condition[];
}

/** The release that was looked at. */
export interface UpdatePreflightStatusTarget {
  /** Its version. */
  version?: string;
  /** Its payload image as it was pulled. */
  image?: string;
  /** The digest of its payload. The report speaks about this content and no other. */
  digest?: string;
}

/** What the cluster had when it was looked at. */
export interface UpdatePreflightStatusSource {
  /** Its version. */
  version?: string;
  /** The digest of its payload. */
  digest?: string;
}

/** One check. */
export interface UpdatePreflightStatusCheck {
  /** Its name in CamelCase; what acceptedRisks names. */
  name: string;
  /** The component of the payload that ships it; absent for those that are built in. */
  component?: string;
  /**
   * Passed: nothing found. Risk: something found. Error: it could not find out. Skipped: it had nothing to
   * look at. Running: not done yet.
   */
  result: 'Passed' | 'Risk' | 'Error' | 'Skipped' | 'Running';
  /** Whether the result stands against the update. */
  severity?: 'blocking' | 'warning' | 'info';
  /** One word for why. */
  reason?: string;
  /** What was found, in the words of the check or of the cluster. */
  message?: string;
  /** What to do about it. */
  next?: string;
  /** What it found it on, as kind/namespace/name. */
  objects?: string[];
  /** Since when the result is this one. */
  since?: string;
  /** The Job that ran it, as namespace/name. */
  job?: string;
  /** Whether the risk is accepted. */
  accepted?: boolean;
}

/** One run. */
export interface UpdatePreflightStatusHistory {
  /** What told it from others. */
  runID: string;
  /** What came of it. */
  verdict: string;
  /** The digest of the payload that it looked at. */
  digest?: string;
  /** When it ended. */
  finishedAt?: string;
  /**
   * What stood out, for comparing runs; everything else passed or had nothing to look at. Absent where it was
   * more than is kept.
   */
  findings?: UpdatePreflightStatusHistoryFinding[];
}

/** One check. */
export interface UpdatePreflightStatusHistoryFinding {
  /** Its name. */
  name: string;
  /** Risk or Error. */
  result: string;
}
