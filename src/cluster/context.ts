import type { KubeObject } from '../api/core.ts';
import { apiVersionOf, type KindRef } from '../api/kinds.ts';
import type { KubeClient } from '../kube/client.ts';
import { ApiError, isNotFound } from '../kube/error.ts';
import type { EventRecorder } from '../kube/events.ts';
import { createInformer } from '../kube/informer.ts';
import type { Informer } from '../kube/informer-state.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';

/** What every controller of this room is given. */
export interface ControllerContext {
  readonly client: KubeClient;
  readonly logger: Logger;
  /** Ends the controllers. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly informers: Informers;
}

/** One informer a kind, shared by all controllers: one watch, one copy. */
export interface Informers {
  of<T extends KubeObject>(kind: KindRef<T>): Informer<T>;
}

export function createInformers(
  context: Pick<ControllerContext, 'client' | 'logger' | 'signal' | 'clock'>,
): Informers {
  const { client, logger, signal, clock } = context;
  const informers = new Map<string, Informer<KubeObject>>();
  return {
    of<T extends KubeObject>(kind: KindRef<T>) {
      const key = `${apiVersionOf(kind)}/${kind.plural}`;
      const standing = informers.get(key);
      if (standing !== undefined) return standing as unknown as Informer<T>;
      const informer = createInformer(client, kind, { logger, signal, clock });
      informers.set(key, informer as unknown as Informer<KubeObject>);
      return informer;
    },
  };
}

/** What the API said, without what it was asked: for events, which show it to people. */
export function apiWords(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^[A-Z]+ \/\S*: /, '');
}

/** Whether the API takes nothing new because the namespace is being deleted: no failure, only the end. */
export function isNamespaceEnding(error: unknown): boolean {
  return error instanceof ApiError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating');
}

/** For a write to what may have gone meanwhile. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}

/** Milliseconds that an end waits for events that are still to be written. */
const flushMs = 1_000;

/** Lets the last events be written, for as long as an end may take. */
export async function flushEvents(events: EventRecorder, clock: Clock): Promise<void> {
  const over = new AbortController();
  await Promise.race([events.flushed(), clock.sleep(flushMs, over.signal)]);
  over.abort();
}
