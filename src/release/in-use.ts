import type { Digest } from '../oci/digest.ts';

/** One entry of ClusterVersion.status.history, newest first. */
interface HistoryEntry {
  readonly state: string;
  readonly version?: string | undefined;
  readonly image: string;
}

/** What uses releases, as the cluster's objects say it; undefined where it cannot be read: then nothing is known. */
export interface UsageFacts {
  readonly clusterVersion:
    | {
        readonly desired: { readonly version: string; readonly image: string } | undefined;
        /** spec.desiredUpdate: asked for, perhaps not accepted yet. */
        readonly requested:
          | { readonly version?: string | undefined; readonly image?: string | undefined }
          | undefined;
        readonly history: readonly HistoryEntry[];
      }
    | undefined;
  /** OS images that nodes run or will run. */
  readonly nodes: readonly { readonly name: string; readonly images: readonly string[] }[] | undefined;
  /** Every release that is held or mounted anywhere. */
  readonly releases: readonly KnownRelease[];
}

export interface KnownRelease {
  readonly name: string;
  readonly version: string;
  readonly payload: Digest;
  /** Digests of all images of the signed document, the OS image among them; empty where it was not read. */
  readonly images: readonly Digest[];
}

export interface InUse {
  /** Why, by the release's name. */
  readonly names: ReadonlyMap<string, string>;
  /** Digests of release payloads and OS images, with or without a known name. */
  readonly digests: ReadonlySet<Digest>;
}

/** Why a release is in use, in words; the controller publishes them, and commands say by them what to do. */
export const useReasons = {
  desired: 'the cluster runs it or updates to it',
  requested: 'it is asked for in ClusterVersion spec.desiredUpdate',
  completed: 'the cluster last completed it',
  begun: 'an update to it has begun',
} as const;

/** The reason that is a node's, with the node. */
export const osImageUse = /^node (\S+) runs its OS image$/;

/**
 * What nothing may remove: the desired release, the history back to the
 * last Completed entry, what was asked for, and what a node runs or will run. Undefined where a part of it is
 * unknown: unknown means no.
 */
export function inUse(facts: UsageFacts): InUse | undefined {
  const { clusterVersion, nodes } = facts;
  if (clusterVersion === undefined || nodes === undefined) return undefined;
  const reasons: { version?: string; digest?: Digest; why: string }[] = [];
  const add = (why: string, of: { version?: string | undefined; image?: string | undefined }) => {
    const digest = digestIn(of.image);
    reasons.push({
      why,
      ...(of.version === undefined ? {} : { version: of.version }),
      ...(digest === undefined ? {} : { digest }),
    });
  };
  if (clusterVersion.desired !== undefined) add(useReasons.desired, clusterVersion.desired);
  if (clusterVersion.requested !== undefined) {
    add(useReasons.requested, clusterVersion.requested);
  }
  for (const entry of sinceCompleted(clusterVersion.history)) {
    add(entry.state === 'Completed' ? useReasons.completed : useReasons.begun, entry);
  }
  const names = new Map<string, string>();
  const digests = new Set<Digest>();
  for (const reason of reasons) {
    if (reason.digest !== undefined) digests.add(reason.digest);
    for (const release of facts.releases) {
      // Digest decides; a version stands in only where no digest is given.
      const same =
        reason.digest === undefined ? release.version === reason.version : release.payload === reason.digest;
      if (same && !names.has(release.name)) names.set(release.name, reason.why);
    }
  }
  for (const node of nodes) {
    for (const digest of node.images.flatMap((image) => digestIn(image) ?? [])) {
      digests.add(digest);
      // An OS image that several releases share is kept by whichever of them stays.
      const carriers = facts.releases.filter((release) => release.images.includes(digest));
      // It may belong to a release whose document could not be read yet.
      if (carriers.length === 0 && facts.releases.some((release) => release.images.length === 0))
        return undefined;
      if (carriers.some((release) => names.has(release.name))) continue;
      for (const release of carriers) names.set(release.name, `node ${node.name} runs its OS image`);
    }
  }
  return { names, digests };
}

/** The newest entries up to and with the first that is Completed. */
function sinceCompleted(history: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const last = history.findIndex((entry) => entry.state === 'Completed');
  return last === -1 ? history : history.slice(0, last + 1);
}

function digestIn(image: string | undefined): Digest | undefined {
  return /@(sha256:[a-f0-9]{64})$/.exec(image ?? '')?.[1] as Digest | undefined;
}

/** The ConfigMap's data: what the admission policy and the nodes read (deploy/standalone/40-release-guard.yaml). */
export type InUseData = Record<'state' | 'names' | 'digests' | 'reasons', string>;

/** `state` is Known or Unknown; lists are comma-separated and sorted, so that equal sets are equal texts. */
export function inUseData(set: InUse | undefined): InUseData {
  if (set === undefined) return { state: 'Unknown', names: '', digests: '', reasons: '{}' };
  const names = [...set.names.keys()].sort();
  return {
    state: 'Known',
    names: names.join(','),
    digests: [...set.digests].sort().join(','),
    reasons: JSON.stringify(Object.fromEntries(names.map((name) => [name, set.names.get(name)]))),
  };
}

/** Reads what `inUseData` wrote; anything else is unknown. */
export function parseInUse(data: Record<string, string> | undefined): InUse | undefined {
  if (data?.state !== 'Known' || data.names === undefined || data.digests === undefined) return undefined;
  let reasons: unknown;
  try {
    reasons = JSON.parse(data.reasons ?? '{}');
  } catch {
    return undefined;
  }
  const why = (name: string) => {
    const text = (reasons as Record<string, unknown> | null)?.[name];
    return typeof text === 'string' ? text : 'in use';
  };
  const list = (text: string) => text.split(',').filter((item) => item !== '');
  return {
    names: new Map(list(data.names).map((name) => [name, why(name)])),
    digests: new Set(list(data.digests) as Digest[]),
  };
}
