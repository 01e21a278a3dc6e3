import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { repository } from './tier.ts';

export interface ApiServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly client: KubeClient;
  /** Ends it and tells how it went. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const startMs = 30_000;

/** Starts `sluice apiserver` with its data in `dir`; resolves when it serves. It ends with the test at the latest. */
export async function startApiServerProcess(
  t: TestContext,
  dir: string,
  ...more: string[]
): Promise<ApiServerProcess> {
  const args = [
    'apiserver',
    '--dir',
    dir,
    ...(more.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']),
    ...more,
  ];
  const child = spawn(join(repository, 'sluice'), args, { stdio: ['ignore', 'inherit', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`it did not start: ${said}`)), startMs);
    timer.unref();
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      const found = /the API answers at (\S+)/.exec(said)?.[1];
      if (found === undefined || !said.includes('export KUBECONFIG')) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  const identity = loadKubeconfig(join(dir, 'pki', 'admin.kubeconfig'));
  const client = createKubeClient({ ...identity, platform: 'standalone' });
  const end = async (signal: NodeJS.Signals) => {
    const gone = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) {
        resolve({ code: child.exitCode, signal: child.signalCode });
      } else child.once('exit', (code, by) => resolve({ code, signal: by }));
    });
    child.kill(signal);
    await client.close();
    return await gone;
  };
  return { child, url, client, end };
}
