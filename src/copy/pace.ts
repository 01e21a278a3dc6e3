import { closeSync, openSync, readSync } from 'node:fs';
import type { Clock } from '../observe/clock.ts';

/** Keeps a copy from taking the disk away from others on it: etcd waits for each of its writes to be flushed. */
export interface Pace {
  /**
   * Called with each piece that was written. Now and then it lets `settle` flush what was written, so that no
   * long queue builds up in front of others' flushes, and then leaves the disk alone for a while.
   */
  wrote(bytes: number, settle: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

/** Bytes between two flushes: one flush must be short, since whoever flushes meanwhile waits behind it. */
const pieceBytes = 1024 * 1024;
/** The disk is left alone for this many times as long as the flush took, more where others have to wait. */
const restFactorMin = 2;
const restFactorMax = 8;
/** A rest is at least this long: a shorter one cannot be measured. */
const restMsMin = 1;
/** The longest rest: a copy always moves on. */
const restMsMax = 100;
/** Share of a rest in which others stood still, from which on the rests grow. */
const pressureHigh = 0.2;

/**
 * The rest after each flush is a multiple of the time that it took, so that a slow disk is used more gently by
 * itself. What stands still *during* a rest stands still because of others: then the rests grow, and shrink again
 * when nobody waits. Where the kernel does not measure pressure, the multiple stays as it is.
 *
 * @param of.stalled microseconds so far in which something waited for a disk; undefined where nobody counts.
 */
export function createPace(of: {
  readonly clock: Clock;
  readonly stalled?: () => Promise<number | undefined>;
}): Pace {
  const { clock } = of;
  const stalled = of.stalled ?? readStalled;
  let pending = 0;
  let factor = restFactorMin;
  let turn: Promise<void> = Promise.resolve();

  async function settleAndRest(settle: () => Promise<void>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const begun = clock.now();
    await settle();
    const took = clock.now() - begun;
    const before = await stalled();
    const restMs = Math.min(restMsMax, Math.max(restMsMin, took * factor));
    const restBegun = clock.now();
    await clock.sleep(restMs, signal);
    const after = await stalled();
    if (before === undefined || after === undefined) return;
    const share = (after - before) / 1000 / Math.max(restMs, clock.now() - restBegun);
    factor = Math.min(
      restFactorMax,
      Math.max(restFactorMin, share > pressureHigh ? factor * 2 : factor / 1.2),
    );
  }

  return {
    async wrote(bytes, settle, signal) {
      pending += bytes;
      if (pending < pieceBytes) return;
      pending = 0;
      // One flush at a time, whatever number of blobs is on its way.
      const mine = turn.then(() => settleAndRest(settle, signal));
      turn = mine.catch(() => {});
      await mine;
    },
  };
}

/**
 * Documentation/accounting/psi.rst of Linux: `some … total=` is in microseconds. Asked after each piece, so it is read in
 * place: the kernel answers at once, and a read by way of the pool takes ten times as long, behind the copy's own.
 */
async function readStalled(): Promise<number | undefined> {
  try {
    const file = openSync('/proc/pressure/io', 'r');
    try {
      const text = pressure.toString('latin1', 0, readSync(file, pressure, 0, pressure.length, 0));
      const total = /^some .*total=(\d+)$/m.exec(text)?.[1];
      return total === undefined ? undefined : Number(total);
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined; // A kernel that does not count.
  }
}

const pressure = Buffer.alloc(512);
