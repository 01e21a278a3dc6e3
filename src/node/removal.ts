import type { VerifiedBundle } from '../bundle/bundle.ts';
import { bundleRoots, closure } from '../bundle/closure.ts';
import { beginRemoval, endRemoval, readRemovals, readWholeRecords, type WholeRecord } from '../copy/whole.ts';
import { faultPoint } from '../durable/fault.ts';
import { isSluiceError } from '../errors/error.ts';
import type { Logger } from '../observe/log.ts';
import type { InUse } from '../release/in-use.ts';
import type { Store, StoreItem } from '../store/store.ts';

/** What the cluster says about removing, read for this very decision. */
export interface RemovalFacts {
  /** Names that InternalReleaseImage asks for; undefined: there is no such object, or it cannot be read. */
  readonly desired: ReadonlySet<string> | undefined;
  /** Undefined: it cannot be told. */
  readonly inUse: InUse | undefined;
}

/** Why a release stays; undefined: it may go. */
function whyKept(record: WholeRecord, facts: RemovalFacts): string | undefined {
  // An object that has vanished (a restored etcd) is no wish to lose content.
  if (facts.desired === undefined) return 'no InternalReleaseImage says what should be kept';
  if (facts.desired.has(record.name)) return 'it is asked for';
  if (facts.inUse === undefined) return 'it cannot be told whether it is in use';
  const why = facts.inUse.names.get(record.name);
  if (why !== undefined) return why;
  if (facts.inUse.digests.has(record.bundle.document.payload)) return 'its payload is in use';
  return undefined;
}

/** Leftovers of broken-off copies are kept this long, for the copy that goes on. */
const leftoverGraceMs = 7 * 24 * 3_600_000;

export interface RemovalResult {
  readonly name: string;
  /** Bytes that were its own. */
  readonly bytesFreed: number;
}

/**
 * Removes releases that nobody wants: the proof goes first, durably, then what is theirs alone; what others
 * share stays. A removal that a crash broke off is finished.
 *
 * @param of.facts is asked anew before each release: what was true a minute ago does not count.
 * @param of.copying what copies in progress need.
 */
export async function removeReleases(of: {
  readonly store: Store;
  readonly facts: () => Promise<RemovalFacts>;
  readonly copying: readonly StoreItem[];
  readonly logger: Logger;
  readonly now: number;
  readonly onBegin: (name: string) => void;
}): Promise<RemovalResult[]> {
  const { store, logger } = of;
  for (const record of (await readWholeRecords(store.root)).values()) {
    const why = whyKept(record, await of.facts());
    if (why !== undefined) continue;
    logger.info({ release: record.name }, 'release is being removed');
    await beginRemoval(store.root, record.name);
    of.onBegin(record.name);
  }
  const results: RemovalResult[] = [];
  for (const record of (await readRemovals(store.root)).values()) {
    const bytesFreed = await sweep(await itemsOf(store, record.bundle), of);
    await endRemoval(store.root, record.name);
    logger.info({ release: record.name, bytesFreed }, 'release removed');
    results.push({ name: record.name, bytesFreed });
  }
  return results;
}

/** Frees what had come of a copy that nobody wants any more; what other releases share stays. Answers the bytes. */
export async function dropGivenUp(
  items: readonly StoreItem[],
  of: {
    readonly store: Store;
    readonly copying: readonly StoreItem[];
    readonly now: number;
    readonly logger: Logger;
  },
): Promise<number> {
  await of.store.dropPartials(items.map((item) => item.digest));
  return await sweep(items, of);
}

async function sweep(
  remove: readonly StoreItem[],
  of: {
    readonly store: Store;
    readonly copying: readonly StoreItem[];
    readonly now: number;
    readonly logger: Logger;
  },
): Promise<number> {
  const keep: StoreItem[] = [...of.copying];
  for (const kept of (await readWholeRecords(of.store.root)).values()) {
    // The collection follows what these name; what it cannot read there, it keeps with all that stands beside.
    for (const root of bundleRoots(kept.bundle)) keep.push({ ...root, kind: 'manifest' });
  }
  const plan = await of.store.planCollection({ keep, remove, graceMs: leftoverGraceMs, now: of.now });
  for (const problem of plan.problems) of.logger.warn({ problem }, 'kept, since it cannot be read');
  faultPoint('removal-planned');
  await of.store.applyCollection(plan);
  faultPoint('removal-applied');
  return plan.bytes;
}

/** As far as it can still be read: a removal that was broken off has taken a part already. */
async function itemsOf(store: Store, bundle: VerifiedBundle): Promise<StoreItem[]> {
  const items: StoreItem[] = [];
  try {
    for await (const item of closure(store, bundle)) items.push(item);
  } catch (error) {
    if (!isSluiceError(error, 'ContentMissing', 'DigestMismatch', 'InputInvalid')) throw error;
  }
  return items;
}
