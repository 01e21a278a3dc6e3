import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { run } from '../src/process/run.ts';
import { makeRelease, testKey } from './bundles.ts';
import { until } from './systemd/host.ts';
import { repository } from './tier.ts';

/** A cluster of `sluice up` with one node and no Pods: every shipped command as a process of its own. */
export interface OneNode {
  /** For whatever a test wants to keep; removed at the end. */
  readonly directory: string;
  /** What `--dir` of `sluice up` is. */
  readonly cluster: string;
  readonly client: KubeClient;
  close(): Promise<void>;
}

export async function startOneNode(): Promise<OneNode> {
  const program = join(repository, 'sluice');
  const directory = await mkdtemp(join(tmpdir(), 'sluice-one-node-'));
  const cluster = join(directory, 'cluster');
  const key = testKey('maker');
  const release = await makeRelease({ version: '1.0.0', dir: directory, key: key.pair });
  await writeFile(join(directory, 'maker.pub'), key.trusted.publicPem);
  const words = ['up', '--dir', cluster, '--nodes', '1', '--workload', 'none', '--release', release.path];
  const up = spawn(program, [...words, '--key', join(directory, 'maker.pub')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [up.stdout, up.stderr]) {
    stream?.on('data', (chunk) => {
      said += chunk;
    });
  }
  const agent = join(cluster, 'nodes', 'master-0', 'run', 'node.sock');
  const made = [join(cluster, 'kubeconfig'), join(cluster, 'auth.json'), agent];
  await until(
    () => made.every((path) => existsSync(path)),
    () => said,
    120_000,
  );
  const client = createKubeClient({
    ...loadKubeconfig(join(cluster, 'kubeconfig')),
    platform: 'standalone',
    userAgent: 'test',
  });
  return {
    directory,
    cluster,
    client,
    async close() {
      await client.close();
      await run(program, ['up', 'stop', '--dir', cluster], { timeoutMs: 100_000 });
      await rm(directory, { recursive: true, force: true });
    },
  };
}
