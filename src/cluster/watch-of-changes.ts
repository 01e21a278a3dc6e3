import type { KubeObject } from '../api/core.ts';
import type { ControllerWatch } from '../kube/controller.ts';
import type { Informer } from '../kube/informer-state.ts';
import type { AllObjects, KindChange } from './all-objects.ts';

/**
 * A watch of every object for `runController`, which knows watches of one kind only: each key that a change concerns
 * is handed on as an object of that name. `keysOfKinds`: what to look at when the kinds themselves have changed.
 */
export function watchOfChanges(
  all: AllObjects,
  keysOf: (change: KindChange) => readonly string[],
  keysOfKinds: () => Iterable<string> = () => [],
): ControllerWatch {
  const source: Pick<Informer<KubeObject>, 'onChange' | 'start' | 'synced'> = {
    start() {},
    synced: all.synced,
    onChange(handler) {
      const hand = (keys: Iterable<string>) => {
        for (const name of keys) {
          handler({ type: 'added', object: { apiVersion: '', kind: '', metadata: { name } } });
        }
      };
      all.onChange((change) => hand(keysOf(change)));
      all.onKinds(() => hand(keysOfKinds()));
      return () => {};
    },
  };
  return { informer: source as Informer<KubeObject>, keysOf: ({ metadata }) => [metadata.name] };
}
