import type { ClusterOperator, ClusterVersion, NodeUpdate } from '../api/resources.ts';
import { conditionOf } from './upgrade-view.ts';

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

function ofVersion(version: ClusterVersion): HealthFinding[] {
  const resources = ['clusterversion: version'];
  const found: HealthFinding[] = [];
  const failing = conditionOf(version, 'Failing');
  if (failing?.status === 'True') {
    found.push({
      since: failing.lastTransitionTime,
      level: 'Error',
      impact: 'Update Stalled',
      message: `The update does not go on (${failing.reason ?? 'Failing'})`,
      description: failing.message ?? '',
      reference: 'docs/update.md#what-it-waits-for',
      resources,
    });
  } else if (failing?.status === 'Unknown') {
    found.push({
      since: failing.lastTransitionTime,
      level: 'Unknown',
      impact: 'Update Speed',
      message: `The update takes longer than expected (${failing.reason ?? 'unknown'})`,
      description: failing.message ?? '',
      reference: 'docs/update.md#what-it-waits-for',
      resources,
    });
  }
  const accepted = conditionOf(version, 'ReleaseAccepted');
  if (accepted?.status === 'False') {
    found.push({
      since: accepted.lastTransitionTime,
      level: 'Warning',
      impact: 'Update Stalled',
      message: `Another release that is asked for is refused (${accepted.reason ?? ''})`,
      description: accepted.message ?? '',
      reference: 'docs/update.md#refused',
      resources,
    });
  }
  return found;
}

function ofOperator({ metadata, status }: ClusterOperator): HealthFinding[] {
  const statusOf = (type: string) => status?.conditions?.find((each) => each.type === type);
  const available = statusOf('Available');
  const degraded = statusOf('Degraded');
  const resources = [`clusteroperator: ${metadata.name}`];
  const reference = `kubectl describe clusteroperator ${metadata.name}`;
  if (available?.status === 'False') {
    return [
      {
        since: available.lastTransitionTime,
        level: 'Critical',
        impact: 'API Availability',
        message: `Cluster Operator ${metadata.name} is unavailable (${available.reason || 'no reason'})`,
        description: available.message ?? '',
        reference,
        resources,
      },
    ];
  }
  if (degraded?.status !== 'True') return [];
  return [
    {
      since: degraded.lastTransitionTime,
      level: 'Error',
      impact: 'Update Stalled',
      message: `Cluster Operator ${metadata.name} is degraded (${degraded.reason || 'no reason'})`,
      description: degraded.message ?? '',
      reference,
      resources,
    },
  ];
}

function ofNode({ metadata, status }: NodeUpdate): HealthFinding[] {
  const degraded = status?.conditions?.find((each) => each.type === 'Degraded' && each.status === 'True');
  if (degraded === undefined) return [];
  return [
    {
      since: degraded.lastTransitionTime,
      level: 'Error',
      impact: 'Update Stalled',
      message: `Node ${metadata.name} needs a person (${degraded.reason})`,
      description: degraded.message,
      reference: `sluice node why ${metadata.name}`,
      resources: [`node: ${metadata.name}`],
    },
  ];
}
