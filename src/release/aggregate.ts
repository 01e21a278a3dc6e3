import type { Condition } from '../api/core.ts';
import type { Digest } from '../oci/digest.ts';
import { type DraftCondition, nameList, stampConditions } from './conditions.ts';
import { copyMessage } from './progress.ts';

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
  /** How clients reach any registry by one name: `host:port`; `reachable` undefined where that is never resolved. */
  readonly apiInt: { readonly host: string; readonly reachable: boolean | undefined };
  /** Why a release is in use, by its name; undefined: it cannot be told. */
  readonly inUse: ReadonlyMap<string, string> | undefined;
  /** For each seen release: what the running version may go to, as the signed document says it. */
  readonly updates?: ReadonlyMap<string, string> | undefined;
  readonly previous: ReleaseImageStatus | undefined;
  /** The controller could not do its work. */
  readonly syncError?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface ReleaseStatus {
  readonly name: string;
  readonly image?: string;
  readonly conditions: Condition[];
}

/** `status` of InternalReleaseImage, as its schema has it. */
export interface ReleaseImageStatus {
  readonly conditions: Condition[];
  readonly releases: ReleaseStatus[];
}

/** Entries at most (schema: maxItems of status.releases). */
const entriesMax = 32;

/**
 * The one precedence of reasons for Degraded, first wins (facts/release-content.md §6, "Status"). A release's own
 * trouble comes after what concerns the whole cluster, since it may only follow from that.
 */
export const degradedPrecedence = [
  'SyncError',
  'NoControlPlaneNodes',
  'ApiIntNotAvailable',
  'SomeNodesUnavailable',
  'SomeRegistriesUnavailable',
  'SomeReleasesDegraded',
  'ReleaseImageNotAvailable',
] as const;

type DegradedReason = (typeof degradedPrecedence)[number];

/**
 * What the cluster as a whole says of its releases, from what every control-plane node says of them. Available
 * is True only when every one of them holds every verified byte; a node that cannot be reached keeps its last
 * verified word and makes the release Degraded instead.
 */
export function aggregate(input: AggregationInput): ReleaseImageStatus {
  const views = releaseNames(input).map((name) => view(name, input));
  const troubles = clusterTroubles(input, views);
  const releases = views.map((release) => releaseStatus(release, troubles, input));
  return {
    conditions: stampConditions(input.previous?.conditions, [clusterDegraded(troubles, views)], input.now),
    releases,
  };
}

/** One release across the nodes. */
interface ReleaseView {
  readonly name: string;
  readonly wanted: boolean;
  readonly previous: ReleaseStatus | undefined;
  readonly reports: ReadonlyMap<string, ReleaseReport>;
  readonly held: readonly string[];
  readonly lacking: readonly string[];
  readonly unknown: readonly string[];
  readonly mounted: readonly string[];
  readonly copying: readonly string[];
  readonly removing: readonly string[];
  /** Nodes disagree about what the name means. */
  readonly conflict: boolean;
  readonly problems: readonly { node: string; reason: string; message: string }[];
}

type Troubles = ReadonlyMap<DegradedReason, string>;

/** What is shown: asked for first, then held or being handled, then merely seen on media. */
function releaseNames(input: AggregationInput): string[] {
  const held = new Set<string>();
  const seen = new Set<string>();
  for (const report of input.nodes.flatMap((node) => node.releases)) {
    if (report.held !== false || report.copy !== undefined || report.removing) held.add(report.name);
    else if (report.mounted) seen.add(report.name);
  }
  return [...new Set([...input.spec, ...[...held].sort(), ...[...seen].sort()])].slice(0, entriesMax);
}

function view(name: string, input: AggregationInput): ReleaseView {
  const reports = new Map<string, ReleaseReport>();
  for (const node of input.nodes) {
    const report = node.releases.find((each) => each.name === name);
    if (report !== undefined) reports.set(node.name, report);
  }
  const nodesWhere = (test: (report: ReleaseReport | undefined) => boolean) =>
    input.nodes.filter((node) => test(reports.get(node.name))).map((node) => node.name);
  const bundles = new Set([...reports.values()].flatMap((report) => report.bundle ?? []));
  return {
    name,
    wanted: input.spec.includes(name) && input.deleting !== true,
    previous: input.previous?.releases.find((release) => release.name === name),
    reports,
    held: nodesWhere((report) => report?.held === true),
    lacking: nodesWhere((report) => report === undefined || report.held === false),
    unknown: nodesWhere((report) => report !== undefined && report.held === undefined),
    mounted: nodesWhere((report) => report?.mounted === true),
    copying: nodesWhere((report) => report?.copy !== undefined),
    removing: nodesWhere((report) => report?.removing === true),
    conflict: bundles.size > 1,
    problems: [...reports].flatMap(([node, report]) =>
      report.problem === undefined ? [] : [{ node, ...report.problem }],
    ),
  };
}

