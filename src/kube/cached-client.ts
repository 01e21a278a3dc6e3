import type { KubeObject } from '../api/core.ts';
import { type KindRef, resourceName } from '../api/kinds.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { KubeClient } from './client.ts';
import { createInformer, type Informer } from './informer.ts';

interface Written {
  readonly object: KubeObject;
  readonly atMs: number;
}

/** What we wrote ourselves counts this long at the most where the watch does not bring it: it was replaced since. */
const ownWriteMsMax = 10_000;

/**
 * The same client, which answers `all` of these cluster-scoped kinds from memory, kept by watches: a fleet of thousands
 * is not read page by page for each decision. What this client itself wrote is seen at once, so that nobody decides
 * twice what was decided already; what others wrote, a moment later.
 */
export function withCaches(
  client: KubeClient,
  kinds: readonly KindRef[],
  scope: { readonly logger: Logger; readonly clock: Clock; readonly signal: AbortSignal },
): KubeClient {
  const caches = new Map<string, { informer: Informer<KubeObject>; written: Map<string, Written> }>();
  for (const kind of kinds) {
    const informer = createInformer<KubeObject>(client, kind, scope);
    const written = new Map<string, Written>();
    informer.onChange(({ object }) => {
      const { name, resourceVersion } = object.metadata;
      if (written.get(name)?.object.metadata.resourceVersion === resourceVersion) written.delete(name);
    });
    informer.start();
    caches.set(resourceName(kind), { informer, written });
  }

  function note<T extends KubeObject>(kind: KindRef<T>, object: T): T {
    const cache = caches.get(resourceName(kind));
    if (cache === undefined) return object;
    const { name, resourceVersion } = object.metadata;
    // The watch may have been faster than the answer.
    if (cache.informer.get(name)?.metadata.resourceVersion !== resourceVersion) {
      cache.written.set(name, { object, atMs: scope.clock.monotonic() });
    }
    return object;
  }

  return {
    ...client,
    async all<T extends KubeObject>(kind: KindRef<T>) {
      const cache = caches.get(resourceName(kind));
      if (cache === undefined) return await client.all(kind);
      const { informer, written } = cache;
      await informer.synced();
      const oldest = scope.clock.monotonic() - ownWriteMsMax;
      for (const [name, { atMs }] of written) if (atMs < oldest) written.delete(name);
      if (written.size === 0) return informer.list() as unknown as readonly T[];
      const objects = new Map(informer.list().map((object) => [object.metadata.name, object]));
      for (const [name, { object }] of written) objects.set(name, object);
      return [...objects.values()] as unknown as readonly T[];
    },
    create: async (kind, object, call) => note(kind, await client.create(kind, object, call)),
    update: async (kind, object, call) => note(kind, await client.update(kind, object, call)),
    updateStatus: async (kind, object, call) => note(kind, await client.updateStatus(kind, object, call)),
    patch: async (kind, name, patch, options) => note(kind, await client.patch(kind, name, patch, options)),
  };
}
