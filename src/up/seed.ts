import type { AnyObject } from '../api/core.ts';
import { names } from '../api/names.ts';
import { installObjects } from '../install/install.ts';
import { shippedObjects } from '../install/manifests.ts';
import { applyObject } from '../kube/apply.ts';
import type { KubeClient } from '../kube/client.ts';
import { defaultGroup } from '../lock/default-group.ts';

/**
 * Brings a new cluster to where an installation leaves it: kinds, rights and policies as they are shipped, the
 * trusted keys, the ClusterVersion and the fleet lock's group. Run again, it changes nothing.
 */
export async function seedCluster(
  client: KubeClient,
  seed: {
    /** File name → SPKI PEM. */
    readonly trustedKeys: Readonly<Record<string, string>>;
    readonly clusterId: string;
    readonly lockSlots: number;
  },
): Promise<void> {
  const { kinds } = client;
  await installObjects(client, shippedObjects({ platform: client.platform }));
  const { configNamespace, trustedKeys, clusterVersion } = names(client.platform);
  await applyObject(client, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: trustedKeys, namespace: configNamespace },
    data: { ...seed.trustedKeys },
  } as AnyObject);
  if ((await client.tryGet(kinds.ClusterVersion, clusterVersion)) === undefined) {
    await client.create(kinds.ClusterVersion, {
      metadata: { name: clusterVersion },
      spec: { clusterID: seed.clusterId },
    });
  }
  if ((await client.tryGet(kinds.FleetLockGroup, defaultGroup)) === undefined) {
    await client.create(kinds.FleetLockGroup, {
      metadata: { name: defaultGroup },
      spec: { slots: seed.lockSlots },
    });
  }
}
