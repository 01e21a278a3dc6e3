import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Whether somebody uses APIs that the release's Kubernetes serves no more, like compared with like. */
export function removedGate({ cluster, target }: GateFacts): Finding[] {
  if (!target.verified) return [];
  return [...builtin(cluster, target.kubernetesVersion), ...definitions(cluster, target.definitions)];
}

function builtin({ deprecatedUse }: GateFacts['cluster'], kubernetes: string | undefined): Finding[] {
  const gate = { name: 'RemovedApisInUse', gate: 'removed', severity: 'blocking' } as const;
  const wanted = minorOf(kubernetes ?? '');
  if (deprecatedUse === undefined) return [];
  if (wanted === undefined) return notComparable(gate, deprecatedUse);
  return findingOf(gate, deprecatedUse, (uses) => {
    const unread = uses.filter((use) => minorOf(use.removedIn) === undefined);
    const gone = uses.filter((use) => {
      const removed = minorOf(use.removedIn);
      return removed !== undefined && removed <= wanted;
    });
    const bad = [...gone, ...unread];
    if (bad.length === 0) return { well: `nobody uses an API that Kubernetes ${kubernetes} serves no more` };
    const words = bad.map(({ api, removedIn, users }) => {
      const by = users.length === 0 ? '' : `, used by ${listed(users)}`;
      return `${api} (removed in ${removedIn}${by})`;
    });
    return {
      message: `APIs in use that Kubernetes ${kubernetes} serves no more: ${listed(words)}`,
      next: 'Move what uses them to the newer API first.',
    };
  });
}

/** A release that does not say which Kubernetes it brings may bring any. */
function notComparable(
  gate: Pick<Finding, 'name' | 'gate' | 'severity'>,
  deprecatedUse: NonNullable<GateFacts['cluster']['deprecatedUse']>,
): Finding[] {
  return findingOf(gate, deprecatedUse, (uses) => {
    if (uses.length === 0) return { well: 'nobody uses an API that some Kubernetes serves no more' };
    const words = uses.map(({ api, removedIn }) => `${api} (removed in ${removedIn})`);
    return {
      message: `APIs in use that some Kubernetes serves no more: ${listed(words)}; which Kubernetes the release brings it does not say`,
      next: 'Move what uses them to the newer API; where the release brings no Kubernetes, accept the risk.',
    };
  });
}

/** The release's own definitions must still serve the versions in which objects are stored. */
function definitions(
  { definitions: standing }: GateFacts['cluster'],
  coming: ReadonlyMap<string, readonly string[]> | undefined,
): Finding[] {
  const gate = { name: 'StoredVersionsRemoved', gate: 'removed', severity: 'blocking' } as const;
  if (coming === undefined || coming.size === 0) return [];
  return findingOf(gate, standing, (live) => {
    const lost = live.flatMap(({ name, stored }) => {
      const versions = coming.get(name);
      const missing = versions === undefined ? [] : stored.filter((version) => !versions.includes(version));
      return missing.length === 0 ? [] : [`${name} (${missing.join(', ')})`];
    });
    if (lost.length === 0) return { well: 'every stored version is still known to the release' };
    return {
      message: `objects are stored in versions that the release knows no more: ${listed(lost)}`,
      next: 'Migrate the stored objects, then drop the version from status.storedVersions.',
    };
  });
}

/** The minor number of `1.32`, `v1.32.1`; the major must be 1. */
function minorOf(version: string): number | undefined {
  const match = /^v?1\.(\d{1,4})(?:[.+-].*)?$/.exec(version);
  return match === null ? undefined : Number(match[1]);
}
