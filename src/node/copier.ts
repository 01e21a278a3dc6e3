import { openBundle } from '../bundle/bundle.ts';
import type { ClosureItem } from '../bundle/closure.ts';
import type { CopyProgress } from '../copy/meter.ts';
import type { Pace } from '../copy/pace.ts';
import { planCopy, requireSpace } from '../copy/plan.ts';
import { type CopyOutcome, describeOutcome, runCopy } from '../copy/run.ts';
import type { WholeRecord } from '../copy/whole.ts';
import { type ErrorCode, isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { Store } from '../store/store.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { type CopySource, failureOf, type SourceChoice, type SourceFailure } from './copy-source.ts';
import {
  type CopyView,
  idleView,
  isContentCode,
  isDegraded,
  isMoving,
  isShown,
  pausedView,
  waitingView,
} from './copy-view.ts';
import type { FanOut } from './fan-out.ts';
import type { ContentMetrics } from './metrics.ts';
import { createRateMeter, type RateMeter } from './rate.ts';

export interface CopierOptions {
  readonly store: Store;
  readonly keys: () => Promise<readonly TrustedKey[]>;
  readonly contentOf: (source: CopySource) => ContentSource;
  /** How a copy from this source is shared with other nodes; undefined: with nobody. */
  readonly fanOut: (release: string, source: CopySource) => FanOut | undefined;
  /** Leaves the disk to others; absent: as fast as it goes. */
  readonly pace?: Pace | undefined;
  readonly metrics?: Pick<ContentMetrics, 'copying' | 'copyEnded'> | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** A view has changed: publish soon. */
  readonly onProgress: () => void;
  /** A copy has ended: decide anew. */
  readonly onEnd: (release: string, record: WholeRecord | undefined) => void;
  /** A copy that had begun is not wanted any more; what it needs, for whoever frees what has come of it. */
  readonly onGivenUp: (release: string, items: readonly ClosureItem[]) => void;
  readonly stallMs?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** Decides where a release should come from, given how its sources failed. */
export type Choose = (failures: ReadonlyMap<string, SourceFailure>) => SourceChoice;

export interface Copier {
  /**
   * What is wanted and not whole, with where it could come from. Starts one copy at a time, stops unwanted ones.
   * @param paused releases whose copies are to stand still for now.
   */
  pursue(wanted: ReadonlyMap<string, Choose>, paused: ReadonlySet<string>): void;
  /** Forgets how sources failed: media have changed, or space was freed. */
  forgive(): void;
  views(): CopyView[];
  /**
   * What copies need, running or standing still: no collection may take it. Undefined while one is being planned: it
   * counts on what the store has, and what that is cannot be told yet.
   */
  items(): readonly ClosureItem[] | undefined;
  /** A copy runs. */
  isBusy(): boolean;
  /** Resolves when no copy runs any more; after `signal` aborted. */
  idle(): Promise<void>;
}

interface Job {
  readonly release: string;
  readonly failures: Map<string, SourceFailure>;
  view: CopyView;
  items: readonly ClosureItem[];
  /** Whether `items` is what the copy that runs needs. */
  planned: boolean;
  /** Set while it runs. */
  running: { abort: AbortController; ended: Promise<void>; keep: boolean; rate: RateMeter } | undefined;
}

/** Runs the copies of one node: one release at a time, several blobs at once. */
export function createCopier(options: CopierOptions): Copier {
  const { clock, logger, store } = options;
  const jobs = new Map<string, Job>();
  const isBusy = () => [...jobs.values()].some((job) => job.running !== undefined);

  function pursue(wanted: ReadonlyMap<string, Choose>, paused: ReadonlySet<string>): void {
    for (const [release, job] of jobs) {
      if (wanted.has(release)) continue;
      job.running?.abort.abort();
      if (job.running === undefined) drop(job);
    }
    let free = !isBusy() && !options.signal.aborted;
    for (const [release, choose] of wanted) {
      const job: Job = jobs.get(release) ?? {
        release,
        failures: new Map(),
        view: idleView(release),
        items: [],
        planned: false,
        running: undefined,
      };
      if (paused.has(release)) {
        if (job.running !== undefined) {
          job.running.keep = true;
          job.running.abort.abort();
        }
        jobs.set(release, job);
        job.view = pausedView(job.view);
        continue;
      }
      if (job.running !== undefined) continue;
      const choice = choose(job.failures);
      if (choice.choice === 'None' && job.view.progress === undefined) {
        jobs.delete(release);
        continue;
      }
      jobs.set(release, job);
      if (choice.choice === 'Ready' && free) {
        free = false;
        start(job, choice.source);
      } else {
        job.view = waitingView(job.view, choice);
      }
    }
  }

  function start(job: Job, source: CopySource): void {
    const abort = new AbortController();
    const signal = AbortSignal.any([options.signal, abort.signal]);
    const rate = createRateMeter(clock);
    const ended = copy(job, source, rate, signal)
      .catch((error: unknown) => {
        logger.error({ release: job.release, error: messageOf(error) }, 'copy ended unexpectedly');
        return failed(job, source, { code: 'Internal', message: messageOf(error), content: false });
      })
      .then((record) => {
        job.running = undefined;
        if (record !== undefined) jobs.delete(job.release);
        else if (abort.signal.aborted && !running.keep) drop(job);
        else if (running.keep) job.view = pausedView(job.view);
        options.onEnd(job.release, record);
      });
    const running = { abort, ended, keep: false, rate };
    job.running = running;
    job.planned = false;
  }

  function drop(job: Job): void {
    jobs.delete(job.release);
    if (job.items.length > 0 && !options.signal.aborted) options.onGivenUp(job.release, job.items);
  }

  async function copy(
    job: Job,
    source: CopySource,
    rate: RateMeter,
    signal: AbortSignal,
  ): Promise<WholeRecord | undefined> {
    const { release } = job;
    const content = options.contentOf(source);
    const count = options.metrics?.copying(source.kind);
    job.view = { ...idleView(release), bundleDigest: source.bundleDigest, progress: job.view.progress };
    logger.info({ release, source: source.key }, 'copy begins');
    let outcome: CopyOutcome;
    try {
      const reference =
        source.bundleDigest === undefined ? { name: release } : { digest: source.bundleDigest };
      const bundle = await openBundle(content, reference, await options.keys());
      if (bundle.document.name !== release) {
        throw new SluiceError('DigestMismatch', `what is offered as ${release} is ${bundle.document.name}`);
      }
      await store.bind(release, bundle.digest);
      const plan = await planCopy(content, store, bundle);
      job.items = plan.items;
      job.planned = true;
      requireSpace(plan, await store.space());
      const fanOut = options.fanOut(release, source);
      outcome = await runCopy(plan, {
        ...(fanOut === undefined ? {} : { elsewhere: (blob) => fanOut.elsewhere(blob) }),
        ...(options.pace === undefined ? {} : { pace: options.pace }),
        signal,
        clock,
        onProgress: (progress) => {
          count?.(progress);
          showProgress(job, bundle.digest, progress, rate);
        },
        ...(options.stallMs === undefined ? {} : { stallMs: options.stallMs }),
        ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isSluiceError(error)) throw error;
      return failed(job, source, {
        code: error.code,
        message: messageOf(error),
        content: isContentCode(error.code),
      });
    }
    logger.info({ release, source: source.key, outcome: describeOutcome(outcome) }, 'copy ended');
    switch (outcome.outcome) {
      case 'Whole':
        options.metrics?.copyEnded('Whole');
        return outcome.record;
      case 'Stopped':
        options.metrics?.copyEnded('Stopped');
        return undefined;
      case 'Paused':
        return failed(job, source, { ...outcome, content: false });
      case 'Failed': {
        const [first] = outcome.problems;
        const code = first?.code ?? 'Internal';
        return failed(job, source, { code, message: describeOutcome(outcome), content: true });
      }
    }
  }

  function showProgress(job: Job, digest: Digest, progress: CopyProgress, rate: RateMeter): void {
    rate.note(progress.phase === 'Copying' ? progress.bytesWritten : progress.bytesDone, progress.phase);
    job.view = {
      ...job.view,
      bundleDigest: digest,
      state: progress.phase,
      reason: undefined,
      message: undefined,
      degraded: false,
      progress,
    };
    options.onProgress();
  }

  function failed(job: Job, source: CopySource, what: Failure): undefined {
    const settled = settledFailure(source, what);
    options.metrics?.copyEnded(settled.content ? 'Failed' : 'Paused', settled.code);
    const failure = failureOf(job.failures.get(source.key), settled, clock.now());
    job.failures.set(source.key, failure);
    const { code, message } = settled;
    job.view = {
      ...job.view,
      state: settled.content ? 'Failed' : 'Paused',
      reason: code === 'Conflict' ? 'BundleConflict' : code,
      message,
      rate: undefined,
      degraded: isDegraded(settled, failure.count),
    };
    return undefined;
  }

  return {
    pursue,
    forgive() {
      for (const job of jobs.values()) job.failures.clear();
    },
    // No progress comes while nothing moves: the rate is looked at when it is asked for.
    views: () =>
      [...jobs.values()]
        .map(({ view, running }) => ({
          ...view,
          rate: isMoving(view) ? running?.rate.bytesPerSecond() : undefined,
        }))
        .filter((view) => isShown(view)),
    isBusy,
    items() {
      const all = [...jobs.values()];
      if (all.some((job) => job.running !== undefined && !job.planned)) return undefined;
      return all.flatMap((job) => job.items);
    },
    async idle() {
      await Promise.all([...jobs.values()].map((job) => job.running?.ended));
    },
  };
}

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** The content itself is wrong, and not the way to it. */
  readonly content: boolean;
}

/** What a failure means, given where the release was to come from. */
function settledFailure(source: CopySource, what: Failure): Failure {
  if (what.code !== 'ContentMissing') return what;
  const needs = basesOf(source);
  if (needs !== undefined) {
    const bases = needs.join(', ') || 'a base without a name';
    const message = `it is a delta that needs ${bases}, of which this node lacks a part: ${what.message}`;
    return { ...what, message };
  }
  // A node that no longer has what it offered has lost its media; that is no damage.
  if (source.kind !== 'peer') return what;
  const message = `node ${source.peer.node} no longer serves it: ${what.message}`;
  return { code: 'MediaLost', message, content: false };
}

/** Releases that must be here already where a source carries a delta. */
function basesOf(source: CopySource): readonly string[] | undefined {
  if (source.kind === 'store') return undefined;
  if (source.kind === 'peer') return source.peer.needs;
  for (const each of source.attachment.bundles) {
    if (each.state !== 'Verified' || each.bundle.digest !== source.bundleDigest) continue;
    return each.delta?.since.map((base) => base.name);
  }
  return undefined;
}
