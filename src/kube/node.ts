import type { Node } from '../api/core.ts';

/** For `InformerOptions.keep`: a kubelet names fifty images and their sizes, most of a Node and read by nobody here. */
export function withoutImages(node: Node): Node {
  if (node.status?.images === undefined) return node;
  const { images: _, ...status } = node.status;
  return { ...node, status };
}
