import assert from 'node:assert/strict';
import type { Draft, KubeObject } from '../api/core.ts';
import { apiVersionOf, type KindRef, type KindTable, kindTable, type Platform } from '../api/kinds.ts';
import { SluiceError } from '../errors/error.ts';
import { createDiscovery } from './discovery.ts';
import { isNotFound } from './error.ts';
import type { Informer } from './informer-state.ts';
import {
  createToken,
  type EvictionOptions,
  type EvictionOutcome,
  evict,
  type PodLogOptions,
  podLog,
  type TokenOptions,
} from './subresources.ts';
import { type CallOptions, createTransport, type Transport, type TransportOptions } from './transport.ts';
import { readWatch, type WatchEvent, type WatchOptions } from './watch.ts';

export interface ListOptions extends CallOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects a page; all pages are read. Default 500. */
  readonly pageSize?: number;
  /** What of each object is kept, before the next page is read: a list of a fleet need never be in memory whole. */
  readonly keep?: (object: KubeObject) => KubeObject;
}

export interface KubeList<T> {
  readonly items: T[];
  /** Where a watch goes on from. */
  readonly resourceVersion: string;
}

export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export interface PatchOptions extends CallOptions {
  readonly namespace?: string;
  readonly subresource?: string;
  /** Default: `json` for an array, `merge` for an object. */
  readonly type?: 'merge' | 'json' | 'strategic';
}

