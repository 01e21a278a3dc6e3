import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react';
import type { KubeObject } from '../../src/api/core.ts';
import type { KindName, KindTable } from '../../src/api/kinds.ts';
import type { ActionName, Right, SessionAnswer } from '../../src/console/answers.ts';
import type { Cluster, Selection } from './cluster.ts';
import type { ConsoleApi } from './console-api.ts';
import type { Snapshot } from './kind-store.ts';

/** What every part of the console has at hand once somebody is logged in. */
export interface Console {
  readonly api: ConsoleApi;
  readonly session: SessionAnswer;
  readonly cluster: Cluster;
  /** Milliseconds that the server's clock is ahead of this machine's. */
  readonly clockAhead: number;
  /** The session is over, or the person logs out. */
  readonly leave: (why: 'expired' | 'logout') => void;
}

export const ConsoleContext = createContext<Console | undefined>(undefined);

export function useConsole(): Console {
  const found = useContext(ConsoleContext);
  if (found === undefined) throw new Error('nobody is logged in');
  return found;
}

type ShapeOf<K extends KindName> = NonNullable<KindTable[K]['shape']>;

/** All objects of a kind, kept up by watching. */
export function useKind<K extends KindName>(
  name: K,
  { namespace, fieldSelector, labelSelector }: Selection = {},
): Snapshot<ShapeOf<K>> {
  const { cluster } = useConsole();
  const store = useMemo(
    () =>
      cluster.kind<ShapeOf<K> & KubeObject>(name, {
        ...(namespace === undefined ? {} : { namespace }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
        ...(labelSelector === undefined ? {} : { labelSelector }),
      }),
    [cluster, name, namespace, fieldSelector, labelSelector],
  );
  return useSyncExternalStore(store.subscribe, store.snapshot);
}

/** The oldest time since when something that is shown is old; undefined where all is live. */
export function useStaleSince(): number | undefined {
  const { cluster } = useConsole();
  const subscribe = useCallback(
    (listener: () => void) => {
      let ends = cluster.stores().map((store) => store.subscribe(listener));
      const end = cluster.onStore(() => {
        for (const each of ends) each();
        ends = cluster.stores().map((store) => store.subscribe(listener));
      });
      return () => {
        for (const each of [...ends, end]) each();
      };
    },
    [cluster],
  );
  return useSyncExternalStore(subscribe, () => {
    const times = cluster.stores().flatMap((store) => {
      const { staleSince, phase } = store.snapshot();
      return staleSince === undefined || phase === 'refused' ? [] : [staleSince];
    });
    return times.length === 0 ? undefined : Math.min(...times);
  });
}

/** The time by the server's clock, again each `everyMs`: what is written as "5 min ago" moves with it. */
export function useNow(everyMs = 1_000): number {
  const { clockAhead } = useConsole();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now + clockAhead;
}

/** Whether the person may press the button of an action. */
export function useRight(action: ActionName): Right {
  return useConsole().session.rights[action];
}
