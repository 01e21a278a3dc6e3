import type { Node } from '../../src/api/core.ts';
import { labels } from '../../src/api/names.ts';
import type {
  ClusterOperator,
  ClusterVersion,
  ClusterVersionStatus,
  FleetLockGroup,
  InternalReleaseImage,
  NodeUpdate,
  UpdatePreflight,
} from '../../src/api/resources.ts';
import { newestFirst } from '../../src/gates/version.ts';
import { bundlesOf, type KnownBundle } from '../../src/release/known.ts';

/** The objects from which pages tell how an update stands. */
export interface Facts {
  readonly version: ClusterVersion | undefined;
  readonly images: InternalReleaseImage | undefined;
  readonly operators: readonly ClusterOperator[];
  readonly nodes: readonly Node[];
  readonly updates: readonly NodeUpdate[];
  readonly preflights: readonly UpdatePreflight[];
  readonly locks: readonly FleetLockGroup[];
}

/** A release that is asked for, and not let through (yet). */
export interface Request {
  readonly to: string;
  readonly refused: boolean;
  readonly message: string;
  readonly since: string | undefined;
}

/** Where the cluster stands between two releases. */
export type Situation =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'installing'; readonly to: string; readonly since: string | undefined }
  | { readonly kind: 'idle'; readonly version: string; readonly next: KnownBundle | undefined }
  | ({ readonly kind: 'asked'; readonly version: string } & Request)
  | {
      readonly kind: 'updating';
      readonly from: string;
      readonly to: string;
      readonly since: string;
      /** Another release that is asked for meanwhile: the update goes on whatever becomes of it. */
      readonly other: Request | undefined;
    };

export function situationOf({ version, updates }: Pick<Facts, 'version' | 'updates'>): Situation {
  const status = version?.status;
  const [latest] = status?.history ?? [];
  if (version === undefined || status === undefined || latest === undefined) return { kind: 'unknown' };
  const completed = status.history?.find(({ state }) => state === 'Completed')?.version;
  const to = latest.version ?? latest.image;
  if (completed === undefined) return { kind: 'installing', to, since: latest.startedTime };
  const request = requestOf(version, status);
  if (latest.state !== 'Completed') {
    return { kind: 'updating', from: completed, to, since: latest.startedTime, other: request };
  }
  if (request !== undefined) return { kind: 'asked', version: status.desired.version, ...request };
  const next = bundlesOf(updates)
    .filter((each) => newestFirst(each.version, completed) < 0)
    .sort((a, b) => newestFirst(a.version, b.version))[0];
  return { kind: 'idle', version: completed, next };
}

/** The request that has not become the update (yet). */
export function openRequest(situation: Situation): Request | undefined {
  if (situation.kind === 'asked') return situation;
  return situation.kind === 'updating' ? situation.other : undefined;
}

function requestOf(version: ClusterVersion, status: ClusterVersionStatus): Request | undefined {
  const wish = version.spec.desiredUpdate;
  if (wish === undefined || wish.mode === 'Preflight' || sameRelease(wish, status.desired)) return undefined;
  const accepted = conditionOf(version, 'ReleaseAccepted');
  const invalid = conditionOf(version, 'Invalid');
  const said = invalid?.status === 'True' ? invalid : accepted;
  const seen = status.observedGeneration === version.metadata.generation;
  return {
    to: wish.version ?? wish.image ?? '',
    refused: seen && (said === invalid || said?.status === 'False'),
    message: seen ? (said?.message ?? '') : '',
    since: said?.lastTransitionTime,
  };
}

/** Whether a request names the release that the cluster has or goes to: by digest where it has one. */
function sameRelease(
  wish: { readonly image?: string; readonly version?: string },
  has: { readonly image: string; readonly version: string },
): boolean {
  const digest = wish.image?.split('@')[1];
  return digest === undefined ? wish.version === has.version : digest === has.image.split('@')[1];
}

export function conditionOf<C extends { readonly type: string }>(
  object: { readonly status?: { readonly conditions?: readonly C[] } } | undefined,
  type: string,
): C | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type);
}

/** Names of the control-plane nodes, sorted. */
export function controlPlaneOf(nodes: readonly Node[]): string[] {
  return nodes
    .filter(({ metadata }) => metadata.labels?.[labels.controlPlane] !== undefined)
    .map(({ metadata }) => metadata.name)
    .sort();
}

/** A node that is not Ready, with the condition that says so. */
export function notReady(
  node: Node,
): { readonly message: string; readonly lastTransitionTime?: string } | undefined {
  const ready = conditionOf(node, 'Ready');
  if (ready?.status === 'True') return undefined;
  const { message, reason = '', lastTransitionTime: since } = ready ?? {};
  return { message: message ?? reason, ...(since === undefined ? {} : { lastTransitionTime: since }) };
}
