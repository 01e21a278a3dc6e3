import { join } from 'node:path';
import { bundleRoots, closure } from '../bundle/closure.ts';
import { readWholeRecords, takeBackRecord, type WholeRecord } from '../copy/whole.ts';
import { readJson, writeJson } from '../durable/file.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { Store } from '../store/store.ts';

/** Something that stood in the store and is not what it was. */
export interface Damage {
  readonly digest: Digest;
  /** Releases that were not whole any more by it. */
  readonly releases: readonly string[];
}

export interface Scrubber {
  /** Hashes for ever, slowly, until the signal aborts. Never rejects. */
  run(): Promise<void>;
}

/** Everything is hashed once in this time, and again after a restart only what is due. */
const periodMs = 7 * 24 * 3_600_000;
const lookMs = 60_000;
/** The disk is left alone for this many times as long as the hashing took. */
const restFactor = 20;
const restMsMin = 200;
const restMsMax = 30_000;

interface ScrubState {
  /** RFC 3339: when the last round ended. */
  readonly completedAt: string;
}

/**
 * Reads all that the store holds by its records, a blob at a time with long rests. What is not right any more is
 * taken out of sight: first the proof that its releases are whole, durably, then the blob, which stays in
 * quarantine. The copier then finds those releases wanting, and fetches the blob anew from media or a peer.
 */
export function createScrubber(of: {
  readonly store: Store;
  /** Directory for when the last round ended. */
  readonly stateDir: string;
  readonly onDamage: (damage: Damage) => void;
  /** Told of each blob that was hashed. */
  readonly onHashed?: (bytes: number) => void;
  readonly onEnd?: (at: number) => void;
  /** While a copy runs the disk has enough to do. */
  readonly isBusy: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Scrubber {
  const { clock, signal, logger } = of;
  const stateFile = join(of.stateDir, 'scrub.json');

  async function round(): Promise<void> {
    const rest = async (tookMs: number) => {
      do {
        await clock.sleep(Math.min(restMsMax, Math.max(restMsMin, tookMs * restFactor)), signal);
      } while (of.isBusy() && !signal.aborted);
    };
    const damages = await scrubOnce({ ...of, rest });
    if (signal.aborted) return;
    await writeJson(stateFile, { completedAt: rfc3339(clock.now()) } satisfies ScrubState);
    of.onEnd?.(clock.now());
    logger.info({ damaged: damages.length }, 'everything in the store was hashed again');
  }

  return {
    async run() {
      while (!signal.aborted) {
        try {
          const last = await readJson<ScrubState>(stateFile).catch(() => undefined);
          const due = last === undefined ? Number.NaN : Date.parse(last.completedAt) + periodMs;
          // A store that was just filled was just hashed: the first round is due a period after the first start.
          if (Number.isNaN(due)) await writeJson(stateFile, { completedAt: rfc3339(clock.now()) });
          else if (due <= clock.now() && !of.isBusy()) await round();
        } catch (error) {
          if (!signal.aborted)
            logger.warn({ error: messageOf(error) }, 'the store could not be hashed again');
        }
        await clock.sleep(lookMs, signal).catch(() => {});
      }
    },
  };
}

/**
 * One round: hashes everything that a record vouches for.
 * @param of.rest called after each blob with the milliseconds that it took.
 */
export async function scrubOnce(of: {
  readonly store: Store;
  readonly onDamage: (damage: Damage) => void;
  readonly onHashed?: (bytes: number) => void;
  readonly rest?: (tookMs: number) => Promise<void>;
  readonly signal: AbortSignal;
}): Promise<Damage[]> {
  const { store, signal } = of;
  const damages: Damage[] = [];
  const note = async (digest: Digest, records: readonly WholeRecord[], act?: () => Promise<unknown>) => {
    for (const record of records) await takeBackRecord(store.root, record.name);
    await act?.();
    const damage = { digest, releases: records.map((record) => record.name).sort() };
    damages.push(damage);
    of.onDamage(damage);
  };
  for (const [digest, { size, records }] of await vouchedFor(store, note)) {
    if (signal.aborted) break;
    const begun = performance.now();
    // The record goes first: after a crash in between nothing claims to be whole that is not.
    const beforeQuarantine = () => note(digest, records);
    if (
      !(await store.verifyBlob(digest, size, { beforeQuarantine })) &&
      !damages.some((each) => each.digest === digest)
    ) {
      await note(digest, records);
    }
    of.onHashed?.(size);
    await of.rest?.(performance.now() - begun);
  }
  return damages;
}

/** Everything that the records vouch for, each once, with the records that do. */
async function vouchedFor(
  store: Store,
  onUnreadable: (digest: Digest, records: readonly WholeRecord[]) => Promise<void>,
): Promise<Map<Digest, { size: number; records: WholeRecord[] }>> {
  const found = new Map<Digest, { size: number; records: WholeRecord[] }>();
  for (const record of (await readWholeRecords(store.root)).values()) {
    try {
      for await (const item of closure(store, record.bundle)) {
        const known = found.get(item.digest) ?? { size: item.size, records: [] };
        if (!known.records.includes(record)) known.records.push(record);
        found.set(item.digest, known);
      }
    } catch (error) {
      if (!isSluiceError(error, 'ContentMissing', 'DigestMismatch', 'InputInvalid')) throw error;
      // A manifest itself is damaged: nothing below it can be told.
      const [root] = bundleRoots(record.bundle);
      await onUnreadable(root?.digest ?? record.bundle.digest, [record]);
    }
  }
  return found;
}
