import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startApiServerProcess } from './apiserver-process.ts';

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-api-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test('an API server that is killed in the middle of writes keeps all that it acknowledged', async (t) => {
  const dir = directory(t);
  const first = await startApiServerProcess(t, dir, '--no-controllers', '--no-crds');
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
  const second = await startApiServerProcess(t, dir, '--no-controllers', '--no-crds');
  const { items } = await second.client.list(ConfigMap, { namespace: 'default' });
  const found = new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  for (const [name, version] of acknowledged) assert.equal(found.get(name), version, name);
  const later = await second.client.create(ConfigMap, { metadata: { name: 'later', namespace: 'default' } });
  const newest = Math.max(...[...found.values()].map(Number));
  assert.ok(Number(later.metadata.resourceVersion) > newest);
});

test('an API server ends in order on SIGTERM, with its controllers', async (t) => {
  const dir = directory(t);
  const server = await startApiServerProcess(t, dir);
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
    startApiServerProcess(t, dir),
    /it ended with 1: error: the database .*cluster\.db cannot be read: .*\n {2}next: Put a backup in its place/,
  );
});
