import type { KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { messageOf } from '../errors/error.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import { createCache, type ObjectCache } from './cache.ts';
import type { KubeClient, KubeList } from './client.ts';
import { ApiError, isExpired } from './error.ts';
import type { Informer, InformerState } from './informer-state.ts';
import type { WatchEvent } from './watch.ts';

export interface InformerOptions<T extends KubeObject = KubeObject> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** What of each object is kept, where more of it can be done without than `metadata.managedFields`. */
  readonly keep?: (object: T) => T;
  readonly logger: Logger;
  /** Ends the informer. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** How a watch came to its end. `gained`: it had brought something, or had lasted. */
interface WatchEnd {
  readonly resourceVersion: string;
  readonly gained: boolean;
  readonly waitMs: number;
}

/** What can happen to an informer. */
export type InformerEvent =
  | { readonly type: 'Started' }
  | { readonly type: 'Listed'; readonly resourceVersion: string }
  | { readonly type: 'ListFailed'; readonly waitMs: number }
  /** The server ended it, as it does after timeoutSeconds. */
  | ({ readonly type: 'WatchEnded' } & WatchEnd)
  | ({ readonly type: 'WatchFailed' } & WatchEnd)
  /** 410: the version that it began from is no longer kept. */
  | ({ readonly type: 'WatchExpired' } & WatchEnd)
  | { readonly type: 'Waited' }
  | { readonly type: 'Stopped' };

/** The transitions. An event that a state does not know is a defect. */
export function nextInformerState(state: InformerState, event: InformerEvent): InformerState {
  if (event.type === 'Stopped' || state.name === 'Stopped') return { name: 'Stopped' };
  if (state.name === 'Idle' && event.type === 'Started') return { name: 'Listing', failures: 0 };
  if (state.name === 'Listing' && event.type === 'Listed') {
    return { name: 'Watching', resourceVersion: event.resourceVersion, failures: state.failures };
  }
  if (state.name === 'Listing' && event.type === 'ListFailed') {
    const failures = state.failures + 1;
    return { name: 'BackingOff', waitMs: event.waitMs, failures, next: { name: 'Listing' } };
  }
  if (state.name === 'BackingOff' && event.type === 'Waited') {
    return { ...state.next, failures: state.failures };
  }
  if (state.name === 'Watching') {
    switch (event.type) {
      case 'WatchEnded':
      case 'WatchFailed':
        return afterWatch(state.failures, event, {
          name: 'Watching',
          resourceVersion: event.resourceVersion,
        });
      case 'WatchExpired':
        return afterWatch(state.failures, event, { name: 'Listing' });
    }
  }
  throw new Error(`informer: ${event.type} in state ${state.name}`);
}

/**
 * A watch that was good for something is followed at once, unless it failed. One that was good for nothing is a
 * server in trouble: asked again without a pause, it would be asked without end.
 */
function afterWatch(
  failures: number,
  event: { readonly type: string } & WatchEnd,
  next: { readonly name: 'Listing' } | { readonly name: 'Watching'; readonly resourceVersion: string },
): InformerState {
  if (event.gained && event.type !== 'WatchFailed') return { ...next, failures: 0 };
  return { name: 'BackingOff', waitMs: event.waitMs, failures: event.gained ? 1 : failures + 1, next };
}

export const informerBackoff: Backoff = { firstMs: 500, factor: 2, mostMs: 30_000, jitter: 0.5 };
/** A watch that lasted this long was good for something, even if nothing happened. */
const watchWorthMs = 5_000;
/** Watches end between these two, so that those of many clients do not end together. */
const watchSecondsMin = 300;
const watchSecondsMax = 600;
/** A page of large objects (a Node names fifty images) is some MiB of text and as much again while it is read. */
const pageSize = 100;

/** Keeps a cache of one kind equal to the API, by one list and a watch that goes on from it. */
export function createInformer<T extends KubeObject>(
  client: Pick<KubeClient, 'list' | 'watch'>,
  kind: KindRef<T>,
  options: InformerOptions<T>,
): Informer<T> {
  const { signal, keep } = options;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const logger = options.logger.child({ informer: kind.plural });
  const cache: ObjectCache<T> = createCache<T>(logger);
  const scope = {
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
    signal,
  };
  let state: InformerState = { name: 'Idle' };
  let markSynced: () => void = () => {};
  let isSynced = false;
  const synced = new Promise<void>((resolve) => {
    markSynced = resolve;
  });

  async function list(failures: number): Promise<InformerEvent> {
    let listed: KubeList<T>;
    try {
      listed = await client.list(kind, { ...scope, pageSize, keep: (object) => slim(object as T) });
    } catch (error) {
      return { type: 'ListFailed', waitMs: failed('list failed', error, failures) };
    }
    cache.replace(listed.items);
    isSynced = true;
    markSynced();
    return { type: 'Listed', resourceVersion: listed.resourceVersion };
  }

  async function watch(from: string, failures: number): Promise<InformerEvent> {
    const beganMs = clock.monotonic();
    let resourceVersion = from;
    let events = 0;
    const end = () => {
      const gained = events > 0 || clock.monotonic() - beganMs >= watchWorthMs;
      return { resourceVersion, gained };
    };
    try {
      const timeoutSeconds = watchSecondsMin + Math.floor(random() * (watchSecondsMax - watchSecondsMin));
      for await (const event of client.watch(kind, { ...scope, resourceVersion: from, timeoutSeconds })) {
        resourceVersion = apply(event) || resourceVersion;
        events += 1;
      }
      return { type: 'WatchEnded', ...end(), waitMs: backoffMs(informerBackoff, failures + 1, random) };
    } catch (error) {
      const ended = end();
      if (isExpired(error)) {
        logger.debug({ resourceVersion }, 'watch expired, listing again');
        return { type: 'WatchExpired', ...ended, waitMs: backoffMs(informerBackoff, failures + 1, random) };
      }
      const waitMs = failed('watch failed', error, ended.gained ? 0 : failures);
      return { type: 'WatchFailed', ...ended, waitMs };
    }
  }

  function apply(event: WatchEvent<T>): string {
    if (event.type === 'BOOKMARK') return event.resourceVersion;
    const object = slim(event.object);
    if (event.type === 'DELETED') cache.remove(object);
    else cache.put(object);
    return object.metadata.resourceVersion ?? '';
  }

  /** Who set which field is a third of an object and read by nobody; a write without it changes nothing of it. */
  function slim(object: T): T {
    const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
    const slender = { ...object, metadata };
    return keep === undefined ? slender : keep(slender);
  }

  function failed(what: string, error: unknown, failures: number): number {
    const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const waitMs = Math.max(asked, backoffMs(informerBackoff, failures + 1, random));
    if (!signal.aborted) logger.warn({ error: messageOf(error), waitMs, failures: failures + 1 }, what);
    return waitMs;
  }

  async function step(): Promise<InformerEvent> {
    switch (state.name) {
      case 'Idle':
        return { type: 'Started' };
      case 'Listing':
        return await list(state.failures);
      case 'Watching':
        return await watch(state.resourceVersion, state.failures);
      case 'BackingOff':
        await clock.sleep(state.waitMs, signal);
        return { type: 'Waited' };
      case 'Stopped':
        return { type: 'Stopped' };
    }
  }

  async function runToEnd(): Promise<void> {
    while (state.name !== 'Stopped') {
      const event = await step();
      state = nextInformerState(state, signal.aborted ? { type: 'Stopped' } : event);
    }
  }

  let started = false;
  return {
    kind,
    start() {
      if (started) return;
      started = true;
      void runToEnd();
    },
    synced: () => synced,
    hasSynced: () => isSynced,
    get: cache.get,
    list: cache.list,
    onChange: cache.onChange,
    state: () => state,
  };
}
