import type { KindRef } from '../api/kinds.ts';
import type { KubeClient } from '../kube/client.ts';

/** A kind that the API serves, and what can be done with it. */
export interface ServedKind extends KindRef {
  readonly verbs: readonly string[];
}

interface DiscoveryList {
  items?: {
    metadata?: { name?: string };
    versions?: {
      version: string;
      resources?: {
        resource: string;
        responseKind?: { kind: string };
        scope: 'Namespaced' | 'Cluster';
        verbs: string[];
      }[];
    }[];
  }[];
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/**
 * Every kind that the API serves now, once each, in the version that it prefers (aggregated discovery,
 * apidiscovery.k8s.io/v2).
 */
export async function discoverKinds(client: KubeClient, signal?: AbortSignal): Promise<ServedKind[]> {
  const ask = async (path: string) =>
    (await client.raw({ path, accept, ...(signal === undefined ? {} : { signal }) })) as DiscoveryList;
  const [core, groups] = await Promise.all([ask('/api'), ask('/apis')]);
  const kinds = new Map<string, ServedKind>();
  for (const { metadata, versions = [] } of [...(core.items ?? []), ...(groups.items ?? [])]) {
    const group = metadata?.name ?? '';
    for (const { version, resources = [] } of versions) {
      for (const { resource: plural, responseKind, scope, verbs } of resources) {
        const key = `${group}/${plural}`;
        if (kinds.has(key) || responseKind === undefined) continue;
        kinds.set(key, {
          kind: responseKind.kind,
          plural,
          group,
          version,
          namespaced: scope === 'Namespaced',
          verbs,
        });
      }
    }
  }
  return [...kinds.values()];
}