function clusterTroubles(input: AggregationInput, views: readonly ReleaseView[]): Troubles {
  const troubles = new Map<DegradedReason, string>();
  const down = input.nodes.filter((node) => !node.ready).map((node) => node.name);
  const mute = input.nodes.filter((node) => !node.registryReachable).map((node) => node.name);
  if (input.syncError !== undefined) {
    troubles.set('SyncError', `Error syncing InternalReleaseImage: ${input.syncError}`);
  }
  if (input.nodes.length === 0) {
    troubles.set('NoControlPlaneNodes', 'No control-plane node has registered itself');
  }
  // A name that leads nowhere is a trouble of its own only while something stands behind it.
  if (input.apiInt.reachable === false && mute.length < input.nodes.length) {
    troubles.set('ApiIntNotAvailable', `Unable to reach any registry via ${input.apiInt.host}`);
  }
  if (down.length > 0) {
    troubles.set('SomeNodesUnavailable', `The following nodes are not ready: ${nameList(down)}.`);
  }
  if (mute.length > 0) {
    troubles.set(
      'SomeRegistriesUnavailable',
      `The following nodes are degraded: ${nameList(mute)}. See the related MachineConfigNode resource status for more details.`,
    );
  }
  const ill = views.filter((release) => release.wanted || release.held.length > 0).filter(hasTrouble);
  if (ill.length > 0) {
    troubles.set(
      'SomeReleasesDegraded',
      ill.map((release) => `${release.name}: ${releaseTrouble(release)?.message}`).join('; '),
    );
  }
  const nowhere = views.filter((release) => isNowhere(release));
  if (nowhere.length > 0) {
    troubles.set(
      'ReleaseImageNotAvailable',
      `No node and no attached media carry ${nameList(nowhere.map((release) => release.name))}`,
    );
  }
  return troubles;
}

const waysThatFail = ['MediaLost', 'Unreachable', 'Stalled', 'Timeout'];

function hasTrouble(release: ReleaseView): boolean {
  return releaseTrouble(release) !== undefined;
}

function releaseTrouble(release: ReleaseView): { reason: string; message: string } | undefined {
  if (release.conflict) {
    const of = [...release.reports].flatMap(([node, report]) =>
      report.bundle === undefined ? [] : [`${node} has ${report.bundle}`],
    );
    return {
      reason: 'BundleConflict',
      message: `the same name stands for different content: ${of.join(', ')}`,
    };
  }
  // What is wrong with the content comes before what is wrong with the way: the second may follow from it.
  const first =
    release.problems.find((problem) => !waysThatFail.includes(problem.reason)) ?? release.problems[0];
  if (first === undefined) return undefined;
  // Nodes that say the same say it once.
  const said = new Map<string, string[]>();
  for (const { node, message } of release.problems) said.set(message, [...(said.get(message) ?? []), node]);
  const message = [...said].map(([text, nodes]) => `${nodes.sort().join(', ')}: ${text}`).join('; ');
  return { reason: first.reason, message };
}

/** Asked for, and there is nothing that it could come from. */
function isNowhere(release: ReleaseView): boolean {
  const somewhere = [release.held, release.unknown, release.mounted].some((nodes) => nodes.length > 0);
  return release.wanted && !somewhere;
}

function clusterDegraded(troubles: Troubles, views: readonly ReleaseView[]): DraftCondition {
  const reason = degradedPrecedence.find((each) => troubles.has(each));
  if (reason !== undefined) {
    return { type: 'Degraded', status: 'True', reason, message: troubles.get(reason) ?? reason };
  }
  const coming = views.filter((release) => release.wanted && release.lacking.length > 0);
  if (coming.length > 0) {
    const message = `Being copied to the control-plane nodes: ${nameList(coming.map((each) => each.name))}`;
    return { type: 'Degraded', status: 'False', reason: 'Installing', message };
  }
  return {
    type: 'Degraded',
    status: 'False',
    reason: 'AllReleasesAvailable',
    message: 'All the release images are available',
  };
}

function releaseStatus(release: ReleaseView, troubles: Troubles, input: AggregationInput): ReleaseStatus {
  const available = availableCondition(release, troubles, input);
  const drafts = [
    mountedCondition(release, input),
    installingCondition(release, input),
    available,
    removingCondition(release, input),
    degradedCondition(release, available, troubles),
  ];
  const image = imageOf(release, input);
  return {
    name: release.name,
    ...(image === undefined ? {} : { image }),
    conditions: stampConditions(release.previous?.conditions, drafts, input.now),
  };
}

/** By digest, in the api-int form; what was known stays known (facts, D5 and D6). */
function imageOf(release: ReleaseView, input: AggregationInput): string | undefined {
  const payloads = new Set([...release.reports.values()].flatMap((report) => report.payload ?? []));
  const [payload] = payloads;
  if (payload === undefined || payloads.size > 1) return release.previous?.image;
  return `${input.apiInt.host}/openshift/release-images@${payload}`;
}

