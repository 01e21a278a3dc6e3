import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { repository } from './tier.ts';

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly client: KubeClient;
  /** Ends it and tells how it went. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const startMs = 30_000;

async function start(t: TestContext, dir: string, ...more: string[]): Promise<Started> {
  const args = ['apiserver', '--dir', dir, '--listen', '127.0.0.1:0', ...more];
  const child = spawn(join(repository, 'sluice'), args, { stdio: ['ignore', 'inherit', 'pipe'] });
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
  t.after(() => end('SIGKILL'));
  return { child, url, client, end };
}

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-api-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test('an API server that is killed in the middle of writes keeps all that it acknowledged', async (t) => {
  const dir = directory(t);
  const first = await start(t, dir, '--no-controllers', '--no-crds');
  const { ConfigMap } = first.client.kinds;
  const acknowledged = new Map<string, string | undefined>();
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = 0; ; n += 1) {
      const name = `w${writer}-${n}`;
      try {
        const made = await first.client.create(ConfigMap, {
          metadata: { name, namespace: 'default' },
          data: { n: `${n}` },
        });
        acknowledged.set(name, made.metadata.resourceVersion);
      } catch {
        return; // The server is gone; this write may be there or not.
      }
    }
  });
  while (acknowledged.size < 200) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal((await first.end('SIGKILL')).signal, 'SIGKILL');
  await Promise.all(writers);
  const second = await start(t, dir, '--no-controllers', '--no-crds');
  const { items } = await second.client.list(ConfigMap, { namespace: 'default' });
  const found = new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  for (const [name, version] of acknowledged) assert.equal(found.get(name), version, name);
  const later = await second.client.create(ConfigMap, { metadata: { name: 'later', namespace: 'default' } });
  const newest = Math.max(...[...found.values()].map(Number));
  assert.ok(Number(later.metadata.resourceVersion) > newest);
});

test('an API server ends in order on SIGTERM, with its controllers', async (t) => {
  const dir = directory(t);
  const server = await start(t, dir);
  const { client } = server;
  await client.create(client.kinds.Namespace, { metadata: { name: 'short' } });
  for (let tries = 0; ; tries += 1) {
    if (await client.tryGet(client.kinds.ServiceAccount, 'default', 'short')) break;
    assert.ok(tries < 200, 'the controllers do not act');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await client.delete(client.kinds.Namespace, 'short');
  for (let tries = 0; await client.tryGet(client.kinds.Namespace, 'short'); tries += 1) {
    assert.ok(tries < 200, 'the namespace does not end');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const started = Date.now();
  assert.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
  assert.ok(Date.now() - started < 10_000);
  assert.ok(!existsSync(join(dir, 'cluster.db-wal')), 'the log of the database was not folded in');
});

test('a database that cannot be read is a clear error', async (t) => {
  const dir = directory(t);
  writeFileSync(
    join(dir, 'cluster.db'),
    'this is no database, but it is long enough to look like one\n'.repeat(100),
  );
  await assert.rejects(
    start(t, dir),
    /it ended with 1: error: the database .*cluster\.db cannot be read: .*\n {2}next: Put a backup in its place/,
  );
});
