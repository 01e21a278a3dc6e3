import type { KubeObject } from '../../src/api/core.ts';

/** Why a list or a watch failed, as the cluster API told it; `status` 0 where nobody answered. */
export interface Failure {
  readonly status: number;
  readonly message: string;
}

/** Where the copy of one kind stands. */
export type Phase =
  | { readonly phase: 'idle' }
  | { readonly phase: 'listing' }
  /** The watch is asked for; `open` once the cluster API has taken it up. */
  | { readonly phase: 'watching'; readonly open: boolean }
  /** Something failed; it is tried again at a time. */
  | { readonly phase: 'waiting'; readonly failure: Failure }
  /** The session may not see the kind: only a new login changes that. */
  | { readonly phase: 'refused'; readonly failure: Failure }
  /** The cluster does not know the kind. */
  | { readonly phase: 'absent' };

/** All objects of one kind as they were last known, and how well they are known now. */
export interface KindState<T extends KubeObject> {
  readonly at: Phase;
  readonly objects: ReadonlyMap<string, T>;
  readonly resourceVersion: string;
  /** Whether a whole list was ever there: an empty kind is not an unknown one. */
  readonly listed: boolean;
  readonly failures: number;
  /** Unix milliseconds since when nothing was heard; undefined while the watch is open. */
  readonly staleSince: number | undefined;
}

export type Change<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: { readonly metadata: { resourceVersion?: string } } };

export type KindEvent<T> =
  | { readonly kind: 'start' }
  | { readonly kind: 'listed'; readonly items: readonly T[]; readonly resourceVersion: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'changed'; readonly changes: readonly Change<T>[] }
  /** The server ended the watch in good order, as it does from time to time. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly now: number }
  /** The time to try again has come, or somebody pressed the button. */
  | { readonly kind: 'due' };

/** What has to be done after a step. */
export type Effect =
  | { readonly do: 'list' }
  | { readonly do: 'watch'; readonly resourceVersion: string }
  | { readonly do: 'wait'; readonly failures: number }
  | { readonly do: 'nothing' };

export const firstState: KindState<never> = {
  at: { phase: 'idle' },
  objects: new Map<string, never>(),
  resourceVersion: '',
  listed: false,
  failures: 0,
  staleSince: undefined,
};

const nothing: Effect = { do: 'nothing' };

/** One step of the copy of a kind: pure, so that every way through it can be tested. */
export function step<T extends KubeObject>(
  state: KindState<T>,
  event: KindEvent<T>,
): { readonly state: KindState<T>; readonly effect: Effect } {
  switch (event.kind) {
    case 'start':
      if (state.at.phase !== 'idle') return { state, effect: nothing };
      return { state: { ...state, at: { phase: 'listing' } }, effect: { do: 'list' } };
    case 'listed': {
      const { resourceVersion, items } = event;
      const objects = new Map(items.map((object) => [keyOf(object), object]));
      return {
        state: { ...state, objects, resourceVersion, listed: true, at: { phase: 'watching', open: false } },
        effect: { do: 'watch', resourceVersion },
      };
    }
    case 'opened':
      if (state.at.phase !== 'watching') return { state, effect: nothing };
      return {
        state: { ...state, at: { phase: 'watching', open: true }, failures: 0, staleSince: undefined },
        effect: nothing,
      };
    case 'changed':
      return { state: changed(state, event.changes), effect: nothing };
    case 'ended':
      if (state.at.phase !== 'watching') return { state, effect: nothing };
      return {
        state: { ...state, at: { phase: 'watching', open: false } },
        effect: { do: 'watch', resourceVersion: state.resourceVersion },
      };
    case 'failed':
      return failed(state, event.failure, event.now);
    case 'due':
      if (state.at.phase !== 'waiting' && state.at.phase !== 'refused') return { state, effect: nothing };
      return state.listed
        ? {
            state: { ...state, at: { phase: 'watching', open: false } },
            effect: { do: 'watch', resourceVersion: state.resourceVersion },
          }
        : { state: { ...state, at: { phase: 'listing' } }, effect: { do: 'list' } };
  }
}

function failed<T extends KubeObject>(
  state: KindState<T>,
  failure: Failure,
  now: number,
): { state: KindState<T>; effect: Effect } {
  // What the watch would go on from is no longer kept (API concepts, "410 Gone responses"): all is listed again, and
  // what is shown stays until then.
  if (failure.status === 410 && state.at.phase === 'watching') {
    return { state: { ...state, at: { phase: 'listing' } }, effect: { do: 'list' } };
  }
  const staleSince = state.staleSince ?? now;
  if (failure.status === 401 || failure.status === 403) {
    // What may not be seen any more is not shown any more.
    return {
      state: { ...state, at: { phase: 'refused', failure }, objects: new Map(), listed: false, staleSince },
      effect: nothing,
    };
  }
  if (failure.status === 404 && !state.listed) {
    return { state: { ...state, at: { phase: 'absent' } }, effect: nothing };
  }
  const failures = state.failures + 1;
  return {
    state: { ...state, at: { phase: 'waiting', failure }, failures, staleSince },
    effect: { do: 'wait', failures },
  };
}

function changed<T extends KubeObject>(state: KindState<T>, changes: readonly Change<T>[]): KindState<T> {
  const objects = new Map(state.objects);
  let { resourceVersion } = state;
  for (const { type, object } of changes) {
    resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
    if (type === 'BOOKMARK') continue;
    if (type === 'DELETED') objects.delete(keyOf(object));
    else objects.set(keyOf(object), object);
  }
  return { ...state, objects, resourceVersion };
}

/** `namespace/name`, or the name alone. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}
