import type { ClusterVersion } from '../api/resources.ts';
import { osImageUse, useReasons } from './in-use.ts';

/**
 * What a person does so that a release is not in use any more. Pure.
 *
 * @param why as `inUse` says it.
 * @param version undefined where it cannot be read.
 */
export function stepToFree(why: string, version: ClusterVersion | undefined): string {
  const [latest] = version?.status?.history ?? [];
  const isUpdating = latest !== undefined && latest.state !== 'Completed';
  const updating = `Wait until the update to ${latest?.version} is completed (sluice upgrade status)`;
  const node = osImageUse.exec(why)?.[1];
  if (node !== undefined)
    return `Wait until ${node} has rebooted into another release (sluice node why ${node}), then run this again.`;
  switch (why) {
    case useReasons.requested:
      return 'Take that request back (sluice upgrade clear), then run this again.';
    case useReasons.completed:
    case useReasons.begun:
      return isUpdating
        ? `${updating}, then run this again.`
        : 'See how the update stands: sluice upgrade status.';
    case useReasons.desired:
      if (isUpdating) return `${updating}. It stays after that too: it is what the cluster runs then.`;
      return 'The cluster cannot be without it: update to another release first (sluice upgrade), then run this again.';
    default:
      return 'See what uses it: sluice release ls.';
  }
}
