import type { KubeClient } from '../kube/client.ts';
import { type Reconciled, runController, watchOf } from '../kube/controller.ts';
import { isAlreadyExists } from '../kube/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { isReady } from './drain.ts';

/** The group that a node asks for where its configuration names none. */
export const defaultGroup = 'default';

export interface DefaultGroupOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly onReconciled?: ((facts: Reconciled) => void) | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** While a node is away it looks again after this long, whatever the watches tell. */
const awayPollMs = 5000;

/**
 * Makes the default group where there is none: without it every node that asks for a slot is refused for ever. One that
 * somebody has deleted comes back with one slot, and not before every node is back: who held a slot went with it.
 */
export async function keepDefaultGroup({
  client,
  clock,
  onReconciled,
  logger,
  signal,
}: DefaultGroupOptions): Promise<void> {
  const { kinds } = client;
  const keysOf = ({ metadata }: { metadata: { name: string } }) =>
    metadata.name === defaultGroup ? [defaultGroup] : [];
  await runController({
    name: 'default-group',
    onReconciled,
    client,
    clock,
    logger,
    signal,
    initialKeys: [defaultGroup],
    watches: [watchOf(kinds.FleetLockGroup, { keysOf })],
    reconcile: async () => {
      if ((await client.tryGet(kinds.FleetLockGroup, defaultGroup)) !== undefined) return {};
      const [nodes, updates] = await Promise.all([client.list(kinds.Node), client.list(kinds.NodeUpdate)]);
      const away = [
        ...nodes.items.filter((node) => !isReady(node)),
        ...updates.items.filter(({ status }) => status?.state === 'Finalizing'),
      ].map(({ metadata }) => metadata.name);
      if (away.length > 0) {
        logger.warn({ away }, 'there is no lock group default; it is made when every node is back');
        return { requeueAfterMs: awayPollMs };
      }
      try {
        await client.create(kinds.FleetLockGroup, { metadata: { name: defaultGroup }, spec: { slots: 1 } });
        logger.info({ group: defaultGroup }, 'the group is made, with one slot');
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      return {};
    },
  });
}
