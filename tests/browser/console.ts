import { join } from 'node:path';
import { ensureBuilt } from '../../src/console/build.ts';
import { askForLink } from '../../src/console/link.ts';
import { type RunConsoleOptions, runConsole } from '../../src/console/run.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';

import { silentLogger } from '../../src/observe/log.ts';
import type { TestCluster } from '../cluster.ts';

/** A console in this process, before a real API. */
export interface TestConsole {
  /** Ends with a slash. */
  readonly url: string;
  /** A new one-time link, with the rights of the cluster's admin. */
  link(): Promise<string>;
  close(): Promise<void>;
}

export async function startTestConsole(
  cluster: Pick<TestCluster, 'kubeconfig' | 'dir'>,
  options: Partial<Pick<RunConsoleOptions, 'prefix' | 'links' | 'nodesDirectory'>> & {
    /** Undefined: it gives no links but the first. */
    socketName?: string | undefined;
  } = {},
): Promise<TestConsole> {
  await ensureBuilt((text) => process.stderr.write(`${text}\n`));
  const end = new AbortController();
  const { socketName, ...changed } = { socketName: 'console.sock', ...options };
  const socket = socketName === undefined ? undefined : join(cluster.dir, socketName);
  let ended: Promise<void> = Promise.resolve();
  const url = await new Promise<string>((resolve, reject) => {
    ended = runConsole({
      identity: loadKubeconfig(cluster.kubeconfig),
      listen: { address: '127.0.0.1', port: 0 },
      prefix: '/',
      links: true,
      ...(socket === undefined ? {} : { socket }),
      version: '0.0.0-test',
      logger: silentLogger,
      signal: end.signal,
      onReady: (ready) => resolve(ready.url),
      ...changed,
    });
    ended.catch(reject);
  });
  return {
    url,
    link: async () => (await askForLink(socket ?? '')).link,
    async close() {
      end.abort();
      await ended;
    },
  };
}
