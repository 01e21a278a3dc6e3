import type { NodeUpdate } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';

export type NodeWindow = NonNullable<NodeUpdate['spec']['window']>;

/** Lets a node reboot until a time. Errors: ApiError, where the node has no NodeUpdate for instance. */
export async function openWindow(client: KubeClient, node: string, window: NodeWindow): Promise<void> {
  // A merge patch would leave words of an earlier window standing.
  await client.patch(client.kinds.NodeUpdate, node, { spec: { window: { release: null, ...window } } });
}

/** Takes the permission back. */
export async function closeWindow(client: KubeClient, node: string): Promise<void> {
  await client.patch(client.kinds.NodeUpdate, node, { spec: { window: null } });
}
