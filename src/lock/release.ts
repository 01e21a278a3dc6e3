import type { FleetLockGroup } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { recordEvent } from '../kube/events.ts';
import { createApiStore } from './api-store.ts';
import { uncordon } from './drain.ts';
import { type Holder, unlock } from './slots.ts';

/**
 * An administrator takes a slot from its holder. An Event on the group says that it was done and from whom it was
 * taken, so that nobody has to guess later why two nodes were down.
 *
 * @param who the name of the node or the id of the client.
 */
export async function releaseHolder(
  client: KubeClient,
  groupName: string,
  who: string,
): Promise<'released' | 'not-held' | 'no-group'> {
  const kind = client.kinds.FleetLockGroup;
  const group = await client.tryGet<FleetLockGroup>(kind, groupName);
  if (group === undefined) return 'no-group';
  const store = createApiStore(client);
  const find = (holders: readonly Holder[]) => holders.find(({ id, node }) => id === who || node === who);
  const holder = await store.change(groupName, ({ holders }) => ({ holders, result: find(holders) }));
  if (holder === undefined) return 'not-held';
  // First the cordon: a crash in between leaves a slot that can be released again, not a node that nobody gives back.
  if (holder.node !== undefined) await uncordon(client, holder.node);
  await store.change(groupName, ({ holders }) => ({
    holders: unlock({ holders, slots: 0 }, holder.id),
    result: true,
  }));
  // A drain that was under way may have cordoned it anew in between; now none is any more.
  if (holder.node !== undefined) await uncordon(client, holder.node);
  await recordEvent(client, {
    kind,
    object: group,
    component: 'sluice',
    type: 'Warning',
    reason: 'SlotReleased',
    message: `the slot of ${holder.node ?? holder.id}, held since ${holder.since}, was released by an administrator`,
  });
  return 'released';
}
