import type { Node } from '../api/core.ts';
import type { NodeUpdate } from '../api/resources.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { addressOf } from '../release/reports.ts';

/** Another node that can serve a bundle. */
export interface PeerBundle {
  readonly node: string;
  readonly address: string;
  readonly name: string;
  readonly bundleDigest: Digest;
  /** From its disk, or from media that are attached to it. */
  readonly from: 'store' | 'media';
}

/** What the other nodes can serve, by what they say themselves; sorted by node, disks before media. */
export function peerBundles(
  self: string,
  nodes: readonly Node[],
  nodeUpdates: readonly NodeUpdate[],
): PeerBundle[] {
  const addresses = new Map(nodes.map((node) => [node.metadata.name, addressOf(node)]));
  const found: PeerBundle[] = [];
  for (const update of nodeUpdates) {
    const node = update.metadata.name;
    const address = addresses.get(node);
    if (node === self || address === undefined) continue;
    const note = (name: string, digest: string | undefined, from: PeerBundle['from']) => {
      if (digest !== undefined && isDigest(digest)) {
        found.push({ node, address, name, bundleDigest: digest, from });
      }
    };
    for (const each of update.status?.store ?? []) note(each.name, each.bundleDigest, 'store');
    for (const each of update.status?.media ?? []) {
      if (each.verified === true) note(each.name, each.bundleDigest, 'media');
    }
  }
  const rank = (peer: PeerBundle) => `${peer.from === 'store' ? 0 : 1} ${peer.node}`;
  return found.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
