import { parseAllDocuments } from 'yaml';
import type { AnyObject } from '../api/core.ts';
import { renderCrds } from '../api/crds.ts';
import { names } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import { applyObject } from '../kube/apply.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor } from '../kube/wait.ts';
import { shippedFiles, shippedText } from '../program/files.ts';

/** Where the rights and policies of a cluster of ours are. */
const manifestFolder = 'deploy/standalone';

/** The objects that the program ships for a cluster of its own, in the order of the file names. */
export function shippedManifests(): AnyObject[] {
  const objects: AnyObject[] = [];
  for (const file of shippedFiles(manifestFolder)) {
    for (const document of parseAllDocuments(shippedText(file))) {
      const [error] = document.errors;
      if (error !== undefined) throw new SluiceError('InputInvalid', `${file}: ${error.message}`);
      const object = document.toJS() as AnyObject | null;
      if (object !== null) objects.push(object);
    }
  }
  return objects;
}

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
  for (const crd of renderCrds(client.platform)) {
    await applyObject(client, crd);
    await waitFor(
      client,
      kinds.CustomResourceDefinition,
      crd.metadata.name ?? '',
      (object) =>
        object?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ??
        false,
      { timeoutMs: 20_000 },
    );
  }
  for (const object of shippedManifests()) await applyObject(client, object);
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
  if ((await client.tryGet(kinds.FleetLockGroup, 'default')) === undefined) {
    await client.create(kinds.FleetLockGroup, {
      metadata: { name: 'default' },
      spec: { slots: seed.lockSlots },
    });
  }
}
