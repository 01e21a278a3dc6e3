import type { KubeClient } from '../kube/client.ts';
import { type ClusterContent, clusterContent } from '../release/content.ts';
import { readerIdentity } from '../release/reader.ts';
import { type ConnectOptions, findCluster } from './connect.ts';

/** The content of the cluster's registries, read under the identity of the kubeconfig; the caller closes it. */
export async function openClusterContent(
  client: KubeClient,
  options: ConnectOptions,
): Promise<ClusterContent> {
  const { tls } = await findCluster(options);
  const identity = { caPem: tls.ca ?? '', certPem: tls.cert, keyPem: tls.key };
  return clusterContent(client, await readerIdentity(client, identity));
}
