import type { ClusterVersion, ClusterVersionStatus } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { findCondition } from '../kube/conditions.ts';
import type { EventRecorder } from '../kube/events.ts';

/** Tells once, as an event, what has changed for a person: a refusal, the end of an update. */
export function tellChanges(
  events: EventRecorder,
  client: KubeClient,
  before: ClusterVersion,
  status: ClusterVersionStatus,
): void {
  const { ClusterVersion: kind } = client.kinds;
  const conditionOf = (of: ClusterVersionStatus | undefined) =>
    findCondition(of?.conditions, 'ReleaseAccepted');
  const now = conditionOf(status);
  if (now?.status === 'False' && now.message !== conditionOf(before.status)?.message) {
    events.record({
      kind,
      object: before,
      type: 'Warning',
      reason: 'PreconditionBlock',
      message: now.message ?? '',
    });
  }
  const wasDone = before.status?.history?.[0]?.state === 'Completed';
  if (!wasDone && status.history?.[0]?.state === 'Completed') {
    const message = `Done applying ${status.desired.version}`;
    events.record({ kind, object: before, type: 'Normal', reason: 'UpdateCompleted', message });
  }
}
