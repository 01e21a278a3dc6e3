import type { KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import type { ChangeHandler } from './cache.ts';

/**
 * What an informer does now. `Listing` reads everything, `Watching` follows from the version that it holds,
 * `BackingOff` waits after a failure and then goes on with `next`. A `resourceVersion` is never compared or
 * counted with: it is the server's. `failures` counts those in a row without anything gained between them.
 */
export type InformerState =
  | { readonly name: 'Idle' }
  | { readonly name: 'Listing'; readonly failures: number }
  | { readonly name: 'Watching'; readonly resourceVersion: string; readonly failures: number }
  | {
      readonly name: 'BackingOff';
      readonly waitMs: number;
      readonly failures: number;
      readonly next:
        | { readonly name: 'Listing' }
        | { readonly name: 'Watching'; readonly resourceVersion: string };
    }
  | { readonly name: 'Stopped' };

/** Follows every object of a kind, and keeps what it has seen. */
export interface Informer<T extends KubeObject> {
  readonly kind: KindRef<T>;
  /** Begins. Nothing happens before; a second call is ignored. */
  start(): void;
  /** Resolves when the first list is in the cache; never where the informer is stopped before. */
  synced(): Promise<void>;
  hasSynced(): boolean;
  /** A cached object, frozen: copy it (structuredClone) before changing it. */
  get(name: string, namespace?: string): T | undefined;
  list(filter?: { namespace?: string }): T[];
  /**
   * Calls `handler` for what is cached already, then for every change, in order and synchronously. A change that
   * was missed (a cut, a relist) comes as the difference between before and after. Returns how to stop it.
   */
  onChange(handler: ChangeHandler<T>): () => void;
  state(): InformerState;
}
