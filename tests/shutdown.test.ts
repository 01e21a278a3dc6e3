import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { digestOf } from '../src/oci/digest.ts';
import { openStore } from '../src/store/store.ts';
import { freePort } from '../src/up/network.ts';
import { repository } from './tier.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-shutdown-'));
});
after(() => rm(directory, { recursive: true, force: true }));

/** Longer than any command may take by docs/running.md, on a host under load. */
const boundMs = 30_000;

interface Running {
  readonly child: ChildProcess;
  /** What ended it; SIGKILL after the bound. */
  end(): Promise<number | string | null>;
}

async function start(words: readonly string[], port: number, path: string): Promise<Running> {
  const child = spawn(join(repository, 'sluice'), words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
  for (let round = 0; ; round += 1) {
    if (
      await fetch(`http://127.0.0.1:${port}${path}`).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      break;
    assert.ok(round < 300 && child.exitCode === null, said);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    child,
    async end() {
      const timer = setTimeout(() => child.kill('SIGKILL'), boundMs);
      child.kill('SIGTERM');
      const how = await ended;
      clearTimeout(timer);
      return how;
    },
  };
}

test('a registry that is stopped sends what it has begun to its end, takes nothing new, and ends with 0', async () => {
  const storePath = join(directory, 'store');
  const store = await openStore(storePath);
  const blob = randomBytes(48 * 1024 * 1024);
  const digest = digestOf(blob);
  const writer = await store.begin(digest, blob.length);
  await writer?.write(blob);
  await writer?.commit();
  await store.linkLayer('team/app', digest);
  const port = await freePort();
  const words = ['registry', 'serve', '--store', storePath, '--listen', `127.0.0.1:${port}`];
  const registry = await start(words, port, '/v2/');
  const url = `http://127.0.0.1:${port}/v2/team/app/blobs/${digest}`;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, resolve).on('error', reject).end();
  });
  assert.equal(response.statusCode, 200);
  // It has begun, and waits for us: more is on the way than sockets hold.
  const ending = registry.end();
  for (let round = 0; ; round += 1) {
    if (
      await fetch(`http://127.0.0.1:${port}/v2/`).then(
        () => false,
        () => true,
      )
    )
      break;
    assert.ok(round < 100, 'it still takes requests');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const hash = createHash('sha256');
  for await (const chunk of response) hash.update(chunk as Buffer);
  assert.equal(`sha256:${hash.digest('hex')}`, digest);
  assert.equal(await ending, 0);
});

test('a lock server that is stopped answers whom it has heard, and ends with 0', async () => {
  const port = await freePort();
  const state = ['--state', join(directory, 'lock'), '--listen', `127.0.0.1:${port}`];
  state.push('--lock-trust-user', userInfo().username);
  const lock = await start(['lock', 'serve', ...state], port, '/readyz');
  const body = JSON.stringify({ client_params: { id: 'a'.repeat(32), group: 'default' } });
  const headers = { 'fleet-lock-protocol': 'true', 'content-length': Buffer.byteLength(body) };
  let ending: Promise<number | string | null> | undefined;
  const answered = new Promise<number | undefined>((resolve, reject) => {
    const asking = request(
      { host: '127.0.0.1', port, path: '/v1/pre-reboot', method: 'POST', headers },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    asking.on('error', reject);
    asking.write(body.slice(0, 10));
    // Half of the question is there when it is told to end.
    setTimeout(() => {
      ending = lock.end();
      setTimeout(() => asking.end(body.slice(10)), 100);
    }, 300);
  });
  assert.equal(await answered, 200);
  assert.equal(await ending, 0);
});

test('a node agent without a cluster ends with 0', async () => {
  const port = await freePort();
  const words = ['node', 'run', '--local', '--os-driver', 'simulated', '--dir', join(directory, 'node')];
  const places = ['--run-dir', join(directory, 'run'), '--config-dir', join(directory, 'none')];
  const node = await start([...words, ...places, '--status-listen', `127.0.0.1:${port}`], port, '/livez');
  assert.equal(await node.end(), 0);
});
