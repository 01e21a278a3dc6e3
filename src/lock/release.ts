import type { FleetLockGroup } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { recordEvent } from '../kube/events.ts';
import { createApiStore } from './api-store.ts';
import { uncordon } from './drain.ts';

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
  const holder = await createApiStore(client).change(groupName, ({ holders }) => {
    const found = holders.find(({ id, node }) => id === who || node === who);
    return {
      holders: found === undefined ? holders : holders.filter((other) => other !== found),
      result: found,
    };
  });
  if (holder === undefined) return 'not-held';
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
