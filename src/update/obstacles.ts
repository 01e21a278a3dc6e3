import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { openAcks } from '../gates/acknowledge.ts';
import { tryVersion } from '../gates/version.ts';
import type { KubeClient } from '../kube/client.ts';
import { findCondition } from '../kube/conditions.ts';
import type { PassWait } from './wait.ts';

/** One thing that stands against going to another minor version. */
export interface Obstacle {
  readonly name: string;
  readonly message: string;
}

/** What stands against going to another minor version, told before anybody asks by the condition Upgradeable. */
export async function readObstacles(
  client: KubeClient,
  clusterVersion: ClusterVersion,
  waiting: readonly PassWait[],
): Promise<Obstacle[]> {
  const { adminGates, adminAcks, configNamespace, configManagedNamespace } = names(client.platform);
  const configMap = async (name: string, namespace: string) =>
    (await client.tryGet(client.kinds.ConfigMap, name, namespace))?.data ?? {};
  const [operators, gates, acks] = await Promise.all([
    client.list(client.kinds.ClusterOperator),
    configMap(adminGates, configManagedNamespace),
    configMap(adminAcks, configNamespace),
  ]);
  const found = operators.items.flatMap(({ metadata, status }): Obstacle[] => {
    const upgradeable = findCondition(status?.conditions, 'Upgradeable');
    if (upgradeable?.status !== 'False') return [];
    const { reason = 'no reason', message = '' } = upgradeable;
    const words = `Cluster operator ${metadata.name} should not be updated between minor versions: ${reason}: ${message}`;
    return [{ name: `ClusterOperatorUpgradeable-${metadata.name}`, message: words }];
  });
  return [
    ...ofVersion(clusterVersion),
    ...ofDeletions(waiting),
    ...ofAcks(clusterVersion, gates, acks),
    ...found,
  ];
}

function ofVersion({ spec, status }: ClusterVersion): Obstacle[] {
  const found: Obstacle[] = [];
  const [latest] = status?.history ?? [];
  if (latest !== undefined && latest.state !== 'Completed') {
    const message = `An update to ${latest.version || latest.image} is already in progress`;
    found.push({ name: 'ClusterVersionUpdating', message });
  }
  if ((spec.overrides ?? []).some((override) => override.unmanaged)) {
    const message =
      'Disabling ownership via cluster version overrides prevents updates between minor versions';
    found.push({ name: 'ClusterVersionOverrides', message });
  }
  return found;
}

function ofDeletions(waiting: readonly PassWait[]): Obstacle[] {
  const deletions = waiting.filter((wait) => wait.deletes === true);
  if (deletions.length === 0) return [];
  const message = `Deletions of the release are not done: ${deletions.map((wait) => wait.message).join('; ')}`;
  return [{ name: 'ResourceDeletionInProgress', message }];
}

function ofAcks(
  { status }: ClusterVersion,
  gates: Readonly<Record<string, string>>,
  acks: Readonly<Record<string, string>>,
): Obstacle[] {
  const current = tryVersion(status?.desired.version ?? '');
  if (current === undefined) return [];
  return openAcks(current, gates, acks).map(({ key, message }) => ({ name: `AdminAck-${key}`, message }));
}
