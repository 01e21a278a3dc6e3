import type { Lease } from '../api/core.ts';
import { messageOf } from '../errors/error.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { KubeClient } from './client.ts';
import { isAlreadyExists, isConflict } from './error.ts';
import { createInformer } from './informer.ts';
import type { Informer } from './informer-state.ts';

export interface LeaderElectionOptions {
  readonly client: Pick<KubeClient, 'kinds' | 'tryGet' | 'create' | 'update' | 'list' | 'watch'>;
  readonly leaseName: string;
  readonly namespace: string;
  /** Tells this process from every other, such as host name and a random part. */
  readonly identity: string;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /**
   * The work of the leader; its signal aborts when the lease is lost or `signal` aborts. `holds` tells at any moment
   * whether the lease is still ours for sure: a process that was stopped and goes on asks it before each write.
   */
  run(signal: AbortSignal, holds: () => boolean): Promise<void>;
  /** Called whenever the API has answered for the lease. */
  readonly onReach?: () => void;
  readonly onLeading?: (leads: boolean) => void;
  readonly timing?: LeaderTiming;
  readonly clock?: Clock;
}

export interface LeaderTiming {
  /** Others take over after this long without a sign of life. */
  readonly leaseMs: number;
  /** The leader stops when it could not renew for this long; shorter than leaseMs, so that two never lead. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** The values that Kubernetes' own controllers use. */
export const leaderTiming: LeaderTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/**
 * What was last seen of the lease, and when, by our own clock that nobody sets: neither the holder's clock nor our own
 * wall clock is to be trusted.
 */
export interface LeaseSight {
  readonly renewTime: string | undefined;
  readonly holder: string | undefined;
  readonly seenMs: number;
}

/**
 * Whether the lease may be taken: it is ours, or nobody's, or its holder has given no sign of life for as long
 * as the lease says, counted from when we first saw its last one.
 */
export function mayTakeLease(
  lease: Lease,
  sight: LeaseSight | undefined,
  identity: string,
  nowMs: number,
): boolean {
  const holder = lease.spec?.holderIdentity ?? '';
  if (holder === '' || holder === identity) return true;
  if (sight === undefined || sight.renewTime !== lease.spec?.renewTime || sight.holder !== holder)
    return false;
  return nowMs - sight.seenMs >= (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
}

/** `failed`: nobody knows; the lease may still be ours. */
type Attempt = 'held' | 'anothers' | 'failed';

/**
 * Waits for the lease, then runs the work until it ends, the lease is lost or `signal` aborts. Resolves then, after a
 * loss at the latest when the lease runs out for others too; rejects where the work rejects. Whoever lost the lease
 * must end its process: what it held in memory is old. Returns whether the lease was lost.
 */
export async function runWithLeaderElection(options: LeaderElectionOptions): Promise<{ lost: boolean }> {
  const { client, identity, leaseName, namespace, signal } = options;
  const timing = options.timing ?? leaderTiming;
  const clock = options.clock ?? systemClock;
  const logger = options.logger.child({ lease: leaseName, identity });
  const kind = client.kinds.Lease;
  let sight: LeaseSight | undefined;
  /** When the lease was last ours for sure. */
  let renewedMs = Number.NEGATIVE_INFINITY;

  function note(lease: Lease | undefined): void {
    const { holderIdentity: holder, renewTime } = lease?.spec ?? {};
    if (sight?.renewTime === renewTime && sight?.holder === holder) return;
    sight = { renewTime, holder, seenMs: clock.monotonic() };
  }

  /** Takes or renews the lease once; false where somebody else holds it. */
  async function tryHold(trying: AbortSignal): Promise<boolean> {
    const call = { signal: trying, timeoutMs: timing.renewDeadlineMs / 2 };
    const standing = await client.tryGet(kind, leaseName, namespace, call);
    if (standing === undefined) {
      await client.create(
        kind,
        { metadata: { name: leaseName, namespace }, spec: claim(0, microTime(clock.now())) },
        call,
      );
      return true;
    }
    const holder = standing.spec?.holderIdentity;
    if (!mayTakeLease(standing, sight, identity, clock.monotonic())) {
      note(standing);
      return false;
    }
    const ours = holder === identity;
    const transitions = (standing.spec?.leaseTransitions ?? 0) + (ours ? 0 : 1);
    const acquired = ours ? standing.spec?.acquireTime : undefined;
    const spec = { ...standing.spec, ...claim(transitions, acquired ?? microTime(clock.now())) };
    // The resourceVersion in `standing` makes this a Conflict where another one was faster.
    await client.update(kind, { ...standing, spec }, call);
    return true;
  }

  function claim(leaseTransitions: number, acquireTime: string): NonNullable<Lease['spec']> {
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(timing.leaseMs / 1000),
      acquireTime,
      renewTime: microTime(clock.now()),
      leaseTransitions,
    };
  }

  async function attempt(trying: AbortSignal): Promise<Attempt> {
    try {
      const held = await tryHold(trying);
      options.onReach?.();
      return held ? 'held' : 'anothers';
    } catch (error) {
      if (!trying.aborted && !isConflict(error) && !isAlreadyExists(error)) {
        logger.warn({ error: messageOf(error) }, 'lease could not be reached');
      }
      return 'failed';
    }
  }

  /**
   * By watch, so that a lease that is given back is taken at once, and one that runs out when it does: counted from
   * when its last renewal was seen, which is when it was written. False where `signal` aborted before.
   */
  async function waitForLease(): Promise<boolean> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const scope = { namespace, fieldSelector: `metadata.name=${leaseName}` };
    const leases = createInformer<Lease>(client, kind, { ...scope, logger, clock, signal: until });
    let news = new AbortController();
    leases.onChange((change) => {
      note(change.type === 'deleted' ? undefined : change.object);
      const { holderIdentity = '' } = change.object.spec ?? {};
      if (change.type === 'deleted' || holderIdentity === '') news.abort();
    });
    try {
      for (let watching = false; !signal.aborted; watching = true) {
        const beganMs = clock.monotonic();
        if ((await attempt(signal)) === 'held') {
          renewedMs = beganMs;
          return true;
        }
        if (!watching) {
          logger.info({}, 'standing by');
          leases.start();
        }
        await clock.sleep(waitMs(leases), AbortSignal.any([signal, news.signal]));
        news = new AbortController();
      }
      return false;
    } finally {
      over.abort();
    }
  }

