import type { ClusterVersionSpecCapabilities, ClusterVersionStatus } from '../api/resources.ts';

type Capability = NonNullable<ClusterVersionSpecCapabilities['additionalEnabledCapabilities']>[number];
type StatusCapabilities = NonNullable<ClusterVersionStatus['capabilities']>;

/** What each baseline set adds to the one before it (openshift/api, ClusterVersionCapabilitySets). */
const additions: readonly [string, readonly Capability[]][] = [
  ['v4.11', ['openshift-samples', 'baremetal', 'marketplace', 'MachineAPI']],
  ['v4.12', ['Console', 'Insights', 'Storage', 'CSISnapshot']],
  ['v4.13', ['NodeTuning']],
  ['v4.14', ['Build', 'DeploymentConfig', 'ImageRegistry']],
  ['v4.15', ['OperatorLifecycleManager', 'CloudCredential']],
  ['v4.16', ['Ingress', 'CloudControllerManager']],
  ['v4.17', []],
  ['v4.18', ['OperatorLifecycleManagerV1']],
];

const knownCapabilities: readonly Capability[] = additions.flatMap(([, names]) => names);

export interface Capabilities {
  /** Optional components that the cluster has. A name outside the known ones belongs to the newest set. */
  readonly isEnabled: (name: string) => boolean;
  /** What stays enabled though spec does not ask for it, since what was installed is never taken away. */
  readonly implicit: readonly Capability[];
  readonly status: StatusCapabilities;
}

/**
 * The optional components: those of the baseline set and those that are added by name, with those that the cluster
 * has already, since a component is never taken away by leaving it out (ImplicitlyEnabledCapabilities).
 */
export function capabilitiesOf(
  spec: ClusterVersionSpecCapabilities | undefined,
  before: ClusterVersionStatus['capabilities'],
): Capabilities {
  const baseline = spec?.baselineCapabilitySet ?? 'vCurrent';
  const wanted = new Set<Capability>([
    ...baselineOf(baseline),
    ...(spec?.additionalEnabledCapabilities ?? []),
  ]);
  const implicit = (before?.enabledCapabilities ?? []).filter((name) => !wanted.has(name)).sort();
  const enabled = new Set<string>([...wanted, ...implicit]);
  const isAll = baseline === 'vCurrent';
  return {
    isEnabled: (name) => enabled.has(name) || (isAll && !knownCapabilities.some((each) => each === name)),
    implicit,
    status: {
      enabledCapabilities: [...enabled].sort() as Capability[],
      knownCapabilities: [...knownCapabilities].sort(),
    },
  };
}

function baselineOf(set: string): readonly Capability[] {
  if (set === 'None') return [];
  if (set === 'vCurrent') return knownCapabilities;
  const last = additions.findIndex(([name]) => name === set);
  // A set that is not known here may only be larger: nothing that somebody has is left out.
  if (last === -1) return knownCapabilities;
  return additions.slice(0, last + 1).flatMap(([, names]) => names);
}
