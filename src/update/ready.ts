import type { AnyObject, CustomResourceDefinition, Deployment, Job, KubeObject } from '../api/core.ts';
import type { ClusterOperator } from '../api/resources.ts';
import { cleanText } from '../gates/result.ts';
import { findCondition } from '../kube/conditions.ts';
import { degradedToleratedMs, type TaskWait } from './wait.ts';

/** Whether an applied object has come to where the walk may go on from it. */
export type Readiness =
  | { readonly ready: true }
  /** What is wrong is waited on all the same. */
  | ({ readonly ready: false } & TaskWait);

const ready: Readiness = { ready: true };

/** Milliseconds that the making of Pods may be refused before it counts: what it needs may come in the same walk. */
const refusalToleratedMs = 60_000;
/** Characters of the words of such a refusal. */
const refusalCharsMax = 300;

/**
 * @param live the object as it stands in the API now.
 * @param manifest as the payload states it.
 */
export function readinessOf(live: AnyObject, manifest: AnyObject): Readiness {
  switch (`${groupOf(live.apiVersion)}/${live.kind}`) {
    case 'apiextensions.k8s.io/CustomResourceDefinition':
      return definitionReady(live as unknown as CustomResourceDefinition);
    case 'apps/Deployment':
      return deploymentReady(live as unknown as Deployment);
    case 'apps/DaemonSet':
      return daemonSetReady(live as unknown as DaemonSet);
    case 'batch/Job':
      return jobReady(live as unknown as Job);
    case 'config.openshift.io/ClusterOperator':
    case 'sluice.dev/ClusterOperator':
      return operatorReady(live as unknown as ClusterOperator, manifest as unknown as ClusterOperator);
    default:
      return ready;
  }
}

/** Since when, by a time that an object tells (RFC 3339); nothing where it tells none. */
export function sinceOf(text: string | undefined): { since?: number } {
  const since = Date.parse(text ?? '');
  return Number.isNaN(since) ? {} : { since };
}

function definitionReady({ metadata, status }: CustomResourceDefinition): Readiness {
  const established = findCondition(status?.conditions, 'Established');
  if (established?.status === 'True') return ready;
  const message = `CustomResourceDefinition ${metadata.name} is not established`;
  return { ready: false, message, ...sinceOf(established?.lastTransitionTime ?? metadata.creationTimestamp) };
}

