import type { Condition } from '../api/core.ts';
import type { NodeUpdateStatus, NodeUpdateStatusMediaDelta } from '../api/resources.ts';
import type { Delta } from '../bundle/delta.ts';
import type { WholeRecord } from '../copy/whole.ts';
import type { Digest } from '../oci/digest.ts';
import { type DraftCondition, findCondition, nameList, stampConditions } from '../release/conditions.ts';
import { copyMessage } from '../release/progress.ts';
import { registryUnreachable } from '../release/reports.ts';
import type { Attachment } from './attachments.ts';
import { type CopyView, secondsLeftOf } from './copy-view.ts';
import { bytesLeftOut } from './deltas.ts';

/** All that one node knows about its releases. */
export interface ContentState {
  readonly nodeName: string;
  /** Names asked for; empty where there is no InternalReleaseImage. */
  readonly desired: readonly string[];
  readonly records: ReadonlyMap<string, WholeRecord>;
  readonly removing: ReadonlySet<string>;
  readonly attachments: readonly Attachment[];
  readonly copies: readonly CopyView[];
  /** What went wrong besides, by release. */
  readonly problems: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
  /** Why the node's own registry does not answer; undefined where it does. */
  readonly registryDown: string | undefined;
  /** For a delta on media: bytes that it leaves out and this node does not have. */
  readonly missingBytes?: (bundle: Digest) => number | undefined;
  /** Which credentials the registry accepts (release/credentials.ts). */
  readonly credentials?: string | undefined;
}

/** The part of NodeUpdate.status that this agent half writes. */
export type ContentNodeStatus = Required<Pick<NodeUpdateStatus, 'media' | 'copies' | 'store'>> &
  Pick<NodeUpdateStatus, 'registryCredentials'>;

/** Limits of the schema (crds/nodeupdates.yaml). */
const entriesMax = 32;
const messageMax = 4096;
const nameMax = 64;

export function nodeUpdateStatus(state: ContentState): ContentNodeStatus {
  return {
    ...(state.credentials === undefined ? {} : { registryCredentials: state.credentials }),
    media: state.attachments.flatMap((each) => mediaEntries(each, state)).slice(0, entriesMax),
    copies: state.copies.slice(0, entriesMax).map((copy) => ({
      release: copy.release,
      state: copy.state,
      bytesDone: copy.progress?.bytesDone ?? 0,
      bytesTotal: copy.progress?.bytesTotal ?? 0,
      imagesDone: copy.progress?.imagesDone ?? 0,
      imagesTotal: copy.progress?.imagesTotal ?? 0,
      ...(copy.rate === undefined ? {} : { rate: copy.rate }),
      ...timeLeft(copy),
      ...(copy.bundleDigest === undefined ? {} : { bundleDigest: copy.bundleDigest }),
      ...(copy.reason === undefined ? {} : { reason: copy.reason }),
      ...(copy.message === undefined ? {} : { message: copy.message.slice(0, messageMax) }),
    })),
    store: [...state.records.values()].slice(0, entriesMax).map((record) => ({
      name: record.name,
      bundleDigest: record.bundle.digest,
      version: record.bundle.document.version,
      payload: record.bundle.document.payload,
      bytes: record.bytes,
      ...(record.bytesWritten === undefined ? {} : { bytesWritten: record.bytesWritten }),
      verifiedAt: record.verifiedAt,
    })),
  };
}

function timeLeft(copy: CopyView): { secondsLeft?: number } {
  const seconds = secondsLeftOf(copy);
  return seconds === undefined ? {} : { secondsLeft: seconds };
}

function mediaEntries(attachment: Attachment, state: ContentState): ContentNodeStatus['media'] {
  const { path, format } = attachment;
  return attachment.bundles.map((each) => ({
    name: each.name.slice(0, nameMax),
    path,
    ...(format === undefined ? {} : { format }),
    ...(each.state === 'Verified'
      ? {
          verified: true,
          bundleDigest: each.bundle.digest,
          version: each.bundle.document.version,
          payload: each.bundle.document.payload,
          ...(each.delta === undefined ? {} : { delta: deltaEntry(each.delta, state) }),
        }
      : { verified: false, reason: each.reason, message: each.message.slice(0, messageMax) }),
  }));
}

