import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { packTar, type TarEntry } from '../build/tar.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import { programBuild } from '../program/build.ts';
import { gatherCluster } from './cluster.ts';
import type { GatherEntry } from './entry.ts';
import { gatherHost, type HostPlaces } from './host.ts';
import { createRedactor } from './redact.ts';

export interface GatherOptions {
  /** A `.tar.gz` that does not exist yet. */
  readonly out: string;
  /** Bytes of text; what would be more is left out, and named. */
  readonly bytesMax: number;
  /** Resolves to a client of the cluster, or says why there is none. */
  readonly connect: () => Promise<KubeClient>;
  readonly places: HostPlaces;
  readonly clock: Clock;
  readonly onProgress?: (facts: {
    readonly files: number;
    readonly bytes: number;
    readonly path: string;
  }) => void;
}

export interface Gathered {
  readonly out: string;
  readonly files: number;
  /** Bytes of text, before they were packed. */
  readonly bytes: number;
  /** What could not be had, and why. */
  readonly misses: readonly { readonly what: string; readonly why: string }[];
}

/**
 * Collects what is to be seen of a cluster and of this host into one archive, without secrets. What cannot be had
 * (the API that does not answer, a kind that may not be listed) is named inside, and keeps nothing else back.
 *
 * Errors: Conflict (the file exists), DiskFull.
 */
export async function gather(options: GatherOptions): Promise<Gathered> {
  const { clock } = options;
  const startedAt = rfc3339(clock.now());
  const misses: { what: string; why: string }[] = [];
  const miss = (what: string, why: string) => void misses.push({ what, why: redactor.text(why) });
  const redactor = createRedactor();
  const top = `sluice-gather-${startedAt.replaceAll(':', '')}`;
  let files = 0;
  let bytes = 0;

  async function* all(): AsyncGenerator<GatherEntry> {
    // The cluster first: its Secrets tell what has to go out of the host's logs.
    let client: KubeClient | undefined;
    try {
      client = await options.connect();
    } catch (error) {
      miss('cluster', messageOf(error));
    }
    if (client !== undefined) {
      try {
        yield* gatherCluster(client, redactor, miss);
      } finally {
        await client.close();
      }
    }
    yield* gatherHost(options.places, redactor, miss);
  }

  async function* entries(): AsyncGenerator<TarEntry> {
    for await (const { path, text } of all()) {
      const content = Buffer.from(redactor.text(text), 'utf8');
      if (bytes + content.length > options.bytesMax) {
        miss(path, `the archive would hold more than ${options.bytesMax} bytes`);
        continue;
      }
      files += 1;
      bytes += content.length;
      options.onProgress?.({ files, bytes, path });
      yield { kind: 'file', path: `${top}/${path}`, mode: 0o600, size: content.length, content };
    }
    const facts = {
      ...programBuild(),
      host: hostname(),
      startedAt,
      endedAt: rfc3339(clock.now()),
      files,
      bytes,
      misses,
    };
    const content = Buffer.from(`${JSON.stringify(facts, null, 2)}\n`);
    yield { kind: 'file', path: `${top}/gather.json`, mode: 0o600, size: content.length, content };
  }

  const partial = `${options.out}.partial`;
  try {
    await pipeline(
      packTar(entries()),
      createGzip(),
      createWriteStream(partial, { mode: 0o600, flush: true }),
    );
    await rename(partial, options.out);
  } finally {
    await rm(partial, { force: true });
  }
  if (files === 0) {
    throw new SluiceError(
      'NotFound',
      `there is nothing to gather: ${misses.map(({ why }) => why).join('; ')}`,
    );
  }
  return { out: options.out, files, bytes, misses };
}
