import type { KubeObject } from '../../src/api/core.ts';
import { backoffMs } from '../../src/kube/backoff.ts';
import { type Failure, firstState, type KindEvent, type KindState, type Phase, step } from './kind-state.ts';
import { failureOf, type WatchStream } from './stream.ts';

/** What is known of a kind, for a page to draw. It is another object whenever anything has changed. */
export interface Snapshot<T extends KubeObject> {
  /** Sorted by namespace and name. */
  readonly items: readonly T[];
  readonly phase: Phase['phase'];
  /** Whether `items` can be believed to be all. */
  readonly listed: boolean;
  readonly staleSince: number | undefined;
  readonly failure: Failure | undefined;
}

/** The copy of one kind in this tab. */
export interface KindStore<T extends KubeObject> {
  snapshot(): Snapshot<T>;
  /** Told after each change, at most once a frame. The first subscriber starts it. */
  subscribe(listener: () => void): () => void;
  /** Tries again now. */
  retry(): void;
  stop(): void;
}

export interface KindStoreOptions<T> {
  /** Path of the collection in the cluster API. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly stream: WatchStream;
  readonly list: (
    path: string,
    query: Readonly<Record<string, string>>,
  ) => Promise<{ items: readonly T[]; resourceVersion: string }>;
  /** Calls back when the next frame is drawn. */
  readonly schedule: (draw: () => void) => void;
}

const backoff = { firstMs: 500, factor: 2, mostMs: 20_000, jitter: 0.5 };

export function createKindStore<T extends KubeObject>(options: KindStoreOptions<T>): KindStore<T> {
  const { path, query, stream, list, schedule } = options;
  const listeners = new Set<() => void>();
  let state: KindState<T> = firstState;
  let drawn: Snapshot<T> = snapshotOf(state);
  let scheduled = false;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let endWatch: (() => void) | undefined;

  function send(event: KindEvent<T>): void {
    if (stopped) return;
    const { state: next, effect } = step(state, event);
    const changed = next !== state;
    state = next;
    if (changed) draw();
    switch (effect.do) {
      case 'list':
        return void list(path, query).then(
          ({ items, resourceVersion }) => send({ kind: 'listed', items, resourceVersion }),
          (error: unknown) => send({ kind: 'failed', failure: failureOf(error), now: Date.now() }),
        );
      case 'watch':
        endWatch = stream.watch(
          { path, query: { ...query, resourceVersion: effect.resourceVersion } },
          {
            opened: () => send({ kind: 'opened' }),
            changed: (changes) =>
              send({
                kind: 'changed',
                changes: changes as Extract<KindEvent<T>, { kind: 'changed' }>['changes'],
              }),
            ended: () => send({ kind: 'ended' }),
            failed: (failure) => send({ kind: 'failed', failure, now: Date.now() }),
          },
        );
        return;
      case 'wait':
        clearTimeout(timer);
        timer = setTimeout(() => send({ kind: 'due' }), backoffMs(backoff, effect.failures, Math.random));
        return;
      case 'nothing':
        return;
    }
  }

  function draw(): void {
    if (scheduled) return;
    scheduled = true;
    schedule(() => {
      scheduled = false;
      drawn = snapshotOf(state);
      for (const listener of listeners) listener();
    });
  }

  return {
    snapshot: () => drawn,
    subscribe(listener) {
      listeners.add(listener);
      send({ kind: 'start' });
      return () => void listeners.delete(listener);
    },
    retry() {
      clearTimeout(timer);
      send({ kind: 'due' });
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      endWatch?.();
    },
  };
}

function snapshotOf<T extends KubeObject>({ objects, at, listed, staleSince }: KindState<T>): Snapshot<T> {
  const items = [...objects].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, object]) => object);
  const failure = at.phase === 'waiting' || at.phase === 'refused' ? at.failure : undefined;
  return { items, phase: at.phase, listed, staleSince, failure };
}