function deltaEntry(delta: Delta, state: ContentState): NodeUpdateStatusMediaDelta {
  const bytes = bytesLeftOut(delta);
  return {
    since: delta.since.map(({ name, digest }) => ({ name: name.slice(0, nameMax), bundleDigest: digest })),
    bytes,
    missingBytes: state.missingBytes?.(delta.bundle) ?? bytes,
  };
}

/** A release on this node, with everything that is known of it. */
interface ReleaseView {
  readonly name: string;
  readonly record: WholeRecord | undefined;
  readonly payload: Digest | undefined;
  readonly mounted: boolean;
  readonly removing: boolean;
  readonly desired: boolean;
  readonly copy: CopyView | undefined;
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
}

interface MachineConfigNodeRelease {
  readonly name: string;
  readonly image?: string;
  readonly conditions: Condition[];
}

/** What MachineConfigNode.status says of releases, in upstream's words where upstream has any. */
export interface MachineConfigNodeContent {
  /** Condition InternalReleaseImageDegraded. */
  readonly degraded: Condition;
  readonly releases: readonly MachineConfigNodeRelease[];
}

/**
 * @param previous what the object says now: times only move with a status, images are never forgotten.
 * @param now milliseconds since the epoch.
 */
export function machineConfigNodeContent(
  state: ContentState,
  previous: {
    readonly conditions: Condition[];
    readonly releases: readonly { name: string; image?: string; conditions?: Condition[] }[];
  },
  registryPort: number,
  now: number,
): MachineConfigNodeContent {
  const views = releaseViews(state);
  const releases = views.slice(0, entriesMax).map((view): MachineConfigNodeRelease => {
    const before = previous.releases.find((release) => release.name === view.name);
    const image =
      view.payload === undefined
        ? before?.image
        : `localhost:${registryPort}/openshift/release-images@${view.payload}`;
    return {
      name: view.name,
      ...(image === undefined ? {} : { image }),
      conditions: stampConditions(before?.conditions, releaseConditions(view, state), now),
    };
  });
  const type = 'InternalReleaseImageDegraded';
  const own = previous.conditions.filter((condition) => condition.type === type);
  const [degraded] = stampConditions(own, [{ type, ...nodeDegraded(views, state) }], now);
  if (degraded === undefined) throw new Error('a draft condition was lost');
  return { degraded, releases };
}

function releaseViews(state: ContentState): ReleaseView[] {
  const verified = new Map(
    state.attachments.flatMap((attachment) =>
      attachment.state === 'Present'
        ? attachment.bundles.flatMap((each) =>
            each.state === 'Verified' ? [[each.name, each.bundle] as const] : [],
          )
        : [],
    ),
  );
  const names = new Set([
    ...state.records.keys(),
    ...state.removing,
    ...verified.keys(),
    ...state.copies.map((copy) => copy.release),
    ...state.desired,
  ]);
  return [...names].sort().map((name) => {
    const record = state.records.get(name);
    const copy = state.copies.find((each) => each.release === name);
    return {
      name,
      record,
      copy,
      payload: record?.bundle.document.payload ?? verified.get(name)?.document.payload,
      mounted: verified.has(name),
      removing: state.removing.has(name),
      desired: state.desired.includes(name),
      problem: problemOf(name, copy, state),
    };
  });
}

function problemOf(
  name: string,
  copy: CopyView | undefined,
  state: ContentState,
): { reason: string; message: string } | undefined {
  const other = state.problems.get(name);
  if (other !== undefined) return other;
  if (copy?.degraded === true && copy.reason !== undefined) {
    return { reason: copy.reason, message: copy.message ?? copy.reason };
  }
  // Refused media only matter where their release is wanted; other content under the name of one that is held does.
  const held = state.records.has(name);
  if (!held && !state.desired.includes(name)) return undefined;
  for (const attachment of state.attachments) {
    for (const each of attachment.bundles) {
      if (each.name !== name || each.state !== 'Refused' || each.reason === 'MediaLost') continue;
      if (held && each.reason !== 'BundleConflict') continue;
      return { reason: each.reason, message: `${attachment.path}: ${each.message}` };
    }
  }
  return undefined;
}

