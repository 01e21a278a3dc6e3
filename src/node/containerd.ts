import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurable } from '../durable/file.ts';
import { messageOf, systemCode } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer } from '../kube/informer.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import {
  type ContainerdHostsInput,
  containerdHosts,
  containerdHostsMark,
} from '../release/containerd-hosts.ts';

export interface ContainerdHostsOptions extends Omit<ContainerdHostsInput, 'sets'> {
  readonly client: KubeClient;
  /** What containerd's configuration names as `config_path`, for instance /etc/containerd/certs.d. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** A write that failed is tried again after this long. */
const retryMs = 10_000;

/**
 * Keeps the `hosts.toml` files of this node equal to the cluster's mirror sets until the signal aborts. containerd
 * reads them at each pull. Files without our mark are left alone; ours go when their source is in no set any more.
 * Never rejects.
 */
export async function keepContainerdHosts(options: ContainerdHostsOptions): Promise<void> {
  const { client, clock, logger, signal } = options;
  let wake = () => {};
  const sets = createInformer(client, client.kinds.ImageDigestMirrorSet, { logger, clock, signal });
  sets.onChange(() => wake());
  sets.start();
  await sets.synced();
  while (!signal.aborted) {
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await writeContainerdHosts(
        options.directory,
        containerdHosts({ ...options, sets: sets.list() }),
        logger,
      );
      await changed;
    } catch (error) {
      logger.warn(
        { directory: options.directory, error: messageOf(error) },
        "containerd's hosts not written",
      );
      await Promise.race([changed, clock.sleep(retryMs, signal)]);
    }
  }
}

/** Writes what is new, takes away what is ours and not wanted any more. Errors: those of the file system. */
export async function writeContainerdHosts(
  directory: string,
  wanted: ReadonlyMap<string, string>,
  logger: Logger,
): Promise<void> {
  for (const [host, text] of wanted) {
    const file = join(directory, host, hostsFile);
    const standing = await readIfThere(file);
    if (standing === text) continue;
    if (standing !== undefined && !standing.startsWith(containerdHostsMark)) {
      logger.warn({ file }, 'this file is not ours and is kept: images of this host may not be pulled');
      continue;
    }
    await writeDurable(file, text);
  }
  for (const host of await namesIn(directory)) {
    const file = join(directory, host, hostsFile);
    if (wanted.has(host) || !(await readIfThere(file))?.startsWith(containerdHostsMark)) continue;
    await rm(file);
  }
}

const hostsFile = 'hosts.toml';

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