export interface DeleteOptions extends CallOptions {
  readonly namespace?: string;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  /** Delete only the object that was seen: another one of the same name is a Conflict. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * One cluster API under one identity. JSON only. Every method rejects with ApiError for an answer that is no
 * success and with SluiceError Unreachable where there is none. Reads are tried again when the connection fails;
 * writes are not.
 */
export interface KubeClient {
  readonly server: string;
  readonly platform: Platform;
  readonly kinds: KindTable;
  get<T extends KubeObject>(
    kind: KindRef<T>,
    name: string,
    namespace?: string,
    options?: CallOptions,
  ): Promise<T>;
  /** As `get`; undefined where the object does not exist. */
  tryGet<T extends KubeObject>(
    kind: KindRef<T>,
    name: string,
    namespace?: string,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** Every object, page by page. */
  list<T extends KubeObject>(kind: KindRef<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Every object, for a look that may be a moment old: from memory where this client keeps one (`withCaches`). */
  all<T extends KubeObject>(kind: KindRef<T>): Promise<readonly T[]>;
  /** The cache that `all` of this kind is answered from, for whoever follows the kind itself; undefined without one. */
  cacheOf<T extends KubeObject>(kind: KindRef<T>): Informer<T> | undefined;
  /** As `list`, a page at a time, for what may be too large to hold. */
  pages<T extends KubeObject>(kind: KindRef<T>, options?: ListOptions): AsyncGenerator<KubeList<T>>;
  create<T extends KubeObject>(kind: KindRef<T>, object: Draft<T>, options?: CallOptions): Promise<T>;
  /** Replaces the object; its `metadata.resourceVersion` guards against a lost update where it is set. */
  update<T extends KubeObject>(kind: KindRef<T>, object: T, options?: CallOptions): Promise<T>;
  updateStatus<T extends KubeObject>(kind: KindRef<T>, object: T, options?: CallOptions): Promise<T>;
  patch<T extends KubeObject>(
    kind: KindRef<T>,
    name: string,
    patch: object | readonly JsonPatchOperation[],
    options?: PatchOptions,
  ): Promise<T>;
  /** False where it did not exist. The object may stand on with a deletionTimestamp while finalizers hold it. */
  delete(kind: KindRef, name: string, options?: DeleteOptions): Promise<boolean>;
  /** Ends when the server ends it; throws ApiError (isExpired) where `resourceVersion` is too old. */
  watch<T extends KubeObject>(kind: KindRef<T>, options?: WatchOptions): AsyncGenerator<WatchEvent<T>>;
  /** Bytes of a container's log, at most `bytesMax` (default 4 MiB, the end is cut). */
  podLog(namespace: string, name: string, options?: PodLogOptions): Promise<Buffer>;
  createToken(
    namespace: string,
    serviceAccount: string,
    options?: TokenOptions,
  ): Promise<{ token: string; expirationTimestamp: string }>;
  evict(namespace: string, pod: string, options?: EvictionOptions): Promise<EvictionOutcome>;
  /** The kind of a manifest: from the table without asking, else by discovery; undefined where none serves it. */
  resolveKind(apiVersion: string, kind: string): Promise<KindRef | undefined>;
  /** Whether the API serves the kind now. */
  serves(kind: KindRef): Promise<boolean>;
  /** Any request: path from '/', answer parsed as JSON where it is JSON, else text. */
  raw(request: {
    method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    path: string;
    query?: Record<string, string | number | boolean | undefined>;
    body?: unknown;
    contentType?: string;
    accept?: string;
    signal?: AbortSignal;
    timeoutMs?: number;
  }): Promise<unknown>;
  /** What the API server's clock says, by the Date of an answer (RFC 9110, 6.6.1), in Unix milliseconds, to the second. */
  serverTime(): Promise<number | undefined>;
  /**
   * The same client, whose every write first asks `mayWrite`, at the last moment before it leaves: a leader that was
   * stopped and goes on must not write what it had decided before. Errors of its writes: Conflict, besides the usual.
   */
  fenced(mayWrite: () => boolean): KubeClient;
  close(): Promise<void>;
}

export interface KubeClientOptions extends TransportOptions {
  readonly platform: Platform;
  /** See `kindTable`. */
  readonly machineConfigOperatorServes?: boolean;
}

const pageSizeDefault = 500;
const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** The path of a kind's collection, or of one object or a subresource of it. */
export function pathOf(kind: KindRef, namespace?: string, name?: string, subresource?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${part(namespace)}` : '';
  const object = name === undefined ? '' : `/${part(name)}`;
  return `${root}${scope}/${kind.plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}

function part(text: string): string {
  assert(text !== '' && text !== '.' && text !== '..', `'${text}' is no name of an object`);
  return encodeURIComponent(text);
}

function objectPath(kind: KindRef, name: string, namespace?: string, subresource?: string): string {
  assert(!kind.namespaced || namespace !== undefined, `${kind.kind} ${name} needs a namespace`);
  return pathOf(kind, namespace, name, subresource);
}

/** A client of the API server at `server`. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  return clientOver(createTransport(options), options);
}

function clientOver(transport: Transport, options: KubeClientOptions): KubeClient {
  const kinds = kindTable(options.platform, {
    machineConfigOperatorServes: options.machineConfigOperatorServes ?? false,
  });
  const discovery = createDiscovery(kinds, async (path) =>
    JSON.parse(await transport.text({ method: 'GET', path })),
  );

  async function write<T extends KubeObject>(
    method: 'POST' | 'PUT',
    kind: KindRef<T>,
    object: Draft<T> | T,
    call: CallOptions & { subresource?: string },
  ): Promise<T> {
    const { namespace, name } = object.metadata;
    assert(!kind.namespaced || namespace !== undefined, `${kind.kind} ${name ?? ''} needs a namespace`);
    assert(method === 'POST' || name !== undefined, `${kind.kind} needs a name`);
    const { subresource, ...rest } = call;
    const text = await transport.text({
      ...rest,
      method,
      path: pathOf(kind, namespace, method === 'POST' ? undefined : name, subresource),
      body: { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind },
    });
    return JSON.parse(text) as T;
  }

  const client: KubeClient = {
    server: options.server,
    platform: options.platform,
    kinds,
    async get<T extends KubeObject>(
      kind: KindRef<T>,
      name: string,
      namespace?: string,
      call: CallOptions = {},
    ) {
      const path = objectPath(kind, name, namespace);
      return JSON.parse(await transport.text({ ...call, method: 'GET', path })) as T;
    },
    async tryGet(kind, name, namespace, call) {
      try {
        return await client.get(kind, name, namespace, call);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(kind: KindRef<T>, list: ListOptions = {}) {
      const items: T[] = [];
      let resourceVersion = '';
      for await (const page of client.pages(kind, list)) {
        items.push(...page.items);
        resourceVersion = page.resourceVersion;
      }
      return { items, resourceVersion };
    },
    all: async (kind) => (await client.list(kind)).items,
    cacheOf: () => undefined,
    async *pages<T extends KubeObject>(kind: KindRef<T>, list: ListOptions = {}) {
      const { namespace, labelSelector, fieldSelector, pageSize, keep, ...call } = list;
      let continued: string | undefined;
      do {
        const text = await transport.text({
          ...call,
          method: 'GET',
          path: pathOf(kind, namespace),
          query: { labelSelector, fieldSelector, limit: pageSize ?? pageSizeDefault, continue: continued },
        });
        const page = JSON.parse(text) as {
          metadata: { resourceVersion: string; continue?: string };
          items: T[] | null;
        };
        continued = page.metadata.continue === '' ? undefined : page.metadata.continue;
        // The items of a built-in kind's list carry neither of the two.
        const names = { apiVersion: apiVersionOf(kind), kind: kind.kind };
        yield {
          items: (page.items ?? []).map((item) => {
            const object = { ...names, ...item };
            return keep === undefined ? object : (keep(object) as T);
          }),
          resourceVersion: page.metadata.resourceVersion,
        };
      } while (continued !== undefined);
    },
    create: (kind, object, call = {}) => write('POST', kind, object, call),
    update: (kind, object, call = {}) => write('PUT', kind, object, call),
    updateStatus: (kind, object, call = {}) => write('PUT', kind, object, { ...call, subresource: 'status' }),
    async patch<T extends KubeObject>(
      kind: KindRef<T>,
      name: string,
      patch: object | readonly JsonPatchOperation[],
      patchOptions: PatchOptions = {},
    ) {
      const { namespace, subresource, type, ...call } = patchOptions;
      const text = await transport.text({
        ...call,
        method: 'PATCH',
        path: objectPath(kind, name, namespace, subresource),
        contentType: patchTypes[type ?? (Array.isArray(patch) ? 'json' : 'merge')],
        body: patch,
      });
      return JSON.parse(text) as T;
    },
    async delete(kind, name, deletion = {}) {
      const { namespace, propagationPolicy, gracePeriodSeconds, uid, resourceVersion, ...call } = deletion;
      const guarded = uid !== undefined || resourceVersion !== undefined;
      try {
        await transport.text({
          ...call,
          method: 'DELETE',
          path: objectPath(kind, name, namespace),
          body: {
            apiVersion: 'v1',
            kind: 'DeleteOptions',
            ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
            ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
            ...(guarded ? { preconditions: { uid, resourceVersion } } : {}),
          },
        });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
    watch: (kind, watch = {}) => readWatch(transport, kind, pathOf(kind, watch.namespace), watch),
    podLog: (namespace, name, log = {}) =>
      podLog(transport, objectPath(kinds.Pod, name, namespace, 'log'), log),
    createToken: (namespace, serviceAccount, token = {}) =>
      createToken(transport, objectPath(kinds.ServiceAccount, serviceAccount, namespace, 'token'), token),
    evict: (namespace, name, eviction = {}) =>
      evict(transport, objectPath(kinds.Pod, name, namespace, 'eviction'), { namespace, name }, eviction),
    resolveKind: discovery.resolve,
    serves: discovery.serves,
    async raw(request) {
      const text = await transport.text({ ...request, method: request.method ?? 'GET' });
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    },
    async serverTime() {
      const answer = await transport.send({ method: 'GET', path: '/readyz', timeoutMs: 5_000 });
      await answer.discard();
      const date = Date.parse(String(answer.headers.date));
      return Number.isNaN(date) ? undefined : date;
    },
    fenced: (mayWrite) => clientOver(fencedTransport(transport, mayWrite), options),
    close: () => transport.close(),
  };
  return client;
}

function fencedTransport(transport: Transport, mayWrite: () => boolean): Transport {
  const fence = () => {
    if (!mayWrite())
      throw new SluiceError('Conflict', 'the lease has run out, so another may lead and write now');
  };
  return {
    ...transport,
    send: (request) => transport.send({ ...request, fence }),
    text: (request) => transport.text({ ...request, fence }),
  };
}