function releaseConditions(view: ReleaseView, state: ContentState): DraftCondition[] {
  const { copy } = view;
  const moving = copy !== undefined && copy.state !== 'Failed';
  const installing: DraftCondition = {
    type: 'Installing',
    ...(moving
      ? {
          status: 'True',
          // One word for both parts of a copy, as in InternalReleaseImage: the part stands in NodeUpdate.
          reason: copy.reason ?? (copy.state === 'Paused' ? 'Paused' : 'Copying'),
          message: copyMessage([copyReport(copy)], { held: 0, nodes: 1 }),
        }
      : { status: 'False', reason: view.record === undefined ? 'NotInstalling' : 'Installed', message: '' }),
  };
  const mounted: DraftCondition = {
    type: 'Mounted',
    ...(view.mounted
      ? {
          status: 'True',
          reason: 'Mounted',
          message: `Release ${view.name} discovered on node ${state.nodeName}`,
        }
      : { status: 'False', reason: 'NotMounted', message: '' }),
  };
  const removing: DraftCondition = {
    type: 'Removing',
    ...(view.removing
      ? { status: 'True', reason: 'Removing', message: 'What belongs to it alone is being removed' }
      : { status: 'False', reason: 'NotRemoving', message: '' }),
  };
  return [mounted, installing, available(view, state), removing, degraded(view, state)];
}

function copyReport(copy: CopyView) {
  return {
    state: copy.state,
    bytesDone: copy.progress?.bytesDone ?? 0,
    bytesTotal: copy.progress?.bytesTotal ?? 0,
    message: copy.message,
  };
}

function available(view: ReleaseView, state: ContentState): DraftCondition {
  const type = 'Available';
  if (view.record === undefined) {
    const message = 'The specified release image was not found in the registry';
    return { type, status: 'False', reason: 'ReleaseImageNotFound', message };
  }
  if (state.registryDown !== undefined) {
    const message = 'Release bundle is unavailable: failed to reach the registry';
    return { type, status: 'False', reason: registryUnreachable, message };
  }
  return {
    type,
    status: 'True',
    reason: 'ReleaseImageAvailable',
    message: 'The specified release image is available',
  };
}

function degraded(view: ReleaseView, state: ContentState): DraftCondition {
  const type = 'Degraded';
  if (view.problem !== undefined) return { type, status: 'True', ...view.problem };
  if (state.registryDown !== undefined) {
    return { type, status: 'True', reason: registryUnreachable, message: state.registryDown };
  }
  const reason = view.record === undefined ? 'AsExpected' : 'ReleaseImageAvailable';
  return { type, status: 'False', reason, message: reason };
}

function nodeDegraded(
  views: readonly ReleaseView[],
  state: ContentState,
): Pick<DraftCondition, 'status' | 'reason' | 'message'> {
  if (state.registryDown !== undefined) {
    return { status: 'True', reason: registryUnreachable, message: state.registryDown };
  }
  const ill = views.filter((view) => view.problem !== undefined);
  const [first] = ill;
  if (first?.problem !== undefined) {
    const message = ill.map((view) => `${view.name}: ${view.problem?.message}`).join('; ');
    return { status: 'True', reason: first.problem.reason, message };
  }
  const lacking = views.filter((view) => view.desired && view.record === undefined);
  if (lacking.length > 0) {
    const message = `Not on this node yet: ${nameList(lacking.map((view) => view.name))}`;
    return { status: 'False', reason: 'Installing', message };
  }
  return {
    status: 'False',
    reason: 'AllReleasesAvailable',
    message: 'All the release images are available',
  };
}

/** The conditions of a MachineConfigNode with this one in them; others on it belong to others. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  condition: Condition,
): Condition[] {
  const standing = conditions ?? [];
  const before = findCondition(standing, condition.type);
  if (before === undefined) return [...standing, condition];
  return standing.map((each) => (each === before ? condition : each));
}