function mountedCondition(release: ReleaseView, input: AggregationInput): DraftCondition {
  const type = 'Mounted';
  if (release.mounted.length === 0) {
    return { type, status: 'False', reason: 'NotMounted', message: 'No attached media carry it' };
  }
  const where = release.mounted.length === 1 ? 'node' : 'nodes';
  const found = `Release ${release.name} discovered on ${where} ${release.mounted.join(', ')}`;
  const update = input.updates?.get(release.name);
  return {
    type,
    status: 'True',
    reason: 'Mounted',
    message: update === undefined ? found : `${found}. ${update}`,
  };
}

function installingCondition(release: ReleaseView, input: AggregationInput): DraftCondition {
  const type = 'Installing';
  const tally = `Held whole and verified by ${release.held.length} of ${input.nodes.length} nodes`;
  const begun = release.copying.flatMap((node) => release.reports.get(node)?.copy ?? []);
  const copies = begun.filter((copy) => copy.state !== 'Failed');
  if (copies.length > 0) {
    const paused = copies.every((copy) => copy.state === 'Paused');
    return {
      type,
      status: 'True',
      reason: paused ? 'Paused' : 'Copying',
      message: copyMessage(copies, { held: release.held.length, nodes: input.nodes.length }),
    };
  }
  if (begun.length > 0) return { type, status: 'False', reason: 'CopyFailed', message: tally };
  if (release.wanted && release.lacking.length > 0 && !isNowhere(release)) {
    return {
      type,
      status: 'True',
      reason: 'Waiting',
      message: `${tally}; not yet begun on ${nameList(release.lacking)}`,
    };
  }
  const done = release.held.length === input.nodes.length && input.nodes.length > 0;
  return { type, status: 'False', reason: done ? 'Installed' : 'NotInstalling', message: tally };
}

function availableCondition(
  release: ReleaseView,
  troubles: Troubles,
  input: AggregationInput,
): DraftCondition {
  const type = 'Available';
  const unavailable = 'The specified release image is not available';
  if (troubles.has('ApiIntNotAvailable')) {
    return { type, status: 'False', reason: 'ApiIntNotAvailable', message: unavailable };
  }
  const allMute = input.nodes.every((node) => !node.registryReachable);
  if (allMute || release.conflict || release.held.length + release.unknown.length === 0) {
    return { type, status: 'False', reason: 'ReleaseImageNotAvailable', message: unavailable };
  }
  if (release.lacking.length > 0) {
    const message = `${unavailable} on ${release.lacking.length} of ${input.nodes.length} nodes: ${nameList(release.lacking)}`;
    return { type, status: 'False', reason: 'ReleaseImageNotAvailable', message };
  }
  const wasAvailable = release.previous?.conditions.find((condition) => condition.type === type)?.status;
  if (release.unknown.length > 0 && wasAvailable !== 'True') {
    const message = `Not yet verified on ${nameList(release.unknown)}`;
    return { type, status: 'Unknown', reason: 'NotVerified', message };
  }
  return {
    type,
    status: 'True',
    reason: 'ReleaseImageAvailable',
    message: 'The specified release image is available',
  };
}

function removingCondition(release: ReleaseView, input: AggregationInput): DraftCondition {
  const type = 'Removing';
  if (
    release.removing.length > 0 ||
    (!release.wanted && release.held.length > 0 && !isKept(release, input))
  ) {
    const left = release.held.length > 0 ? release.held : release.removing;
    const message = `Being removed from ${left.length} of ${input.nodes.length} nodes: ${nameList(left)}`;
    return { type, status: 'True', reason: 'Removing', message };
  }
  if (input.inUse === undefined) {
    const message = 'It cannot be told whether it is in use, so it is kept';
    return { type, status: 'False', reason: 'InUseUnknown', message };
  }
  const use = input.inUse.get(release.name);
  if (use !== undefined) return { type, status: 'False', reason: 'InUse', message: `In use: ${use}` };
  return { type, status: 'False', reason: 'NotRemoving', message: 'Not in use' };
}

function isKept(release: ReleaseView, input: AggregationInput): boolean {
  return input.inUse === undefined || input.inUse.has(release.name);
}

function degradedCondition(
  release: ReleaseView,
  available: DraftCondition,
  troubles: Troubles,
): DraftCondition {
  const type = 'Degraded';
  if (troubles.has('ApiIntNotAvailable')) {
    const reason = 'ApiIntNotAvailable';
    return { type, status: 'True', reason, message: reason };
  }
  const trouble = releaseTrouble(release);
  for (const reason of ['SomeNodesUnavailable', 'SomeRegistriesUnavailable'] as const) {
    const message = troubles.get(reason);
    if (message === undefined) continue;
    // The reason is the cluster's; what is wrong with the release itself is not hidden behind it.
    const own = trouble === undefined ? '' : ` ${trouble.message}`;
    return { type, status: 'True', reason, message: `${message}${own}` };
  }
  if (trouble !== undefined) return { type, status: 'True', ...trouble };
  if (isNowhere(release)) {
    return {
      type,
      status: 'True',
      reason: 'ReleaseImageNotAvailable',
      message: 'The specified release image is not available: attach media that carry it',
    };
  }
  const reason = available.status === 'True' ? 'ReleaseImageAvailable' : 'AsExpected';
  return { type, status: 'False', reason, message: reason };
}
