import type { KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { annotations } from '../api/names.ts';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import { loadZone } from '../finalize/zone.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Reconciled, type Requeue, runController, watchOf } from '../kube/controller.ts';
import { createEventRecorder } from '../kube/events.ts';
import { createInformer } from '../kube/informer.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { type PoolAct, type PoolWindow, poolAct, poolWindow, poolWish } from './pool-windows.ts';

/** The machine-config operator's, as far as it is read here. */
interface MachineConfigPool extends KubeObject {
  readonly spec?: { readonly paused?: boolean };
}

/** The value of the mark. */
const pauseOwner = 'sluice';
/** A wall clock may be set while a timer runs, so none is longer. What is looked at then is in memory already. */
const timerMsMax = 10 * 60_000;

async function poolKind(client: KubeClient): Promise<KindRef<MachineConfigPool> | undefined> {
  const kind = await client.resolveKind('machineconfiguration.openshift.io/v1', 'MachineConfigPool');
  return kind as KindRef<MachineConfigPool> | undefined;
}

/**
 * Pauses each pool outside its windows and lets go of it inside, until the signal aborts. A pool that carries none of
 * our annotations is never written. The machine-config operator does the rest: it begins no node of a paused pool.
 */
export async function runPoolWindows(options: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onReconciled?: (facts: Reconciled) => void;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { client, clock, logger, signal } = options;
  const kind = await poolKind(client);
  if (kind === undefined) {
    logger.info({}, 'no MachineConfigPool is served here: there are no pools with windows');
    return;
  }
  const pools = createInformer(client, kind, { clock, logger, signal });
  const events = createEventRecorder(client, { component: 'sluice-windows', clock, logger });
  /** What was said last of a pool: the operator changes its status all the time, and once is enough. */
  const said = new Map<string, string>();

  function complain(pool: MachineConfigPool, problem: string): void {
    const { name } = pool.metadata;
    if (said.get(name) === problem) return;
    said.set(name, problem);
    const state = pool.spec?.paused === true ? 'paused' : 'not paused';
    const message = `${problem}; the pool stays as it is (${state})`;
    logger.warn({ pool: name, problem }, 'windows of a pool cannot be read');
    events.record({
      kind: kind as KindRef,
      object: pool,
      type: 'Warning',
      reason: 'WindowsUnreadable',
      message,
    });
  }

  async function reconcile(name: string): Promise<Requeue> {
    const pool = pools.get(name);
    const now = clock.now();
    const window = pool === undefined ? undefined : await windowOf(pool, now);
    if (pool === undefined || window === undefined) {
      said.delete(name);
      return {};
    }
    if ('problem' in window) {
      complain(pool, window.problem);
      return {};
    }
    said.delete(name);
    const isOurs = pool.metadata.annotations?.[annotations.pausedBy] !== undefined;
    const act = poolAct(window, { paused: pool.spec?.paused === true, isOurs });
    if (act !== 'keep') await carryOut(pool, act, window);
    const at = window.kind === 'free' ? undefined : window.at;
    return at === undefined ? {} : { requeueAfterMs: Math.min(at - now, timerMsMax) };
  }

  /** One write, and only of what was judged: whoever changed the pool meanwhile is judged anew. */
  async function carryOut(
    pool: MachineConfigPool,
    act: Exclude<PoolAct, 'keep'>,
    window: PoolWindow,
  ): Promise<void> {
    const { name, resourceVersion } = pool.metadata;
    const paused = act === 'pause';
    await client.patch(kind as KindRef, name, {
      metadata: { resourceVersion, annotations: { [annotations.pausedBy]: paused ? pauseOwner : null } },
      spec: { paused },
    });
    const until = window.kind === 'free' || window.at === undefined ? '' : ` until ${rfc3339(window.at)}`;
    const message = paused
      ? `paused${until}: no window is open`
      : window.kind === 'free'
        ? 'no longer paused by Sluice: its windows were taken away'
        : `no longer paused${until}: a window is open`;
    logger.info({ pool: name, paused, window }, 'window of a pool');
    const reason = paused ? 'WindowClosed' : 'WindowOpened';
    events.record({ kind: kind as KindRef, object: pool, type: 'Normal', reason, message });
  }

  await runController({
    name: 'pool-windows',
    client,
    clock,
    logger,
    signal,
    onReconciled: options.onReconciled,
    watches: [watchOf(pools, { keysOf: ({ metadata }) => [metadata.name] })],
    reconcile,
  });
  await events.flushed();
}

async function windowOf(
  pool: MachineConfigPool,
  now: number,
): Promise<PoolWindow | { readonly problem: string }> {
  const wish = poolWish(pool.metadata.annotations);
  if (wish.kind === 'free') return wish;
  if (wish.kind === 'unreadable') return wish;
  try {
    const zone = await loadZone(wish.timeZone);
    return poolWindow({ windows: wish.windows, zone }, wish.until, now);
  } catch (error) {
    if (!isSluiceError(error, 'InputInvalid')) throw error;
    return { problem: `${annotations.windowTimeZone}: ${messageOf(error)}` };
  }
}

export interface PoolStatus {
  readonly pool: string;
  /** `free`: without windows, so that nothing of it is closed; `unreadable`: it stays as it is. */
  readonly window: 'open' | 'closed' | 'free' | 'unreadable';
  /** When that changes, Unix milliseconds; absent: never, unless a person changes something. */
  readonly at?: number;
  /** Who has paused it; absent: it is not paused. */
  readonly pausedBy?: 'window' | 'person';
  /** Why it cannot be read. */
  readonly problem?: string;
}

/** How the windows of the pools stand, by name; undefined where no pools are served. Changes nothing. */
export async function poolWindows(client: KubeClient, now: number): Promise<PoolStatus[] | undefined> {
  const kind = await poolKind(client);
  if (kind === undefined) return undefined;
  const { items } = await client.list(kind);
  const found: PoolStatus[] = [];
  for (const pool of items) {
    const window = await windowOf(pool, now);
    const isOurs = pool.metadata.annotations?.[annotations.pausedBy] !== undefined;
    found.push({
      pool: pool.metadata.name,
      ...('problem' in window
        ? { window: 'unreadable', problem: window.problem }
        : {
            window: window.kind,
            ...(window.kind === 'free' || window.at === undefined ? {} : { at: window.at }),
          }),
      ...(pool.spec?.paused === true ? { pausedBy: isOurs ? 'window' : 'person' } : {}),
    });
  }
  return found.sort((a, b) => (a.pool < b.pool ? -1 : 1));
}

/**
 * Opens a window of one pool until a time, or with `null` takes that back; a window of the week stays as it is.
 * Errors: NotFound where there is no such pool; InputInvalid where it has no windows, so that nothing is closed.
 */
export async function setPoolWindow(client: KubeClient, name: string, until: number | null): Promise<void> {
  const kind = await poolKind(client);
  const pool = kind === undefined ? undefined : await client.tryGet(kind, name);
  if (kind === undefined || pool === undefined) {
    throw new SluiceError('NotFound', `there is no MachineConfigPool ${name}`);
  }
  if (pool.metadata.annotations?.[annotations.windows] === undefined) {
    throw new SluiceError(
      'InputInvalid',
      `MachineConfigPool ${name} has no windows: nothing of it is closed`,
      {
        next: `Give it some: oc annotate machineconfigpool ${name} ${annotations.windows}='Sat 22:00 4h'`,
      },
    );
  }
  const value = until === null ? null : rfc3339(until);
  await client.patch(kind, name, { metadata: { annotations: { [annotations.windowUntil]: value } } });
}
