import { faultPoint } from '../durable/fault.ts';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import { withStallLimit } from '../http/stall.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import { hashFor, hexOf } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { BlobWriter } from '../store/store.ts';
import { createTurns, type Turns } from '../turns/turns.ts';
import { type CopyProblem, ItemError, withItem } from './item.ts';
import { linkAndName } from './link.ts';
import { type CopyProgress, createMeter, type Meter } from './meter.ts';
import type { Pace } from './pace.ts';
import type { CopyPlan, PlannedBlob } from './plan.ts';
import { type WholeRecord, writeWholeRecord } from './whole.ts';

/** What ends a copy for now and not for good: it goes on where it stopped. */
type PauseCode = 'MediaLost' | 'Unreachable' | 'Stalled' | 'DiskFull';

/** How a copy can end. */
export type CopyOutcome =
  | { readonly outcome: 'Whole'; readonly record: WholeRecord; readonly bytesWritten: number }
  | {
      readonly outcome: 'Paused';
      readonly code: PauseCode;
      readonly message: string;
      readonly bytesWritten: number;
    }
  | { readonly outcome: 'Failed'; readonly problems: readonly CopyProblem[]; readonly bytesWritten: number }
  | { readonly outcome: 'Stopped'; readonly bytesWritten: number };

export interface CopyOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called often; whoever publishes it thins it out. */
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Milliseconds without a byte after which a source counts as stalled. Default 60 000. */
  readonly stallMs?: number;
  /** Blobs that are read at a time. Default 3: enough to keep a disk and a link busy. */
  readonly concurrency?: number;
  /** Leaves the disk to others in between; absent: as fast as it goes. */
  readonly pace?: Pace;
  /**
   * Asked before each blob, and again where that place fails: another place to read it from than the plan's own source
   * (undefined: that one), or 'later' where it is worth waiting for, because another node is about to have it.
   */
  readonly elsewhere?: (blob: PlannedBlob) => Promise<ContentSource | 'later' | undefined>;
}

const stallMsDefault = 60_000;
/** Pieces from a network are small: only so many bytes are a step that is worth telling. */
const stepBytes = 512 * 1024;
const concurrencyDefault = 3;
/** For each blob that is being read, so many are at work: the others wait for their flushes, or to be hashed. */
const workersForEach = 4;
/** Problems of one copy that are listed; after that many nobody reads on. */
const problemsMax = 20;

/**
 * Copies what the plan lacks. What is wrong with the content is reported item by item while the rest goes on;
 * what is wrong with the way (media gone, peer silent, disk full) pauses the whole, and a later call goes on
 * inside the blob where this one stopped.
 *
 * Errors: none of operation, they are outcomes.
 */
export async function runCopy(plan: CopyPlan, options: CopyOptions): Promise<CopyOutcome> {
  const meter = createMeter(plan, options.onProgress);
  const ended = (error: unknown) => endOf(error, meter.bytesWritten(), options.signal);
  try {
    let problems = await copyBlobs(plan, plan.missing, meter, options);
    if (problems.length === 0) {
      const damaged = await verifyStanding(plan, meter, options.signal);
      problems = await copyBlobs(plan, damaged, meter, options);
    }
    if (problems.length > 0) return { outcome: 'Failed', problems, bytesWritten: meter.bytesWritten() };
    await linkAndName(plan, options);
    const record = await recordWhole(plan, options.clock, meter.bytesWritten());
    return { outcome: 'Whole', record, bytesWritten: meter.bytesWritten() };
  } catch (error) {
    return ended(error);
  }
}

function endOf(error: unknown, bytesWritten: number, signal: AbortSignal): CopyOutcome {
  if (signal.aborted) return { outcome: 'Stopped', bytesWritten };
  if (isSluiceError(error, 'MediaLost', 'Unreachable', 'Stalled', 'DiskFull')) {
    return { outcome: 'Paused', code: error.code as PauseCode, message: error.message, bytesWritten };
  }
  if (error instanceof ItemError) {
    return { outcome: 'Failed', problems: [error.problem], bytesWritten };
  }
  throw error;
}

