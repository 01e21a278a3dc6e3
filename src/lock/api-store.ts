import type { FleetLockGroup } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict } from '../kube/error.ts';
import type { Holder } from './slots.ts';
import { createGatherer, type LockGroup, type LockStore } from './store.ts';

/** Writers that lose a race against another server look again this often. */
const conflictRetriesMax = 20;

/** The slots in FleetLockGroup.status: every replica answers alike, and people see the holders by kubectl. */
export function createApiStore(
  client: Pick<KubeClient, 'kinds' | 'tryGet' | 'updateStatus' | 'list'>,
): LockStore {
  const kind = client.kinds.FleetLockGroup;

  async function write(name: string, decide: (group: LockGroup) => readonly Holder[]): Promise<boolean> {
    for (let attempt = 0; ; attempt += 1) {
      const object = await client.tryGet<FleetLockGroup>(kind, name);
      if (object === undefined) return false;
      const group = groupOf(object);
      const holders = decide(group);
      if (holders === group.holders) return true;
      try {
        await client.updateStatus<FleetLockGroup>(kind, {
          ...object,
          status: { ...object.status, holders: [...holders] },
        });
        return true;
      } catch (error) {
        if (!isConflict(error) || attempt >= conflictRetriesMax) throw error;
      }
    }
  }

  return {
    change: createGatherer(write),
    groups: async () => (await client.list<FleetLockGroup>(kind)).items.map(groupOf),
  };
}

export function groupOf({ metadata, spec, status }: FleetLockGroup): LockGroup {
  return {
    name: metadata.name ?? '',
    slots: spec?.slots ?? 1,
    minReadyMs: (spec?.minReadySeconds ?? 0) * 1000,
    overdueMs: (spec?.overdueSeconds ?? 1800) * 1000,
    drain: spec?.drain ?? 'Required',
    drainTimeoutMs: (spec?.drainTimeoutSeconds ?? 300) * 1000,
    holders: (status?.holders ?? []) as readonly Holder[],
  };
}
