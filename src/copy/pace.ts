import { closeSync, openSync, readSync } from 'node:fs';
import type { Clock } from '../observe/clock.ts';
import { createTurns } from '../turns/turns.ts';

/** Keeps a copy from taking the disk away from others on it: etcd waits for each of its writes to be flushed. */
export interface Pace {
  /** Bytes of one file between two flushes: one flush must be short, since whoever flushes meanwhile waits behind it. */
  readonly pieceBytes: number;
  /** Runs what flushes, one after the other, and leaves the disk alone for a while in between; not once it is stopped. */
  flush<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

const pieceBytes = 512 * 1024;
/** The disk is left alone for this many times as long as the flush took, more where others have to wait. */
const restFactorMin = 4;
const restFactorMax = 8;
/** A rest is at least this long: a shorter one cannot be measured. */
const restMsMin = 1;
/** The longest rest: a copy always moves on. */
const restMsMax = 100;
/** Share of a rest in which others stood still, from which on the rests grow. */
const pressureHigh = 0.2;
/** A disk that flushes a piece faster than this keeps nobody waiting for long: etcd wants its own within 10 ms. */
const flushMsLong = 3;
/** Over so many milliseconds of rests together: one flush of another says little. */
const judgedMs = 50;

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
  let factor = restFactorMin;
  let restUntil = 0;
  /** Since the factor was last thought over; milliseconds. */
  let seen = { flushes: 0, flushedMs: 0, restedMs: 0, stalledMs: 0 };
  const inTurn = createTurns();

  /** What is left of the rest after the last flush: whatever came in between has spared the disk as well. */
  async function rest(signal: AbortSignal): Promise<void> {
    const restMs = restUntil - clock.monotonic();
    if (restMs <= 0 || signal.aborted) return;
    const before = await stalled();
    const begun = clock.monotonic();
    await clock.sleep(restMs, signal);
    const after = await stalled();
    if (before === undefined || after === undefined) return;
    seen.restedMs += clock.monotonic() - begun;
    seen.stalledMs += (after - before) / 1000;
    if (seen.restedMs < judgedMs) return;
    const isPressed =
      seen.stalledMs / seen.restedMs > pressureHigh && seen.flushedMs / seen.flushes > flushMsLong;
    factor = Math.min(restFactorMax, Math.max(restFactorMin, isPressed ? factor * 2 : factor / 1.2));
    seen = { flushes: 0, flushedMs: 0, restedMs: 0, stalledMs: 0 };
  }

  async function restAndFlush<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await rest(signal);
    const begun = clock.monotonic();
    try {
      return await act();
    } finally {
      const now = clock.monotonic();
      seen.flushes += 1;
      seen.flushedMs += now - begun;
      restUntil = now + Math.min(restMsMax, Math.max(restMsMin, (now - begun) * factor));
    }
  }

  return {
    pieceBytes,
    // One at a time, whatever number of blobs is on its way.
    flush: (act, signal) => inTurn(() => restAndFlush(act, signal)),
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
