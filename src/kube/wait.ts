import type { KubeObject } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import { backoffMs } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { ApiError, isExpired } from './error.ts';
import { informerBackoff } from './informer.ts';

export interface WaitOptions {
  readonly namespace?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** What is waited for, in words, for the error: "Pod a/b to be Running". */
  readonly what?: string;
  /** How it stands, in words, for the error. */
  describe?(object: unknown): string;
  readonly clock?: Clock;
}

/**
 * Waits by watch until `predicate` holds of the object; it is asked with undefined where the object does not
 * exist. Resolves with what it held of. Errors: Timeout, with how it stood; ApiError that no waiting mends (401,
 * 403, 404 of the kind). Cut watches and servers that do not answer are waited out.
 */
export async function waitFor<T extends KubeObject>(
  client: Pick<KubeClient, 'list' | 'watch'>,
  kind: KindRef<T>,
  name: string,
  predicate: (object: T | undefined) => boolean,
  options: WaitOptions,
): Promise<T | undefined> {
  const clock = options.clock ?? systemClock;
  const deadline = new AbortController();
  const caller = options.signal;
  const stop = () => deadline.abort(caller?.reason);
  if (caller?.aborted) throw caller.reason;
  caller?.addEventListener('abort', stop, { once: true });
  let timedOut = false;
  const timerOver = new AbortController();
  void clock.sleep(options.timeoutMs, timerOver.signal).then(() => {
    if (timerOver.signal.aborted) return;
    timedOut = true;
    deadline.abort();
  });
  const { signal } = deadline;
  let latest: T | undefined;
  let trouble: unknown;

  async function follow(): Promise<boolean> {
    const scope = {
      ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
      fieldSelector: `metadata.name=${name}`,
      signal,
    };
    const listed = await client.list(kind, scope);
    latest = listed.items[0];
    if (predicate(latest)) return true;
    const from = listed.resourceVersion;
    for await (const event of client.watch(kind, { ...scope, resourceVersion: from })) {
      if (event.type === 'BOOKMARK') continue;
      latest = event.type === 'DELETED' ? undefined : event.object;
      if (predicate(latest)) return true;
    }
    return false;
  }

  try {
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (await follow()) return latest;
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof ApiError && [401, 403, 404].includes(error.status)) throw error;
        if (!(error instanceof SluiceError)) throw error;
        trouble = error;
        failures = isExpired(error) ? 0 : failures + 1;
        if (failures > 0) await clock.sleep(backoffMs(informerBackoff, failures, Math.random), signal);
      }
    }
  } finally {
    timerOver.abort();
    caller?.removeEventListener('abort', stop);
  }
  if (!timedOut) throw caller?.reason ?? new Error('aborted');
  const where = options.namespace === undefined ? name : `${options.namespace}/${name}`;
  const what = options.what ?? `${kind.kind} ${where}`;
  const stands =
    trouble !== undefined && latest === undefined
      ? messageOf(trouble)
      : (options.describe?.(latest) ?? (latest === undefined ? 'it does not exist' : 'it exists'));
  throw new SluiceError('Timeout', `waited ${options.timeoutMs / 1000} s for ${what}: ${stands}`);
}

/** Waits until the object is gone. Errors: as `waitFor`. */
export async function waitForDeletion(
  client: Pick<KubeClient, 'list' | 'watch'>,
  kind: KindRef,
  name: string,
  options: WaitOptions,
): Promise<void> {
  await waitFor(client, kind, name, (object) => object === undefined, options);
}
