import { hostPort } from '../http/client.ts';
import type { Digest } from '../oci/digest.ts';
import type { Attachment } from './attachments.ts';
import type { PeerBundle } from './peers.ts';

/** One line of `<run>/trees.json`: what the node's registry answers from, in this order. */
export type TreeEntry =
  | { readonly kind: 'store'; readonly path: string }
  | { readonly kind: 'media'; readonly path: string; readonly bundleDigest: Digest }
  | { readonly kind: 'peer'; readonly url: string; readonly bundleDigest: Digest };

/**
 * The store, then this node's own verified media, then peers' media that carry what this node has neither on
 * disk nor on media: each peer only for that bundle, so that no two nodes send a question in circles.
 */
export function treeEntries(of: {
  readonly storePath: string;
  readonly held: ReadonlySet<Digest>;
  readonly attachments: readonly Attachment[];
  readonly peers: readonly PeerBundle[];
  readonly registryPort: number;
}): TreeEntry[] {
  const media = of.attachments
    .filter((attachment) => attachment.state === 'Present')
    .flatMap((attachment) =>
      attachment.bundles.flatMap((each): TreeEntry[] =>
        each.state === 'Verified'
          ? [{ kind: 'media', path: attachment.path, bundleDigest: each.bundle.digest }]
          : [],
      ),
    );
  const own = new Set(media.flatMap((entry) => (entry.kind === 'media' ? entry.bundleDigest : [])));
  const peers = of.peers
    .filter((peer) => peer.from === 'media' && !own.has(peer.bundleDigest) && !of.held.has(peer.bundleDigest))
    .map(
      (peer): TreeEntry => ({
        kind: 'peer',
        url: `https://${hostPort(peer.address, of.registryPort)}`,
        bundleDigest: peer.bundleDigest,
      }),
    );
  return [{ kind: 'store', path: of.storePath }, ...media, ...peers];
}
