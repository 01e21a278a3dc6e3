import type { ErrorCode } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { Attachment } from './attachments.ts';
import type { PeerBundle } from './peers.ts';

/** Where a release can be read from. */
export type CopySource =
  /** The store itself: content that came into it otherwise is hashed and becomes a release. */
  | { readonly kind: 'store'; readonly key: string; readonly bundleDigest: Digest | undefined }
  | {
      readonly kind: 'media';
      readonly key: string;
      readonly bundleDigest: Digest;
      readonly attachment: Attachment;
    }
  | { readonly kind: 'peer'; readonly key: string; readonly bundleDigest: Digest; readonly peer: PeerBundle };

/** How the last try from a source ended. */
export interface SourceFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** In a row. */
  readonly count: number;
  /** Milliseconds since the epoch; not tried again before. */
  readonly retryAt: number;
}

export type SourceChoice =
  | { readonly choice: 'Ready'; readonly source: CopySource }
  /** Every source has failed lately; the one that is due first. */
  | { readonly choice: 'Later'; readonly at: number; readonly failure: SourceFailure }
  /** It was attached here and is gone. */
  | { readonly choice: 'Lost'; readonly message: string }
  /** What can be had under the name is not what the name is bound to. */
  | { readonly choice: 'Conflict'; readonly message: string }
  | { readonly choice: 'None' };

/**
 * Where to copy a release from: this node's own store and media first, then a node that holds it on its disk
 * (that spares the medium, which may be slow), then a node whose media carry it; a source that failed waits its
 * turn while another is tried.
 *
 * @param of.bound the identity that the name is bound to on this node.
 * @param of.inStore the store has the bundle's name, without a record that it is whole.
 */
export function chooseSource(of: {
  readonly name: string;
  readonly bound: Digest | undefined;
  readonly inStore: boolean;
  readonly attachments: readonly Attachment[];
  readonly peers: readonly PeerBundle[];
  readonly failures: ReadonlyMap<string, SourceFailure>;
  readonly now: number;
}): SourceChoice {
  const { name, bound } = of;
  const sources: CopySource[] = of.inStore ? [{ kind: 'store', key: 'store', bundleDigest: bound }] : [];
  let lost: string | undefined;
  for (const attachment of of.attachments) {
    for (const each of attachment.bundles) {
      if (each.name !== name) continue;
      if (each.state === 'Refused') {
        if (each.reason === 'MediaLost') lost = each.message;
        continue;
      }
      const key = `media ${attachment.path}`;
      sources.push({ kind: 'media', key, bundleDigest: each.bundle.digest, attachment });
    }
  }
  for (const peer of of.peers) {
    if (peer.name !== name) continue;
    const key = `peer ${peer.node} ${peer.from}`;
    sources.push({ kind: 'peer', key, bundleDigest: peer.bundleDigest, peer });
  }
  const digests = new Set(sources.flatMap((source) => source.bundleDigest ?? []));
  const identity = bound ?? (digests.size === 1 ? [...digests][0] : undefined);
  if (identity === undefined && digests.size > 1) {
    return { choice: 'Conflict', message: `nodes offer different content as ${name}: ${listed(sources)}` };
  }
  const usable = sources.filter((source) => (source.bundleDigest ?? identity) === identity);
  if (usable.length === 0 && sources.length > 0) {
    const message = `${name} is ${identity} on this node, and what is offered is other content: ${listed(sources)}`;
    return { choice: 'Conflict', message };
  }
  return (
    firstDue(usable, of.failures, of.now) ??
    (lost === undefined ? { choice: 'None' } : { choice: 'Lost', message: lost })
  );
}

function firstDue(
  sources: readonly CopySource[],
  failures: ReadonlyMap<string, SourceFailure>,
  now: number,
): SourceChoice | undefined {
  const ready = sources.find((source) => (failures.get(source.key)?.retryAt ?? 0) <= now);
  if (ready !== undefined) return { choice: 'Ready', source: ready };
  const [next] = sources
    .flatMap((source) => failures.get(source.key) ?? [])
    .sort((a, b) => a.retryAt - b.retryAt);
  return next === undefined ? undefined : { choice: 'Later', at: next.retryAt, failure: next };
}

function listed(sources: readonly CopySource[]): string {
  return sources.map((source) => `${source.key} has ${source.bundleDigest}`).join(', ');
}

const retryFirstMs = 1_000;
const retryMostMs = 60_000;
/** Content that is wrong does not mend itself: a person must bring other media. */
const contentRetryMs = 5 * 60_000;

/** When a source that failed may be tried again: soon and then ever later. */
export function failureOf(
  previous: SourceFailure | undefined,
  failed: { readonly code: ErrorCode; readonly message: string; readonly content: boolean },
  now: number,
): SourceFailure {
  const count = (previous?.count ?? 0) + 1;
  const waitMs = failed.content ? contentRetryMs : Math.min(retryMostMs, retryFirstMs * 2 ** (count - 1));
  return { code: failed.code, message: failed.message, count, retryAt: now + waitMs };
}
