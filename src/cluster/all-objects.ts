import type { KubeObject } from '../api/core.ts';
import { apiVersionOf, type KindRef, type KindTable } from '../api/kinds.ts';
import { messageOf } from '../errors/error.ts';
import type { Change } from '../kube/cache.ts';
import { createInformer } from '../kube/informer.ts';
import type { Informer } from '../kube/informer-state.ts';
import type { ControllerContext } from './context.ts';
import { discoverKinds, type ServedKind } from './served-kinds.ts';

/** A change of an object, with the kind it was seen as. */
export interface KindChange {
  readonly kind: ServedKind;
  readonly change: Change<KubeObject>;
}

/** Every object of every kind that can be watched, custom ones as they come and go. */
export interface AllObjects {
  /** Follows the kinds until the signal aborts. */
  run(): Promise<void>;
  /** Resolves when all kinds that there were in the beginning have been listed. */
  synced(): Promise<void>;
  /** Whether nothing is being listed for the first time now. */
  isComplete(): boolean;
  /** A kind by what owner references say of it; the version does not matter. */
  kindOf(apiVersion: string, kind: string): ServedKind | undefined;
  /** Before `run`. */
  onChange(handler: (change: KindChange) => void): void;
  /** Calls `handler` whenever the kinds have been read anew. Before `run`. */
  onKinds(handler: () => void): void;
}

const retryMs = 1_000;
/** A definition is established a moment before its kind is in discovery. */
const settleMs = 20;

export function createAllObjects(context: ControllerContext): AllObjects {
  const { client, informers, logger, signal, clock } = context;
  const handlers: ((change: KindChange) => void)[] = [];
  const kindHandlers: (() => void)[] = [];
  const followed = new Map<string, { kind: ServedKind; informer: Informer<KubeObject>; stop: () => void }>();
  let served: readonly ServedKind[] = [];
  let markSynced = () => {};
  const synced = new Promise<void>((resolve) => {
    markSynced = resolve;
  });
  const shared = new Set(sharedKinds(client.kinds).map(keyOfKind));

  async function refresh(): Promise<void> {
    served = await discoverKinds(client, signal);
    const wanted = new Map(served.filter(isFollowed).map((kind) => [keyOfKind(kind), kind]));
    for (const [key, { stop }] of followed) {
      if (wanted.has(key)) continue;
      stop();
      followed.delete(key);
    }
    for (const [key, kind] of wanted) if (!followed.has(key)) follow(key, kind);
    for (const handler of kindHandlers) handler();
  }

  function follow(key: string, kind: ServedKind): void {
    const stop = new AbortController();
    const informer = shared.has(key)
      ? informers.of(kind)
      : createInformer(client, kind, { logger, clock, signal: AbortSignal.any([signal, stop.signal]) });
    followed.set(key, { kind, informer, stop: () => stop.abort() });
    informer.onChange((change) => {
      for (const handler of handlers) handler({ kind, change });
    });
    informer.start();
  }

  /** Asks again until `wake` says that something changed. Several changes at once are one. */
  async function keepUp(): Promise<void> {
    let wake = () => {};
    let changed = true;
    const definitions = informers.of(client.kinds.CustomResourceDefinition);
    definitions.onChange(() => {
      changed = true;
      wake();
    });
    signal.addEventListener('abort', () => wake(), { once: true });
    definitions.start();
    while (!signal.aborted) {
      if (!changed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        await clock.sleep(settleMs, signal);
      }
      changed = false;
      try {
        await refresh();
        void allSynced().then(markSynced);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ error: messageOf(error) }, 'the kinds of the API cannot be read');
        changed = true;
        await clock.sleep(retryMs, signal);
      }
    }
  }

  async function allSynced(): Promise<void> {
    await Promise.all([...followed.values()].map(({ informer }) => informer.synced()));
  }

  return {
    run: keepUp,
    synced: () => synced,
    isComplete: () => [...followed.values()].every(({ informer }) => informer.hasSynced()),
    kindOf(apiVersion, kind) {
      const group = apiVersion.includes('/') ? apiVersion.split('/', 1)[0] : '';
      return served.find((one) => one.kind === kind && one.group === group);
    },
    onChange(handler) {
      handlers.push(handler);
    },
    onKinds(handler) {
      kindHandlers.push(handler);
    },
  };
}

/** Kinds that other controllers follow too, and that never go away; the others end with their definition. */
function sharedKinds(kinds: KindTable): readonly KindRef[] {
  const { Namespace, Node, Pod, ConfigMap, ServiceAccount } = kinds;
  const { Job, Deployment, PodDisruptionBudget, CustomResourceDefinition } = kinds;
  const core = [Namespace, Node, Pod, ConfigMap, ServiceAccount];
  return [...core, Job, Deployment, PodDisruptionBudget, CustomResourceDefinition];
}

const keyOfKind = (kind: KindRef) => `${apiVersionOf(kind)}/${kind.plural}`;

/** Events come and go by the hundred, own nothing and are owned by nothing. */
function isFollowed({ kind, verbs }: ServedKind): boolean {
  return kind !== 'Event' && ['delete', 'list', 'watch'].every((verb) => verbs.includes(verb));
}
