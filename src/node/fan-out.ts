import { createHash } from 'node:crypto';
import type { PlannedBlob } from '../copy/plan.ts';
import type { Clock } from '../observe/clock.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';

/** Another node that copies the same release, as its status says. */
export interface CopyingPeer {
  readonly node: string;
  readonly address: string;
  /** The release lies on media that are attached to it, as its status says. */
  readonly hasMedium: boolean;
  /** Undefined before it has said anything. */
  readonly bytesDone: number | undefined;
}

type Reachable = Pick<CopyingPeer, 'node' | 'address'>;

/** How one node shares a copy with others that make the same one: the medium is read once, not once per node. */
export interface FanOut {
  /** For `CopyOptions.elsewhere`. */
  elsewhere(blob: PlannedBlob): Promise<ContentSource | 'later' | undefined>;
}

/** A node that has not moved for so long is not waited for. Its status tells of progress every twenty seconds, and of steps that are a hundredth of the release. */
const patienceMs = 120_000;
/** A relay is waited for so long for one blob, and longer for what takes longer at so many bytes a second. */
const relayPatienceMs = 10_000;
const relayBytesPerSecond = 16 * 1024 * 1024;
/** One that was waited for in vain has begun later than the others: for so long it is asked, and not waited for. */
const behindMs = 60_000;

/**
 * What is on media is read by the nodes that they are attached to, each its share. Any other node takes its own share
 * from those, and the rest from the others that do the same: so the medium is read once, by few at a time, its node
 * sends each byte once, and every node receives each byte once. Where no such node copies (its disk may be full), all
 * read their shares through it, but for what it has on its disk.
 *
 * Shares are found by rendezvous hashing: each node finds the same ones by itself, and a node that joins or leaves moves
 * only its own share. All copy in one order: so the first blob that is lacking where its share is, is always one that
 * somebody works on, however shares have moved meanwhile.
 *
 * @param of.self asked again and again: what others see of this node, for else two would wait for each other.
 * @param of.peers asked again and again: who copies, and how far each is.
 * @param of.storeOf answers a source over what a node has on its disk already, whole or not.
 */
export function createFanOut(of: {
  readonly self: () => Pick<CopyingPeer, 'node' | 'hasMedium'>;
  readonly peers: () => readonly CopyingPeer[];
  readonly storeOf: (peer: Reachable) => ContentSource;
  /** Whether a node has a blob on its disk now; undefined where it does not answer. */
  readonly has: (peer: Reachable, blob: PlannedBlob) => Promise<boolean | undefined>;
  /** The node whose medium is read; absent: this one. Its own copy may stand still, or be whole. */
  readonly holder?: Reachable;
  readonly clock: Clock;
}): FanOut {
  const { clock } = of;
  /** By node: how far it was when it last moved, and when that was. */
  const movement = new Map<string, { bytes: number | undefined; at: number }>();

  function isPatient(peer: CopyingPeer): boolean {
    const known = movement.get(peer.node);
    if (known === undefined || known.bytes !== peer.bytesDone) {
      movement.set(peer.node, { bytes: peer.bytesDone, at: clock.monotonic() });
      return true;
    }
    return clock.monotonic() - known.at < patienceMs;
  }

  /** Since when each blob is waited for, of those that a relay is to bring; and relays that are behind, until when. */
  const waits = new Map<Digest, number>();
  const behind = new Map<string, number>();

  function isBehind(relay: CopyingPeer, blob: PlannedBlob): boolean {
    const now = clock.monotonic();
    if ((behind.get(relay.node) ?? now) > now) return true;
    const since = waits.get(blob.digest) ?? now;
    waits.set(blob.digest, since);
    if (now - since < relayPatienceMs + (blob.size / relayBytesPerSecond) * 1000) return false;
    behind.set(relay.node, now + behindMs);
    waits.clear(); // What waited with it begins anew when it is waited for again.
    return true;
  }

  /** Whose disk a blob is taken from, the first choice first; nobody's: from the medium. */
  function upstream(digest: Digest): CopyingPeer[] {
    const self = of.self();
    const peers = of.peers();
    const all = [self, ...peers];
    const readers = all.some((node) => node.hasMedium) ? all.filter((node) => node.hasMedium) : all;
    const relays = all.filter((node) => !readers.includes(node));
    const reader = owner(digest, readers);
    const relay = owner(digest, relays);
    if (reader === self) return [];
    const way = readers.includes(self) || relay === self ? [reader] : [relay, reader];
    return peers.filter((peer) => way.includes(peer)).sort((a, b) => way.indexOf(a) - way.indexOf(b));
  }

  return {
    async elsewhere(blob) {
      const way = upstream(blob.digest);
      for (const peer of way) {
        const has = await of.has(peer, blob);
        if (has === true) {
          movement.set(peer.node, { bytes: peer.bytesDone, at: clock.monotonic() });
          waits.delete(blob.digest);
          return of.storeOf(peer);
        }
        const isLast = peer === way.at(-1);
        if (has === false && isPatient(peer) && (isLast || !isBehind(peer, blob))) return 'later';
      }
      const { holder } = of;
      if (holder === undefined || way.some((peer) => peer.node === holder.node)) return undefined;
      return (await of.has(holder, blob)) === true ? of.storeOf(holder) : undefined;
    },
  };
}

/** The node whose hash together with the digest is the highest; the same whoever asks. */
export function owner<T extends { readonly node: string }>(
  digest: Digest,
  nodes: readonly T[],
): T | undefined {
  let best: { node: T; score: string } | undefined;
  for (const node of nodes) {
    const score = createHash('sha256').update(`${node.node}\n${digest}`).digest('hex');
    if (best === undefined || score > best.score) best = { node, score };
  }
  return best?.node;
}
