import type { KubeObject } from '../api/core.ts';
import { type KindRef, resourceName } from '../api/kinds.ts';
import type { Clock } from '../observe/clock.ts';
import type { KubeClient } from './client.ts';
import type { Informer } from './informer-state.ts';

interface Written {
  readonly object: KubeObject;
  readonly atMs: number;
}

interface Cache {
  readonly informer: Informer<KubeObject>;
  readonly written: Map<string, Written>;
  /** Writes that are not answered yet, by name, and the versions that the watch has brought meanwhile. */
  readonly underway: Map<string, { calls: number; readonly seen: Set<string> }>;
}

/** What we wrote ourselves counts this long at the most where the watch does not bring it: it was replaced since. */
const ownWriteMsMax = 10_000;

/**
 * The same client, which answers `all` of these informers' cluster-scoped kinds from memory: a fleet of thousands is not
 * read page by page for each decision, nor held in memory by each part that follows it. What this client itself wrote is seen at once, so that nobody decides
 * twice what was decided already; what others wrote, a moment later.
 */
export function withCaches(
  client: KubeClient,
  informers: readonly Informer<KubeObject>[],
  clock: Clock,
): KubeClient {
  const caches = new Map<string, Cache>();
  for (const informer of informers) {
    const cache: Cache = { informer, written: new Map(), underway: new Map() };
    informer.onChange(({ type, object }) => {
      const { name, resourceVersion = '' } = object.metadata;
      if (type === 'deleted') cache.written.delete(name);
      if (cache.written.get(name)?.object.metadata.resourceVersion === resourceVersion)
        cache.written.delete(name);
      cache.underway.get(name)?.seen.add(resourceVersion);
    });
    informer.start();
    caches.set(resourceName(informer.kind), cache);
  }

  /** Writes, and remembers what came of it until the watch brings it: unless it did so before the answer came. */
  async function writing<T extends KubeObject>(
    kind: KindRef<T>,
    name: string | undefined,
    write: () => Promise<T>,
  ): Promise<T> {
    const cache = caches.get(resourceName(kind));
    if (cache === undefined || name === undefined) return await write();
    const { written, underway } = cache;
    const call = underway.get(name) ?? { calls: 0, seen: new Set<string>() };
    underway.set(name, call);
    call.calls += 1;
    try {
      const object = await write();
      if (!call.seen.has(object.metadata.resourceVersion ?? '')) {
        written.set(name, { object, atMs: clock.monotonic() });
      }
      return object;
    } finally {
      call.calls -= 1;
      if (call.calls === 0) underway.delete(name);
    }
  }

  return {
    ...client,
    async all<T extends KubeObject>(kind: KindRef<T>) {
      const cache = caches.get(resourceName(kind));
      if (cache === undefined) return await client.all(kind);
      const { informer, written } = cache;
      await informer.synced();
      const oldest = clock.monotonic() - ownWriteMsMax;
      for (const [name, { atMs }] of written) if (atMs < oldest) written.delete(name);
      if (written.size === 0) return informer.list() as unknown as readonly T[];
      const objects = new Map(informer.list().map((object) => [object.metadata.name, object]));
      for (const [name, { object }] of written) objects.set(name, object);
      return [...objects.values()] as unknown as readonly T[];
    },
    cacheOf: <T extends KubeObject>(kind: KindRef<T>) =>
      caches.get(resourceName(kind))?.informer as unknown as Informer<T> | undefined,
    create: (kind, object, call) =>
      writing(kind, object.metadata.name, () => client.create(kind, object, call)),
    update: (kind, object, call) =>
      writing(kind, object.metadata.name, () => client.update(kind, object, call)),
    updateStatus: (kind, object, call) =>
      writing(kind, object.metadata.name, () => client.updateStatus(kind, object, call)),
    patch: (kind, name, patch, options) =>
      writing(kind, name, () => client.patch(kind, name, patch, options)),
  };
}
