import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../process/run.ts';

const sluice = join(import.meta.dirname, '..', '..', 'sluice');

test('a registry that everybody can reach and read is not started', async () => {
  for (const [flags, why] of [
    [['--listen', '0.0.0.0:0'], /without TLS/],
    [['--listen', '127.0.0.1:0', '--client-ca', 'x'], /needs --tls-cert/],
    [['--listen', '127.0.0.1:0', '--tls-cert', 'x'], /together/],
  ] as const) {
    const refused = await run(sluice, ['registry', 'serve', '--store', '/nonexistent', ...flags]);
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, why);
  }
});

/** A registry with an empty store, once it serves; it ends with the test at the latest. */
async function startRegistry(t: TestContext, listen: string): Promise<{ child: ChildProcess; port: number }> {
  const store = await mkdtemp(join(tmpdir(), 'sluice-cli-registry-'));
  t.after(() => rm(store, { recursive: true }));
  const child = spawn(sluice, ['registry', 'serve', '--store', store, '--listen', listen], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /"port":(\d+)/.exec(said)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error(said)));
  });
  return { child, port };
}

test('on loopback it serves without more, and ends in order', async (t) => {
  const { child, port } = await startRegistry(t, '[::1]:0');
  const answer = await fetch(`http://[::1]:${port}/v2/`);
  assert.deepEqual(
    [answer.status, answer.headers.get('docker-distribution-api-version')],
    [200, 'registry/2.0'],
  );
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('flushes leave threads to those who read', async (t) => {
  const { child } = await startRegistry(t, '127.0.0.1:0');
  const tasks = `/proc/${child.pid}/task`;
  const names = await Promise.all(
    (await readdir(tasks)).map((task) => readFile(join(tasks, task, 'comm'), 'utf8').catch(() => '')),
  );
  assert.equal(names.filter((name) => name.trim() === 'libuv-worker').length, 8);
});

test('where its address is taken it says so and ends, so that it is started again', async (t) => {
  const store = await mkdtemp(join(tmpdir(), 'sluice-cli-registry-'));
  t.after(() => rm(store, { recursive: true }));
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const { port } = other.address() as AddressInfo;
  const words = ['registry', 'serve', '--store', store, '--htpasswd', join(store, 'htpasswd')];
  const refused = await run(sluice, [...words, '--listen', `127.0.0.1:${port}`], { timeoutMs: 20_000 });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /is taken by another program/);
});
