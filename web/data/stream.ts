import type { KubeObject } from '../../src/api/core.ts';
import type { Change, Failure } from './kind-state.ts';

/** Told of one watch. After `ended` or `failed` nothing more comes. */
export interface WatchListener {
  opened(): void;
  changed(changes: readonly Change<KubeObject>[]): void;
  ended(): void;
  failed(failure: Failure): void;
}

export interface WatchRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** All watches of this tab over one connection. */
export interface WatchStream {
  /** Returns the function that ends it. */
  watch(request: WatchRequest, listener: WatchListener): () => void;
  close(): void;
}

type Line =
  | { readonly stream: string }
  | { readonly alive: true }
  | { readonly watch: number; readonly open: true }
  | { readonly watch: number; readonly event: Change<KubeObject> }
  | { readonly watch: number; readonly ended: true }
  | { readonly watch: number; readonly error: Failure };

/** The server says every ten seconds that it is there; longer silence is a dead connection. */
const silenceMs = 25_000;

/**
 * @param open the request for the stream; its answer's body is read to the end.
 * @param change tells the server which watches the stream should carry.
 */
export function createWatchStream(
  open: (signal: AbortSignal) => Promise<Response>,
  change: (stream: string, body: object) => Promise<void>,
): WatchStream {
  const listeners = new Map<number, WatchListener>();
  let waiting: { watch: number; path: string; query: WatchRequest['query'] }[] = [];
  let number = 0;
  let connection: { abort: AbortController; stream: string | undefined } | undefined;
  let flushing = false;

  function connect(): void {
    const abort = new AbortController();
    const mine = { abort, stream: undefined as string | undefined };
    connection = mine;
    void read(mine).then(
      () => lost(mine, { status: 0, message: 'the console ended the connection' }),
      (error: unknown) => lost(mine, failureOf(error)),
    );
  }

  async function read(mine: NonNullable<typeof connection>): Promise<void> {
    const { abort } = mine;
    const silence = () => abort.abort(new Error('the console has fallen silent'));
    let timer = setTimeout(silence, silenceMs);
    try {
      const response = await open(abort.signal);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const piece = await reader?.read();
        if (piece === undefined || piece.done) return;
        clearTimeout(timer);
        timer = setTimeout(silence, silenceMs);
        const lines = (rest + piece.value).split('\n');
        rest = lines.pop() ?? '';
        take(
          mine,
          lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line),
        );
      }
    } finally {
      clearTimeout(timer);
    }
  }

  function take(mine: NonNullable<typeof connection>, lines: readonly Line[]): void {
    const changes = new Map<number, Change<KubeObject>[]>();
    const flush = (watch: number) => {
      const gathered = changes.get(watch);
      changes.delete(watch);
      if (gathered !== undefined) listeners.get(watch)?.changed(gathered);
    };
    for (const line of lines) {
      if ('stream' in line) {
        mine.stream = line.stream;
        send();
      } else if ('event' in line) {
        const gathered = changes.get(line.watch) ?? [];
        // The cluster API may end a watch by an event: it says why.
        const status = line.event.type as string;
        if (status === 'ERROR') {
          flush(line.watch);
          end(line.watch)?.failed(failureOfStatus(line.event.object));
        } else {
          gathered.push(line.event);
          changes.set(line.watch, gathered);
        }
      } else if ('open' in line) {
        listeners.get(line.watch)?.opened();
      } else if ('watch' in line) {
        flush(line.watch);
        const listener = end(line.watch);
        if ('ended' in line) listener?.ended();
        else listener?.failed(line.error);
      }
    }
    for (const watch of [...changes.keys()]) flush(watch);
  }

  function end(watch: number): WatchListener | undefined {
    const listener = listeners.get(watch);
    listeners.delete(watch);
    return listener;
  }

  function lost(mine: NonNullable<typeof connection>, failure: Failure): void {
    if (connection !== mine) return;
    connection = undefined;
    waiting = [];
    const told = [...listeners.values()];
    listeners.clear();
    for (const listener of told) listener.failed(failure);
  }

  /** Watches that were asked for in one turn are sent together. */
  function send(): void {
    if (flushing) return;
    flushing = true;
    queueMicrotask(() => {
      flushing = false;
      const mine = connection;
      if (mine?.stream === undefined || waiting.length === 0) return;
      const add = waiting;
      waiting = [];
      change(mine.stream, { add }).catch((error: unknown) => {
        for (const { watch } of add) end(watch)?.failed(failureOf(error));
      });
    });
  }

  return {
    watch({ path, query }, listener) {
      number += 1;
      const watch = number;
      listeners.set(watch, listener);
      waiting.push({ watch, path, query });
      if (connection === undefined) connect();
      send();
      return () => {
        if (end(watch) === undefined) return;
        waiting = waiting.filter((each) => each.watch !== watch);
        const stream = connection?.stream;
        if (stream !== undefined) change(stream, { remove: [watch] }).catch(() => {});
      };
    },
    close() {
      const mine = connection;
      connection = undefined;
      listeners.clear();
      mine?.abort.abort();
    },
  };
}

/** Anything thrown as a failure: an answer has a status, a broken connection has none. */
export function failureOf(error: unknown): Failure {
  const { status, message } = (error ?? {}) as { status?: unknown; message?: unknown };
  return {
    status: typeof status === 'number' ? status : 0,
    message: typeof message === 'string' ? message : String(error),
  };
}

function failureOfStatus(object: unknown): Failure {
  const { code, message, reason } = (object ?? {}) as { code?: number; message?: string; reason?: string };
  return { status: reason === 'Expired' ? 410 : (code ?? 500), message: message ?? 'the watch was ended' };
}