async function copyBlobs(
  plan: CopyPlan,
  blobs: readonly PlannedBlob[],
  meter: Meter,
  options: CopyOptions,
): Promise<CopyProblem[]> {
  const problems: CopyProblem[] = [];
  // The first thing that is wrong with the way stops the others where they are; what has come is kept.
  const halt = new AbortController();
  const signal = AbortSignal.any([options.signal, halt.signal]);
  const queue = [...blobs];
  const width = options.concurrency ?? concurrencyDefault;
  const reading = createTurns(width);
  const worker = async () => {
    for (let blob = queue.shift(); blob !== undefined; blob = queue.shift()) {
      signal.throwIfAborted();
      try {
        // All nodes copy in the same order, so what is not there yet is the next to come: it is not put off.
        while ((await copyFrom(plan, blob, meter, { ...options, signal, reading })) === 'later') {
          await options.clock.sleep(laterMs, signal);
          signal.throwIfAborted();
        }
      } catch (error) {
        if (!(error instanceof ItemError)) {
          halt.abort(error);
          throw error;
        }
        problems.push(error.problem);
        if (problems.length >= problemsMax) return;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: width * workersForEach }, worker));
  if (halt.signal.aborted) throw halt.signal.reason;
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return problems;
}

/** From where it is to be had best. Where a place fails the next is asked for, and the plan's own source is the last. */
async function copyFrom(
  plan: CopyPlan,
  blob: PlannedBlob,
  meter: Meter,
  options: FetchOptions,
): Promise<'done' | 'later'> {
  const failed = new Set<string>();
  for (;;) {
    const other = await options.elsewhere?.(blob);
    if (other === 'later') return 'later';
    if (other === undefined || failed.has(other.label)) break;
    try {
      await copyBlob({ ...plan, source: other }, blob, meter, options);
      return 'done';
    } catch (error) {
      if (options.signal.aborted || !isSluiceError(error) || error.code === 'DiskFull') throw error;
      failed.add(other.label);
    }
  }
  await withItem(blob, () => copyBlob(plan, blob, meter, options));
  return 'done';
}

async function copyBlob(
  plan: CopyPlan,
  blob: PlannedBlob,
  meter: Meter,
  options: FetchOptions,
): Promise<void> {
  const first = await fetchBlob(plan, blob, meter, options);
  if (first.done) return;
  // What an earlier copy had left may be the bad part, or the disk may have lost a write: once more, from the first
  // byte. This time what comes is hashed as well, to tell a bad source from a bad disk.
  const came = hashFor(blob.digest);
  const again = await fetchBlob(plan, blob, meter, { ...options, onChunk: (chunk) => came.update(chunk) });
  if (again.done) return;
  if (came.digest('hex') !== hexOf(blob.digest)) throw again.error;
  throw new SluiceError(
    'DigestMismatch',
    `${blob.digest} is damaged each time that it is written to ${plan.store.root}`,
    { cause: again.error },
  );
}

interface FetchOptions extends CopyOptions {
  /** Runs what reads from a source when it is its turn. */
  readonly reading: Turns;
  readonly onChunk?: (chunk: Uint8Array) => void;
}

