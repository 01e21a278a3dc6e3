import type { KubeObject } from '../api/core.ts';
import { messageOf } from '../errors/error.ts';
import type { Logger } from '../observe/log.ts';

export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'updated'; readonly object: T; readonly previous: T }
  /** `object` is the last that was seen of it. */
  | { readonly type: 'deleted'; readonly object: T };

export type ChangeHandler<T> = (change: Change<T>) => void;

/** Objects by namespace and name, and who wants to know of changes. */
export interface ObjectCache<T extends KubeObject> {
  get(name: string, namespace?: string): T | undefined;
  list(filter?: { namespace?: string }): T[];
  put(object: T): void;
  remove(object: T): void;
  /** Makes the cache equal to `objects` and tells the difference. */
  replace(objects: readonly T[]): void;
  onChange(handler: ChangeHandler<T>): () => void;
}

/** The key of an object in caches and queues: `namespace/name`, or `name` where it has no namespace. */
export function keyOf(object: Pick<KubeObject, 'metadata'>): string {
  const { name, namespace } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The parts of a key. */
export function parseKey(key: string): { name: string; namespace?: string } {
  const slash = key.indexOf('/');
  return slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function createCache<T extends KubeObject>(logger: Logger): ObjectCache<T> {
  const objects = new Map<string, T>();
  const handlers = new Set<ChangeHandler<T>>();

  function tell(change: Change<T>): void {
    for (const handler of handlers) call(handler, change);
  }

  function call(handler: ChangeHandler<T>, change: Change<T>): void {
    try {
      handler(change);
    } catch (error) {
      // One listener's defect must not keep the others, or the cache, from going on.
      logger.error({ key: keyOf(change.object), error: messageOf(error) }, 'change handler failed');
    }
  }

  function put(object: T): void {
    const key = keyOf(object);
    const previous = objects.get(key);
    objects.set(key, freeze(object));
    if (previous === undefined) {
      tell({ type: 'added', object });
    } else if (previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again while nobody looked: two objects, not one that changed.
      tell({ type: 'deleted', object: previous });
      tell({ type: 'added', object });
    } else if (previous.metadata.resourceVersion !== object.metadata.resourceVersion) {
      tell({ type: 'updated', object, previous });
    }
  }

  function remove(object: T): void {
    const key = keyOf(object);
    if (!objects.delete(key)) return;
    tell({ type: 'deleted', object: freeze(object) });
  }

  return {
    get: (name, namespace) =>
      objects.get(keyOf({ metadata: { name, ...(namespace === undefined ? {} : { namespace }) } })),
    list: (filter = {}) => {
      const all = [...objects.values()];
      return filter.namespace === undefined
        ? all
        : all.filter((object) => object.metadata.namespace === filter.namespace);
    },
    put,
    remove,
    replace(listed) {
      const present = new Set(listed.map((object) => keyOf(object)));
      for (const [key, object] of objects) {
        if (!present.has(key)) remove(object);
      }
      for (const object of listed) put(object);
    },
    onChange(handler) {
      for (const object of objects.values()) call(handler, { type: 'added', object });
      handlers.add(handler);
      return () => {
        handlers.delete(handler);
      };
    },
  };
}

/** Freezes an object with all its parts: what is shared by many must not be changed by one. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}
