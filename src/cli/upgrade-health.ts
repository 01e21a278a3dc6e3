import type { ClusterOperator, ClusterVersion, NodeUpdate } from '../api/resources.ts';
import { findCondition } from '../kube/conditions.ts';
import { conditionOf, isJudged } from './upgrade-view.ts';

/** Something that is wrong while an update runs, or that will be. */
export interface HealthFinding {
  readonly since?: string;
  readonly level: 'Info' | 'Warning' | 'Error' | 'Critical' | 'Unknown';
  readonly impact:
    | 'None'
    | 'API Availability'
    | 'Application Availability'
    | 'Application Outage'
    | 'Update Speed'
    | 'Update Stalled'
    | 'Unknown';
  readonly message: string;
  readonly description: string;
  /** Where people read on. */
  readonly reference: string;
  /** As `kind: name`. */
  readonly resources: readonly string[];
}

const levels: readonly HealthFinding['level'][] = ['Critical', 'Error', 'Warning', 'Unknown', 'Info'];

/** What is wrong, worst first. */
export function healthFindings(objects: {
  readonly version: ClusterVersion;
  readonly operators: readonly ClusterOperator[];
  readonly updates: readonly NodeUpdate[];
}): HealthFinding[] {
  const found = [
    ...ofVersion(objects.version),
    ...objects.operators.flatMap(ofOperator),
    ...objects.updates.flatMap(ofNode),
  ];
  return found.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

/** The finding of a condition: since when it stands, in whose words. */
function told(
  condition: { readonly lastTransitionTime?: string; readonly message?: string },
  finding: Omit<HealthFinding, 'since' | 'description'>,
): HealthFinding {
  const { lastTransitionTime: since, message = '' } = condition;
  return { ...(since === undefined ? {} : { since }), ...finding, description: message };
}

const waitsPage = 'docs/update.md#what-it-waits-for';

function ofVersion(version: ClusterVersion): HealthFinding[] {
  const resources = ['clusterversion: version'];
  const found: HealthFinding[] = [];
  const failing = conditionOf(version, 'Failing');
  if (failing?.status === 'True') {
    const message = `The update does not go on (${failing.reason ?? 'Failing'})`;
    const weight = { level: 'Error', impact: 'Update Stalled' } as const;
    found.push(told(failing, { ...weight, message, reference: waitsPage, resources }));
  } else if (failing?.status === 'Unknown') {
    const message = `The update takes longer than expected (${failing.reason ?? 'unknown'})`;
    const weight = { level: 'Unknown', impact: 'Update Speed' } as const;
    found.push(told(failing, { ...weight, message, reference: waitsPage, resources }));
  }
  const accepted = conditionOf(version, 'ReleaseAccepted');
  if (accepted?.status === 'False' && isJudged(version)) {
    const wish = version.spec.desiredUpdate;
    const release = wish?.version ?? wish?.image ?? 'another release';
    const reason = accepted.reason ?? 'no reason';
    // An update that runs meanwhile is not touched by it.
    const runs = version.status?.history?.[0]?.state === 'Partial';
    const message = runs
      ? `${release}, asked for meanwhile, is refused (${reason}); this update goes on`
      : `The update to ${release} is refused (${reason})`;
    const weight = { level: 'Warning', impact: runs ? 'None' : 'Update Stalled' } as const;
    found.push(told(accepted, { ...weight, message, reference: 'docs/update.md#refused', resources }));
  }
  return found;
}

function ofOperator({ metadata, status }: ClusterOperator): HealthFinding[] {
  const available = findCondition(status?.conditions, 'Available');
  const degraded = findCondition(status?.conditions, 'Degraded');
  const resources = [`clusteroperator: ${metadata.name}`];
  const reference = `kubectl describe clusteroperator ${metadata.name}`;
  if (available?.status === 'False') {
    const message = `Cluster Operator ${metadata.name} is unavailable (${available.reason || 'no reason'})`;
    const weight = { level: 'Critical', impact: 'API Availability' } as const;
    return [told(available, { ...weight, message, reference, resources })];
  }
  if (degraded?.status !== 'True') return [];
  const message = `Cluster Operator ${metadata.name} is degraded (${degraded.reason || 'no reason'})`;
  const weight = { level: 'Error', impact: 'Update Stalled' } as const;
  return [told(degraded, { ...weight, message, reference, resources })];
}

function ofNode({ metadata, status }: NodeUpdate): HealthFinding[] {
  const degraded = findCondition(status?.conditions, 'Degraded');
  if (degraded?.status !== 'True') return [];
  const message = `Node ${metadata.name} needs a person (${degraded.reason})`;
  const weight = { level: 'Error', impact: 'Update Stalled' } as const;
  const reference = `sluice node why ${metadata.name}`;
  return [told(degraded, { ...weight, message, reference, resources: [`node: ${metadata.name}`] })];
}
