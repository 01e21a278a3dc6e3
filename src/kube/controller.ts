import type { KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { messageOf } from '../errors/error.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Backoff } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { isConflict } from './error.ts';
import { createInformer } from './informer.ts';
import type { Informer } from './informer-state.ts';
import { createQueue } from './queue.ts';

/** Trying again does not help: the key rests until something that it watches changes. */
export class TerminalError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TerminalError';
  }
}

/**
 * What a controller looks at. `keysOf` says which keys a changed object concerns; of an update, those of the object
 * before and after. Either the kind (the controller makes an informer of its own) or an informer that stands.
 */
export interface ControllerWatch {
  readonly kind?: KindRef;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly informer?: Informer<KubeObject>;
  keysOf(object: KubeObject): readonly string[];
}

/** A watch with the type of its objects kept: `watchOf(kinds.Pod, { keysOf: (pod) => … })`. */
export function watchOf<T extends KubeObject>(
  source: KindRef<T> | Informer<T>,
  options: {
    namespace?: string;
    labelSelector?: string;
    fieldSelector?: string;
    keysOf: (object: T) => readonly string[];
  },
): ControllerWatch {
  const { keysOf, ...scope } = options;
  const from =
    'synced' in source ? { informer: source as unknown as Informer<KubeObject> } : { kind: source };
  return { ...from, ...scope, keysOf: (object) => keysOf(object as T) };
}

/** When to look at a key again though nothing changed. */
export interface Requeue {
  readonly requeueAfterMs?: number;
}

/** What a controller did with one key. */
export interface Reconciled {
  readonly controller: string;
  readonly result: 'done' | 'conflict' | 'failed' | 'gave_up';
  readonly ms: number;
}

export interface ControllerOptions {
  readonly name: string;
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly watches: readonly ControllerWatch[];
  /**
   * Brings one key nearer to what it should be. It is told no more than the key: it reads what stands now. It
   * may run at any time, any number of times, never twice at once for one key. Resolve: done, look again after
   * `requeueAfterMs` where given. Reject: tried again after a growing wait, at once after a Conflict, not at all
   * after TerminalError.
   */
  reconcile(key: string, signal: AbortSignal): Promise<Requeue | undefined> | Promise<void>;
  /** Keys at once. Default 1. */
  readonly concurrency?: number;
  /** Keys to look at in the beginning, whatever is watched. */
  readonly initialKeys?: readonly string[];
  readonly backoff?: Backoff;
  /** Told of each look, for metrics. */
  readonly onReconciled?: ((facts: Reconciled) => void) | undefined;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** Runs until `signal` aborts, then waits for what is being reconciled. Never rejects. */
export async function runController(options: ControllerOptions): Promise<void> {
  const { client, signal, name } = options;
  const logger = options.logger.child({ controller: name });
  const clock = options.clock ?? systemClock;
  const queue = createQueue({
    clock,
    ...(options.backoff === undefined ? {} : { backoff: options.backoff }),
    ...(options.random === undefined ? {} : { random: options.random }),
  });
  if (signal.aborted) return;
  signal.addEventListener('abort', () => queue.close(), { once: true });

  const informers = options.watches.map((watch) => {
    const informer = watch.informer ?? ownInformer(watch);
    informer.onChange((change) => {
      for (const key of watch.keysOf(change.object)) queue.add(key);
      if (change.type !== 'updated') return;
      for (const key of watch.keysOf(change.previous)) queue.add(key);
    });
    informer.start();
    return informer;
  });

  function ownInformer(watch: ControllerWatch): Informer<KubeObject> {
    if (watch.kind === undefined) throw new Error(`${name}: a watch needs a kind or an informer`);
    return createInformer(client, watch.kind, {
      logger,
      signal,
      clock,
      ...(watch.namespace === undefined ? {} : { namespace: watch.namespace }),
      ...(watch.labelSelector === undefined ? {} : { labelSelector: watch.labelSelector }),
      ...(watch.fieldSelector === undefined ? {} : { fieldSelector: watch.fieldSelector }),
    });
  }

  async function work(): Promise<void> {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      await reconcileOne(key);
      queue.done(key);
    }
  }

  async function reconcileOne(key: string): Promise<void> {
    const begunMs = clock.now();
    const told = (result: Reconciled['result']) =>
      options.onReconciled?.({ controller: name, result, ms: clock.now() - begunMs });
    try {
      const result = await options.reconcile(key, signal);
      told('done');
      queue.forget(key);
      if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof TerminalError) {
        told('gave_up');
        queue.forget(key);
        logger.error({ key, error: messageOf(error) }, 'reconcile gave up until something changes');
        return;
      }
      told(isConflict(error) ? 'conflict' : 'failed');
      const waitMs = queue.addAfterFailure(key);
      // A conflict only means that somebody else wrote first; the wait is the same, the alarm is not.
      if (isConflict(error)) logger.debug({ key, waitMs }, 'reconcile met a conflict');
      else logger.warn({ key, waitMs, error: messageOf(error) }, 'reconcile failed');
    }
  }

  // Nothing is decided on half a picture.
  await Promise.race([Promise.all(informers.map((informer) => informer.synced())), aborted(signal)]);
  for (const key of options.initialKeys ?? []) queue.add(key);
  await Promise.all(Array.from({ length: options.concurrency ?? 1 }, () => work()));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
