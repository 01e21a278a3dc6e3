import type { KubeObject } from '../../src/api/core.ts';
import { type KindName, type KindRef, type KindTable, kindTable } from '../../src/api/kinds.ts';
import { type Names, names } from '../../src/api/names.ts';
import type { SessionAnswer } from '../../src/console/answers.ts';
import type { ConsoleApi } from './console-api.ts';
import { createKindStore, type KindStore } from './kind-store.ts';
import { createWatchStream } from './stream.ts';

/** Which objects of a kind are wanted. */
export interface Selection {
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** The cluster as this tab knows it: a copy of every kind that a page has asked for, kept up by one stream. */
export interface Cluster {
  readonly kinds: KindTable;
  readonly names: Names;
  kind<T extends KubeObject>(name: KindName, selection?: Selection): KindStore<T>;
  /** Every copy there is now. */
  stores(): readonly KindStore<KubeObject>[];
  /** Told when a copy is added. */
  onStore(listener: () => void): () => void;
  close(): void;
}

/** Objects that are asked for at once: a fleet of two thousand nodes takes four turns. */
const pageSize = 500;
/** Kinds of which there are as many as nodes. The others are few, and say how the cluster stands: they come first. */
const manyOf: readonly KindName[] = ['Node', 'NodeUpdate', 'MachineConfigNode'];

export function createCluster(api: ConsoleApi, session: SessionAnswer): Cluster {
  const { platform, machineConfigOperatorServes } = session;
  const kinds = kindTable(platform, { machineConfigOperatorServes });
  const stream = createWatchStream(api.stream, api.changeStream);
  const stores = new Map<string, KindStore<KubeObject>>();
  const listeners = new Set<() => void>();

  const manyPaths = new Set(manyOf.map((name) => collectionPath(kinds[name])));
  const few = new Set<Promise<unknown>>();

  async function list(path: string, query: Readonly<Record<string, string>>) {
    if (!manyPaths.has(path)) {
      const listed = listPages(path, query);
      few.add(listed);
      return await listed.finally(() => few.delete(listed));
    }
    await turn(); // What is asked for in the same turn is known only after it.
    await Promise.race([Promise.allSettled(few), pause(fewMs)]);
    return await listPages(path, query);
  }

  async function listPages(path: string, query: Readonly<Record<string, string>>) {
    const items: KubeObject[] = [];
    let resourceVersion = '';
    let next: string | undefined;
    do {
      const words = new URLSearchParams({ ...query, limit: String(pageSize) });
      if (next !== undefined) words.set('continue', next);
      const page = await api.read<{
        metadata: { resourceVersion: string; continue?: string };
        items: KubeObject[] | null;
      }>(`cluster${path}?${words}`);
      items.push(...(page.items ?? []));
      ({ resourceVersion } = page.metadata);
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
    return { items, resourceVersion };
  }

  return {
    kinds,
    names: names(platform),
    kind<T extends KubeObject>(name: KindName, selection: Selection = {}) {
      const { namespace, ...selectors } = selection;
      const path = collectionPath(kinds[name], namespace);
      const query = Object.fromEntries(
        Object.entries(selectors).filter((entry): entry is [string, string] => entry[1] !== undefined),
      );
      const key = `${path}?${new URLSearchParams(query)}`;
      let store = stores.get(key);
      if (store === undefined) {
        store = createKindStore<KubeObject>({ path, query, stream, list, schedule: nextFrame });
        stores.set(key, store);
        for (const listener of listeners) listener();
      }
      return store as unknown as KindStore<T>;
    },
    stores: () => [...stores.values()],
    onStore(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      for (const store of stores.values()) store.stop();
      stream.close();
    },
  };
}

/** Milliseconds that long lists wait for short ones at most. */
const fewMs = 300;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function turn(): Promise<void> {
  return pause(0);
}

/** Path of a kind's collection in the cluster API. */
export function collectionPath(kind: KindRef, namespace?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${namespace}` : '';
  return `${root}${scope}/${kind.plural}`;
}

/** Tabs in the background draw no frames; they are kept up all the same, more slowly. */
function nextFrame(draw: () => void): void {
  if (document.visibilityState === 'hidden') setTimeout(draw, 1_000);
  else requestAnimationFrame(draw);
}
