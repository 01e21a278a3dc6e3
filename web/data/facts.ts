import type { Node } from '../../src/api/core.ts';
import { labels } from '../../src/api/names.ts';
import type {
  ClusterOperator,
  ClusterVersion,
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

/** Where the cluster stands between two releases. */
export type Situation =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'installing'; readonly to: string; readonly since: string | undefined }
  | { readonly kind: 'idle'; readonly version: string; readonly next: KnownBundle | undefined }
  /** An update is asked for, and not let through (yet). */
  | {
      readonly kind: 'asked';
      readonly version: string;
      readonly to: string;
      readonly refused: boolean;
      readonly message: string;
      readonly since: string | undefined;
    }
  | { readonly kind: 'updating'; readonly from: string; readonly to: string; readonly since: string };

export function situationOf({ version, updates }: Pick<Facts, 'version' | 'updates'>): Situation {
  const status = version?.status;
  const [latest] = status?.history ?? [];
  if (version === undefined || status === undefined || latest === undefined) return { kind: 'unknown' };
  const completed = status.history?.find(({ state }) => state === 'Completed')?.version;
  const to = latest.version ?? latest.image;
  if (completed === undefined) return { kind: 'installing', to, since: latest.startedTime };
  const wish = version.spec.desiredUpdate;
  const isWish =
    wish !== undefined &&
    wish.mode !== 'Preflight' &&
    !sameRelease(wish, { image: status.desired.image, version: status.desired.version });
  if (isWish) {
    const accepted = conditionOf(version, 'ReleaseAccepted');
    const invalid = conditionOf(version, 'Invalid');
    const said = invalid?.status === 'True' ? invalid : accepted;
    const seen = status.observedGeneration === version.metadata.generation;
    return {
      kind: 'asked',
      version: status.desired.version,
      to: wish.version ?? wish.image ?? '',
      refused: seen && (said === invalid || said?.status === 'False'),
      message: seen ? (said?.message ?? '') : '',
      since: said?.lastTransitionTime,
    };
  }
  if (latest.state !== 'Completed') {
    return { kind: 'updating', from: completed, to, since: latest.startedTime };
  }
  const next = bundlesOf(updates)
    .filter((each) => newestFirst(each.version, completed) < 0)
    .sort((a, b) => newestFirst(a.version, b.version))[0];
  return { kind: 'idle', version: completed, next };
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
): { readonly message: string; readonly since: string | undefined } | undefined {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True') return undefined;
  return { message: ready?.message ?? ready?.reason ?? '', since: ready?.lastTransitionTime };
}
