import type { ClusterVersion, ClusterVersionStatus, ClusterVersionStatusDesired } from '../api/resources.ts';
import { digestPart } from '../gates/gather.ts';
import { setCondition } from '../kube/conditions.ts';
import { rfc3339 } from '../observe/clock.ts';
import { capabilitiesOf } from './capabilities.ts';
import { type RequestView, updateConditions } from './conditions.ts';
import { noteHistory } from './history.ts';
import type { Obstacle } from './obstacles.ts';
import type { Progress } from './progress.ts';

/** A release that goes into status. */
export interface StatusRelease {
  readonly version: string;
  readonly image: string;
}

/** The status in which a release begins to be applied; written before anything of it is applied. */
export function begunStatus(
  { status, metadata }: ClusterVersion,
  release: StatusRelease,
  how: {
    /** Whether it is signed as this cluster demands; what was forced past that is not. */
    readonly verified: boolean;
    readonly acceptedRisks?: string | undefined;
  },
  now: number,
): ClusterVersionStatus {
  const { verified, acceptedRisks } = how;
  const note = {
    ...release,
    verified,
    completed: false,
    ...(acceptedRisks === undefined ? {} : { acceptedRisks }),
  };
  return {
    ...emptyStatus(release),
    ...status,
    desired: { version: release.version, image: release.image },
    versionHash: hashOf(release.image),
    observedGeneration: metadata.generation ?? 0,
    history: noteHistory(status?.history ?? [], note, rfc3339(now)),
  };
}

export interface StatusFacts {
  readonly request: RequestView;
  readonly progress: Progress;
  readonly upgradeable: readonly Obstacle[];
  /** Undefined where they could not be found out: then those that stood there stay. */
  readonly available: readonly ClusterVersionStatusDesired[] | undefined;
  readonly retrieval: { readonly ok: boolean; readonly message: string };
  readonly now: number;
}

/** The status that follows from what was seen. */
export function seenStatus(clusterVersion: ClusterVersion, facts: StatusFacts): ClusterVersionStatus {
  const { metadata } = clusterVersion;
  const status = clusterVersion.status ?? emptyStatus({ version: '', image: '' });
  const { progress, request, now } = facts;
  const { version, image } = status.desired;
  const before = status.history ?? [];
  const history = progress.completed
    ? noteHistory(
        before,
        { version, image, verified: before[0]?.verified ?? true, completed: true },
        rfc3339(now),
      )
    : before;
  const capabilities = capabilitiesOf(clusterVersion.spec.capabilities, status.capabilities);
  const conditions = updateConditions(
    status.conditions,
    {
      request,
      upgradeable: facts.upgradeable,
      update: {
        version,
        image,
        completed: progress.completed,
        everCompleted: history.some((entry) => entry.state === 'Completed'),
        done: progress.done,
        total: progress.total,
        waiting: progress.waiting,
        implicit: capabilities.implicit,
      },
    },
    now,
  );
  const retrieved = {
    type: 'RetrievedUpdates',
    status: facts.retrieval.ok ? 'True' : 'False',
    reason: facts.retrieval.ok ? 'AsExpected' : 'RemoteFailed',
    message: facts.retrieval.message,
  } as const;
  return {
    ...status,
    history,
    capabilities: capabilities.status,
    // A request that is still looked at is not observed yet.
    observedGeneration:
      request.state === 'refused' && request.pending ? status.observedGeneration : (metadata.generation ?? 0),
    availableUpdates: facts.available === undefined ? status.availableUpdates : [...facts.available],
    conditions: setCondition(conditions, retrieved, now),
  };
}

/** The status of a cluster whose first release could not be accepted yet. */
export function unacceptedStatus(
  { status }: ClusterVersion,
  image: string,
  why: { readonly reason: string; readonly message: string },
  now: number,
): ClusterVersionStatus {
  const before = status ?? emptyStatus({ version: '', image });
  const conditions = setCondition(
    before.conditions,
    { type: 'ReleaseAccepted', status: 'False', ...why },
    now,
  );
  return { ...before, conditions };
}

function emptyStatus(release: StatusRelease): ClusterVersionStatus {
  return {
    desired: { version: release.version, image: release.image },
    observedGeneration: 0,
    versionHash: hashOf(release.image),
    availableUpdates: null,
  };
}

/** A short fingerprint of the payload, which its digest is the whole of. */
function hashOf(image: string): string {
  return digestPart(image)
    .replace(/^sha256:/, '')
    .slice(0, 22);
}
