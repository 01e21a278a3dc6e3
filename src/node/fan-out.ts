import { createHash } from 'node:crypto';
import type { PlannedBlob } from '../copy/plan.ts';
import type { Clock } from '../observe/clock.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';

/** Another node that copies the same release, as its status says. */
export interface CopyingPeer {
  readonly node: string;
  readonly address: string;
  /** Undefined before it has said anything. */
  readonly bytesDone: number | undefined;
}

/** How one node shares a copy with others that make the same one: the medium is read once, not once per node. */
export interface FanOut {
  /** The node's own share first: what nobody else fetches. */
  order(blobs: readonly PlannedBlob[]): PlannedBlob[];
  /** For `CopyOptions.elsewhere`. */
  elsewhere(blob: PlannedBlob): Promise<ContentSource | 'later' | undefined>;
}

/** A node that has not moved for so long is not waited for: its share is read from the medium as well. */
const patienceMs = 15_000;

/**
 * Every blob has one owner among the nodes that copy (rendezvous hashing: each node finds the same one by itself,
 * and a node that joins or leaves moves only its own share). A node reads its own share from the medium, and the
 * shares of others from their stores, as soon as they have them.
 *
 * @param of.peers asked again and again: who copies, and how far each is.
 * @param of.storeOf answers a source over what a node has on its disk already, whole or not.
 */
export function createFanOut(of: {
  readonly self: string;
  readonly peers: () => readonly CopyingPeer[];
  readonly storeOf: (peer: CopyingPeer) => ContentSource;
  /** Whether a node has a blob on its disk now. False also where it does not answer. */
  readonly has: (peer: CopyingPeer, blob: PlannedBlob) => Promise<boolean>;
  readonly clock: Clock;
}): FanOut {
  const { self, clock } = of;
  /** By node: how far it was when it last moved, and when that was. */
  const movement = new Map<string, { bytes: number | undefined; at: number }>();

  function isPatient(peer: CopyingPeer): boolean {
    const known = movement.get(peer.node);
    if (known === undefined || known.bytes !== peer.bytesDone) {
      movement.set(peer.node, { bytes: peer.bytesDone, at: clock.now() });
      return true;
    }
    return clock.now() - known.at < patienceMs;
  }

  const ownerOf = (digest: Digest) => owner(digest, [self, ...of.peers().map((peer) => peer.node)]);
  return {
    order(blobs) {
      const own = blobs.filter((blob) => ownerOf(blob.digest) === self);
      return [...own, ...blobs.filter((blob) => !own.includes(blob))];
    },
    async elsewhere(blob) {
      const name = ownerOf(blob.digest);
      const peer = of.peers().find((each) => each.node === name);
      if (peer === undefined) return undefined;
      if (await of.has(peer, blob)) {
        movement.set(peer.node, { bytes: peer.bytesDone, at: clock.now() });
        return of.storeOf(peer);
      }
      return isPatient(peer) ? 'later' : undefined;
    },
  };
}

/** The node whose hash together with the digest is the highest; the same whoever asks. */
export function owner(digest: Digest, nodes: readonly string[]): string | undefined {
  let best: { node: string; score: string } | undefined;
  for (const node of nodes) {
    const score = createHash('sha256').update(`${node}\n${digest}`).digest('hex');
    if (best === undefined || score > best.score) best = { node, score };
  }
  return best?.node;
}