  /** Until the lease runs out as it was last seen; a watch that fails is no reason to wait longer than a try takes. */
  function waitMs(leases: Informer<Lease>): number {
    const durationMs = (leases.get(leaseName, namespace)?.spec?.leaseDurationSeconds ?? 0) * 1000;
    const leftMs = durationMs - (clock.monotonic() - (sight?.seenMs ?? 0));
    return leftMs > 0 && leftMs < timing.retryMs ? leftMs : timing.retryMs;
  }

  /** Renews until the deadline passes without success, or somebody else holds the lease; then it is lost. */
  async function keepLease(over: AbortSignal): Promise<boolean> {
    while (!over.aborted) {
      await clock.sleep(timing.retryMs, over);
      if (over.aborted) break;
      const beganMs = clock.monotonic();
      const outcome = await attemptWithin(renewedMs + timing.renewDeadlineMs - beganMs, over);
      // Whoever was stopped for a while, as a virtual machine is, finds the lease with another, or had lost it for a
      // while without anybody taking it: either way what is in its memory is old.
      if (outcome === 'anothers' || beganMs - renewedMs >= timing.leaseMs) return true;
      if (outcome === 'held') renewedMs = beganMs;
      else if (!over.aborted && clock.monotonic() - renewedMs >= timing.renewDeadlineMs) return true;
    }
    return false;
  }

  /** As `attempt`, for no longer than `ms`: an API that hangs must not keep us leading beyond the deadline. */
  async function attemptWithin(ms: number, over: AbortSignal): Promise<Attempt> {
    const tried = new AbortController();
    const trying = AbortSignal.any([over, tried.signal]);
    const late = clock.sleep(Math.max(0, ms), trying).then(() => 'failed' as const);
    try {
      return await Promise.race([attempt(trying), late]);
    } finally {
      tried.abort();
    }
  }

  async function overrun(): Promise<void> {
    await clock.sleep(timing.leaseMs - timing.renewDeadlineMs);
    logger.error({}, 'the work has not ended; another one may lead now');
  }

  async function release(): Promise<void> {
    try {
      const standing = await client.tryGet(kind, leaseName, namespace, { timeoutMs: 2_000 });
      if (standing?.spec?.holderIdentity !== identity) return;
      const spec = { ...standing.spec, holderIdentity: '', leaseDurationSeconds: 1 };
      await client.update(kind, { ...standing, spec }, { timeoutMs: 2_000 });
    } catch (error) {
      logger.debug({ error: messageOf(error) }, 'lease was not given back; it runs out by itself');
    }
  }

  if (!(await waitForLease())) return { lost: false };
  logger.info({}, 'leading');
  options.onLeading?.(true);
  const work = new AbortController();
  const stopWork = () => work.abort(signal.reason);
  signal.addEventListener('abort', stopWork, { once: true });
  const keeping = keepLease(work.signal).then((lost) => {
    if (lost) {
      logger.error({}, 'lease lost');
      work.abort(new Error('the lease was lost'));
    }
    return lost;
  });
  const holds = () => clock.monotonic() - renewedMs < timing.renewDeadlineMs && !work.signal.aborted;
  const working = options.run(work.signal, holds);
  try {
    // Work that does not end when its lease is lost must not keep the process: nobody would lead then.
    await Promise.race([working, keeping.then((lost) => (lost ? overrun() : working))]);
  } finally {
    signal.removeEventListener('abort', stopWork);
    if (!work.signal.aborted) work.abort();
  }
  const lost = await keeping;
  options.onLeading?.(false);
  if (!lost) await release();
  return { lost };
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