/** Rolled out: the controller has seen this generation, and every replica is new and available. */
function deploymentReady({ metadata, spec, status }: Deployment): Readiness {
  const replicas = spec.replicas ?? 1;
  const name = `Deployment ${metadata.namespace ?? ''}/${metadata.name}`;
  const seen = (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
  const updated = seen ? (status?.updatedReplicas ?? 0) : 0;
  const available = seen ? (status?.availableReplicas ?? 0) : 0;
  const leftover = (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0);
  if (seen && updated >= replicas && available >= replicas && leftover <= 0) return ready;
  const message = `${name} (${updated} of ${replicas} updated, ${available} available)`;
  const conditionOf = (type: string) => findCondition(status?.conditions, type);
  const progressing = conditionOf('Progressing');
  if (seen && progressing?.status === 'False') {
    return {
      ready: false,
      message: `${message}: ${progressing.message ?? progressing.reason ?? ''}`,
      failing: 'WorkloadNotProgressing',
      ...sinceOf(progressing.lastTransitionTime),
    };
  }
  // Its Pods cannot even be made: a quota, an admission, an image name that the API refuses.
  const refused = conditionOf('ReplicaFailure');
  if (refused?.status === 'True') {
    const words = [refused.reason, refused.message].filter((part) => part !== undefined && part !== '');
    return {
      ready: false,
      message: `${message}: ${cleanText(words.join(': '), refusalCharsMax)}`,
      failing: 'WorkloadNotProgressing',
      toleratedMs: refusalToleratedMs,
      ...sinceOf(refused.lastTransitionTime),
    };
  }
  const standing = conditionOf('Available');
  const lost = standing?.status === 'False' ? standing.lastTransitionTime : undefined;
  return { ready: false, message, ...sinceOf(lost) };
}

/** The fields of a DaemonSet that tell how far it is rolled out. */
interface DaemonSet extends KubeObject {
  status?: {
    observedGeneration?: number;
    desiredNumberScheduled?: number;
    updatedNumberScheduled?: number;
    numberUnavailable?: number;
    numberAvailable?: number;
  };
}

/** As the cluster-version operator waits: some Pod runs the new template, and none that should run is missing. */
function daemonSetReady({ metadata, status }: DaemonSet): Readiness {
  // Where nothing plays the controller of DaemonSets there is no status to wait for (docs/embedded-api.md).
  if (status?.observedGeneration === undefined) return ready;
  const name = `DaemonSet ${metadata.namespace ?? ''}/${metadata.name}`;
  const { desiredNumberScheduled: wanted = 0, updatedNumberScheduled: updated = 0 } = status;
  const missing = status.numberUnavailable ?? 0;
  const seen = status.observedGeneration >= (metadata.generation ?? 0);
  if (seen && missing === 0 && (wanted === 0 || updated > 0)) return ready;
  return { ready: false, message: `${name} (${updated} of ${wanted} updated, ${missing} unavailable)` };
}

function jobReady({ metadata, status }: Job): Readiness {
  const has = (type: string) =>
    status?.conditions?.find((each) => each.type === type && each.status === 'True');
  if (has('Complete') !== undefined) return ready;
  const name = `Job ${metadata.namespace ?? ''}/${metadata.name}`;
  const failed = has('Failed');
  if (failed === undefined) {
    const since = sinceOf(status?.startTime ?? metadata.creationTimestamp);
    return { ready: false, message: `${name} to complete`, ...since };
  }
  return {
    ready: false,
    message: `${name} failed: ${failed.message ?? failed.reason ?? ''}`,
    failing: 'UpdatePayloadFailed',
    ...sinceOf(failed.lastTransitionTime),
  };
}

/**
 * At the version: the operator reports every version that the payload's manifest lists, and is available. A missing
 * Degraded counts as degraded, since nobody has said that it is well.
 */
function operatorReady(live: ClusterOperator, manifest: ClusterOperator): Readiness {
  const { name } = live.metadata;
  const reported = new Map((live.status?.versions ?? []).map((each) => [each.name, each.version]));
  const missing = (manifest.status?.versions ?? []).filter(
    (each) => reported.get(each.name) !== each.version,
  );
  const statusOf = (type: string) => findCondition(live.status?.conditions, type);
  const available = statusOf('Available');
  const degraded = statusOf('Degraded');
  const wait = (message: string, more: Partial<TaskWait> = {}): Readiness => ({
    ready: false,
    message: `cluster operator ${name} ${message}`,
    operator: name,
    ...more,
  });
  // Not available: it fails now, whatever version it reports.
  if (available?.status === 'False') {
    return wait(`to be available${words(available)}`, {
      failing: 'ClusterOperatorNotAvailable',
      ...sinceOf(available.lastTransitionTime),
    });
  }
  if (missing.length > 0) {
    const versions = missing.map((each) => `${each.name} ${each.version}`).join(', ');
    const stands = missing.map((each) => reported.get(each.name) ?? 'none').join(', ');
    const progressing = statusOf('Progressing');
    const moved = progressing?.status === 'True' ? progressing.lastTransitionTime : undefined;
    return wait(`to report ${versions} (reports ${stands})`, sinceOf(moved));
  }
  if (available?.status !== 'True') {
    return wait(`to be available${words(available)}`, sinceOf(available?.lastTransitionTime));
  }
  if (degraded?.status !== 'False') {
    return wait(`to be no longer degraded${words(degraded)}`, {
      ...sinceOf(degraded?.lastTransitionTime),
      ...(degraded?.status === 'True'
        ? { failing: 'ClusterOperatorDegraded', toleratedMs: degradedToleratedMs }
        : {}),
    });
  }
  return ready;
}

function words(condition: { reason?: string; message?: string } | undefined): string {
  if (condition === undefined) return ' (not reported)';
  const text = [condition.reason, condition.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
  return text === '' ? '' : ` (${text})`;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}
