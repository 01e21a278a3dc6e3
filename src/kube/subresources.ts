import { messageOf, SluiceError } from '../errors/error.ts';
import { ApiError, isNotFound } from './error.ts';
import type { CallOptions, Transport } from './transport.ts';

export interface PodLogOptions {
  readonly container?: string;
  /** The log of the container before its last restart. */
  readonly previous?: boolean;
  /** Waits for the end of the container. */
  readonly follow?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  readonly timestamps?: boolean;
  /** Bytes kept; the rest is not read. Default 4 MiB. */
  readonly bytesMax?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer begins, and, without `follow`, between two pieces of it. Default 30 000. */
  readonly timeoutMs?: number;
}

const bytesMaxDefault = 4 * 1024 * 1024;

/** Reads a container's log. */
export async function podLog(transport: Transport, path: string, options: PodLogOptions): Promise<Buffer> {
  const bytesMax = options.bytesMax ?? bytesMaxDefault;
  const answer = await transport.send({
    method: 'GET',
    path,
    accept: '*/*',
    query: {
      container: options.container,
      previous: options.previous,
      follow: options.follow,
      tailLines: options.tailLines,
      sinceSeconds: options.sinceSeconds,
      timestamps: options.timestamps,
      limitBytes: bytesMax,
    },
    ...(options.follow === true ? { stallTimeoutMs: 0 } : {}),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk.subarray(0, bytesMax - size));
      size += chunk.length;
      if (size >= bytesMax) break;
    }
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new SluiceError('Unreachable', `the log was cut after ${size} bytes: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return Buffer.concat(chunks);
}

export interface TokenOptions extends CallOptions {
  readonly audiences?: string[];
  readonly expirationSeconds?: number;
  readonly boundObject?: { kind: 'Pod' | 'Secret' | 'Node'; apiVersion: string; name: string; uid?: string };
}

export interface EvictionOptions extends CallOptions {
  /** Evict only the Pod that was seen. */
  readonly uid?: string;
  readonly gracePeriodSeconds?: number;
  /** Ask whether it would be let go, and do nothing. */
  readonly dryRun?: boolean;
}

/** What became of an eviction: `Blocked` while a PodDisruptionBudget forbids it (message in the API's words). */
export type EvictionOutcome =
  | { readonly outcome: 'Evicted' }
  | { readonly outcome: 'Gone' }
  | { readonly outcome: 'Blocked'; readonly message: string; readonly retryAfterSeconds: number | undefined };

/** Asks for a token of a ServiceAccount (TokenRequest). */
export async function createToken(
  transport: Transport,
  path: string,
  options: TokenOptions,
): Promise<{ token: string; expirationTimestamp: string }> {
  const { audiences, expirationSeconds, boundObject, ...call } = options;
  const text = await transport.text({
    ...call,
    method: 'POST',
    path,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: audiences ?? [], expirationSeconds, boundObjectRef: boundObject },
    },
  });
  const { status } = JSON.parse(text) as { status: { token: string; expirationTimestamp: string } };
  return { token: status.token, expirationTimestamp: status.expirationTimestamp };
}

/** Asks for a Pod to go, as PodDisruptionBudgets allow (policy/v1 Eviction). */
export async function evict(
  transport: Transport,
  path: string,
  metadata: { namespace: string; name: string },
  options: EvictionOptions,
): Promise<EvictionOutcome> {
  const { uid, gracePeriodSeconds, dryRun, ...call } = options;
  try {
    await transport.text({
      ...call,
      method: 'POST',
      path,
      query: { dryRun: dryRun === true ? 'All' : undefined },
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata,
        deleteOptions: {
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
          ...(uid === undefined ? {} : { preconditions: { uid } }),
        },
      },
    });
    return { outcome: 'Evicted' };
  } catch (error) {
    if (isNotFound(error)) return { outcome: 'Gone' };
    if (!(error instanceof ApiError) || error.status !== 429) throw error;
    const { causes, message, retryAfterSeconds } = error;
    const budget = causes.find((cause) => cause.reason === 'DisruptionBudget');
    return { outcome: 'Blocked', message: budget?.message ?? message, retryAfterSeconds };
  }
}
