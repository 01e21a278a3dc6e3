import { messageOf, SluiceError } from '../errors/error.ts';
import type { Transport } from './transport.ts';

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
