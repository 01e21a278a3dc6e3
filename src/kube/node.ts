import type { Node } from '../api/core.ts';
import type { KubeClient } from './client.ts';
import { createInformer, type InformerOptions } from './informer.ts';
import type { Informer } from './informer-state.ts';

/** For `InformerOptions.keep`: a kubelet names fifty images and their sizes, most of a Node and read by nobody here. */
export function withoutImages(node: Node): Node {
  if (node.status?.images === undefined) return node;
  const { images: _, ...status } = node.status;
  return { ...node, status };
}

/** The Nodes of the cluster: those that the client follows already, else an informer of its own. */
export function nodeInformer(client: KubeClient, options: InformerOptions<Node>): Informer<Node> {
  const { Node: kind } = client.kinds;
  return client.cacheOf(kind) ?? createInformer(client, kind, { ...options, keep: withoutImages });
}
