import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { startRealCluster } from '../tests/engine/real.ts';
import { repository } from '../tests/tier.ts';

/** An API server in a process of its own, and how to reach it as an administrator. */
export interface BenchEngine {
  readonly name: 'embedded' | 'real';
  readonly url: string;
  readonly kubeconfig: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  close(): Promise<void>;
}

/** `sluice apiserver` as people run it. `dir` is kept. */
export async function startEmbedded(
  dir: string,
  more: readonly string[] = ['--no-controllers'],
): Promise<BenchEngine> {
  const args = ['apiserver', '--dir', dir, '--listen', '127.0.0.1:0', ...more];
  const child = spawn(join(repository, 'sluice'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      const found = /the API answers at (\S+)/.exec(said)?.[1];
      if (found !== undefined && said.includes('export KUBECONFIG')) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the API ended with ${code}: ${said}`)));
  });
  const kubeconfig = join(dir, 'pki', 'admin.kubeconfig');
  const { tls } = loadKubeconfig(kubeconfig);
  return { name: 'embedded', url, kubeconfig, tls, close: () => ended(child, 'SIGTERM') };
}

/** kube-apiserver and etcd, which flushes every write to the disk, as the embedded API does. */
export async function startReal(): Promise<BenchEngine> {
  const real = await startRealCluster({ durable: true, controllers: false });
  const { tls } = loadKubeconfig(real.kubeconfig);
  return { name: 'real', url: real.url, kubeconfig: real.kubeconfig, tls, close: real.close };
}

export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exit;
}
