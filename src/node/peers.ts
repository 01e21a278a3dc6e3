import type { Node } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { addressOf } from '../release/reports.ts';
import type { CopyingPeer } from './fan-out.ts';

/** Another node that can serve a bundle. */
export interface PeerBundle {
  readonly node: string;
  readonly address: string;
  readonly name: string;
  readonly bundleDigest: Digest;
  /** From its disk, or from media that are attached to it. */
  readonly from: 'store' | 'media';
  /** Names of the releases that must be here where the node's media carry a delta; absent where they carry it whole. */
  readonly needs?: readonly string[];
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
    const note = (
      name: string,
      digest: string | undefined,
      from: PeerBundle['from'],
      needs?: readonly string[],
    ) => {
      if (digest === undefined || !isDigest(digest)) return;
      found.push({
        node,
        address,
        name,
        bundleDigest: digest,
        from,
        ...(needs === undefined ? {} : { needs }),
      });
    };
    for (const each of update.status?.store ?? []) note(each.name, each.bundleDigest, 'store');
    for (const each of update.status?.media ?? []) {
      const needs = each.delta?.since.map((base) => base.name);
      if (each.verified === true) note(each.name, each.bundleDigest, 'media', needs);
    }
  }
  const rank = (peer: PeerBundle) => `${peer.from === 'store' ? 0 : 1} ${peer.node}`;
  return found.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/**
 * Other control-plane nodes that do not hold a release yet: all of them are to have it, and will say so soon. One
 * that is not ready, or whose copy is paused or has failed, is not counted on.
 */
export function copyingPeers(
  self: string,
  release: string,
  bundleDigest: Digest | undefined,
  nodes: readonly Node[],
  nodeUpdates: readonly NodeUpdate[],
): CopyingPeer[] {
  const updates = new Map(nodeUpdates.map((update) => [update.metadata.name, update.status]));
  return nodes.flatMap((node): CopyingPeer[] => {
    const { name } = node.metadata;
    const address = addressOf(node);
    const status = updates.get(name);
    const isControlPlane = node.metadata.labels?.[labels.controlPlane] !== undefined;
    const isReady = node.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
    if (name === self || address === undefined || status === undefined) return [];
    if (!isControlPlane || isReady !== true) return [];
    if (status.store?.some((each) => each.name === release)) return [];
    const copy = status.copies?.find((each) => each.release === release);
    if (copy?.state === 'Paused' || copy?.state === 'Failed') return [];
    return [
      {
        node: name,
        address,
        hasMedium: hasMedium(status, release, bundleDigest),
        bytesDone: copy?.bytesDone,
      },
    ];
  });
}

/** Whether a node says that it has this release on verified media. */
export function hasMedium(
  status: NodeUpdate['status'],
  release: string,
  bundleDigest: Digest | undefined,
): boolean {
  const found = status?.media?.some(
    (each) => each.name === release && each.bundleDigest === bundleDigest && each.verified === true,
  );
  return found === true;
}