/** Not done: what stands on the disk does not match. */
async function fetchBlob(
  plan: CopyPlan,
  blob: PlannedBlob,
  meter: Meter,
  options: FetchOptions,
): Promise<{ done: true } | { done: false; error: unknown }> {
  const { pace, signal } = options;
  const writer = await plan.store.begin(blob.digest, blob.size, {
    signal,
    ...(pace === undefined
      ? {}
      : { pace: { pieceBytes: pace.pieceBytes, flush: (act) => pace.flush(act, signal) } }),
  });
  if (writer === undefined) {
    meter.blobDone(blob);
    return { done: true };
  }
  meter.blobAt(blob, writer.offset, 0);
  let settled = false;
  try {
    if (writer.offset < blob.size) await options.reading(() => readInto(plan, blob, writer, meter, options));
    settled = true; // commit() itself drops what does not match.
    await writer.commit();
  } catch (error) {
    if (settled && isSluiceError(error, 'DigestMismatch')) return { done: false, error };
    throw error;
  } finally {
    if (!settled) await writer.suspend().catch(() => {});
  }
  faultPoint('copy-blob-committed');
  meter.blobDone(blob);
  return { done: true };
}

/** What the writer lacks, from the byte on where it stands. */
async function readInto(
  plan: CopyPlan,
  blob: PlannedBlob,
  writer: BlobWriter,
  meter: Meter,
  options: FetchOptions,
): Promise<void> {
  const { signal } = options;
  signal.throwIfAborted();
  let at = writer.offset;
  const reader = await plan.source.blob(blob.repository, blob.digest, { offset: at, signal, reuse: true });
  const what = `blob ${blob.digest} of ${plan.source.label}`;
  if (reader === undefined) throw new SluiceError('ContentMissing', `there is no ${what}`);
  try {
    if (reader.size !== blob.size) {
      throw new SluiceError(
        'DigestMismatch',
        `${what} has ${reader.size} bytes, and ${blob.size} were signed`,
      );
    }
    const stallMs = options.stallMs ?? stallMsDefault;
    let untold = 0;
    for await (const chunk of withStallLimit(reader.stream, { stallMs, what, signal })) {
      options.onChunk?.(chunk);
      await writer.write(chunk);
      at += chunk.length;
      untold += chunk.length;
      if (untold < stepBytes && at < blob.size) continue;
      meter.blobAt(blob, at, untold);
      faultPoint('copy-chunk');
      untold = 0;
    }
  } finally {
    // A stream that was never begun closes nothing by itself; one that hangs is not waited for.
    if (at < blob.size) void reader.close?.().catch(() => {});
  }
}

/** Milliseconds between two looks at a blob that another node is about to have. */
const laterMs = 400;

/**
 * Reads back what stood in the store before; the copy has read back what it wrote itself. Answers the blobs that were
 * bad, which are removed by then.
 */
async function verifyStanding(plan: CopyPlan, meter: Meter, signal: AbortSignal): Promise<PlannedBlob[]> {
  const copied = new Set(plan.missing.map((blob) => blob.digest));
  const damaged: PlannedBlob[] = [];
  meter.verifying();
  for (const blob of plan.blobs) {
    signal.throwIfAborted();
    if (!copied.has(blob.digest) && !(await plan.store.verifyBlob(blob.digest, blob.size)))
      damaged.push(blob);
    meter.verified(blob);
  }
  return damaged;
}

async function recordWhole(plan: CopyPlan, clock: Clock, bytesWritten: number): Promise<WholeRecord> {
  const record: WholeRecord = {
    formatVersion: 1,
    name: plan.bundle.document.name,
    bundle: plan.bundle,
    bytes: plan.bytesTotal,
    bytesWritten,
    verifiedAt: rfc3339(clock.now()),
  };
  faultPoint('copy-before-record');
  await writeWholeRecord(plan.store.root, record);
  faultPoint('copy-whole');
  return record;
}

/** For logs: how a copy ended, on one line. */
export function describeOutcome(outcome: CopyOutcome): string {
  switch (outcome.outcome) {
    case 'Whole':
      return `whole and verified, ${outcome.bytesWritten} bytes written`;
    case 'Paused':
      return `paused: ${outcome.message}`;
    case 'Failed':
      return outcome.problems.map((problem) => messageOf(problem.message)).join('; ');
    case 'Stopped':
      return 'stopped';
  }
}
