import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';

/**
 * Sets what is asked for, whole: what an earlier request left in other fields (a mode, a force) does not stay, which
 * a merge patch of single fields would let it.
 */
export async function desireUpdate(
  client: KubeClient,
  release: { readonly image: string; readonly version?: string },
  options: { readonly force: boolean },
): Promise<ClusterVersion> {
  return await patch(client, {
    image: release.image,
    version: release.version ?? null,
    force: options.force ? true : null,
    architecture: null,
    mode: null,
  });
}

/** Takes the request back. An update that has begun goes on all the same. */
export async function withdrawUpdate(client: KubeClient): Promise<ClusterVersion> {
  return await patch(client, null);
}

async function patch(client: KubeClient, desiredUpdate: object | null): Promise<ClusterVersion> {
  const { clusterVersion } = names(client.platform);
  return await client.patch(client.kinds.ClusterVersion, clusterVersion, { spec: { desiredUpdate } });
}
