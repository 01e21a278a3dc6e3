import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { needs } from '../../tests/tier.ts';
import { createFleetLockClient } from '../finalize/fleet-lock.ts';
import { createHttpClient } from '../http/client.ts';
import { serve } from '../http/server.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { run } from '../process/run.ts';
import { findOwner, type LockAccess } from './access.ts';
import { openFileStore } from './file-store.ts';
import { readSecretFile } from './secret.ts';
import { createPlainLockHandler } from './server.ts';

const secret = 'correct horse battery staple'.replaceAll(' ', '-');
const nobody = 65_534;

async function lockServer(t: TestContext, access: LockAccess, address = '127.0.0.1') {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-access-'));
  const store = await openFileStore(dir, [{ name: 'default', slots: 1 }]);
  const handler = createPlainLockHandler({
    store,
    access,
    metrics: createMetrics(),
    clock: systemClock,
    logger: silentLogger,
  });
  const server = await serve({ address, port: 0, handler });
  t.after(async () => {
    await server.close(0);
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const holders = async () => (await store.groups())[0]?.holders.map(({ id }) => id) ?? [];
  return { port: server.port, dir, holders };
}

const body = (id: string) => JSON.stringify({ client_params: { id, group: 'default' } });

/** Asks as another user of this machine. */
async function askAs(uid: number, url: string, id: string): Promise<string> {
  const words = [
    '-s',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}',
    '-X',
    'POST',
    '-H',
    'fleet-lock-protocol: true',
  ];
  const asked = await run('setpriv', [
    `--reuid=${uid}`,
    '--clear-groups',
    'curl',
    ...words,
    '-d',
    body(id),
    url,
  ]);
  return asked.stdout;
}

test(
  'another user of this machine takes no slot and gives none back, unless he is trusted',
  needs('root'),
  async (t) => {
    for (const address of ['127.0.0.1', '::1', '::']) {
      const { port, holders } = await lockServer(t, { trustedUids: [12_345] }, address);
      const url = `http://${address === '127.0.0.1' ? '127.0.0.1' : '[::1]'}:${port}/v1/pre-reboot`;
      assert.equal(await askAs(nobody, url, 'victim'), '401', address);
      assert.deepEqual(await holders(), []);
      assert.equal(await askAs(12_345, url, 'zincati'), '200', 'an administrator has chosen so');
      assert.equal(await askAs(nobody, url.replace('pre-reboot', 'steady-state'), 'zincati'), '401');
      assert.deepEqual(await holders(), ['zincati']);
      if (address === '::')
        assert.equal(
          await askAs(nobody, `http://127.0.0.1:${port}/v1/pre-reboot`, 'x'),
          '401',
          'IPv4 on IPv6',
        );
    }
  },
);

test('to an address of its own is no way around it', needs('root'), async (t) => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((each) => each !== undefined && each.family === 'IPv4' && !each.internal)?.address;
  if (own === undefined) return t.skip('this machine has no address but the loopback');
  const { port, holders } = await lockServer(t, { trustedUids: [] }, '0.0.0.0');
  assert.equal(await askAs(nobody, `http://${own}:${port}/v1/pre-reboot`, 'victim'), '401');
  assert.equal(await askAs(0, `http://${own}:${port}/v1/pre-reboot`, 'mine'), '200');
  assert.deepEqual(await holders(), ['mine']);
});

test('a socket that was closed before it was looked at is nobody’s, although the kernel shows it as root’s', async (t) => {
  const table = (state: string, inode: string) =>
    `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:D431 0100007F:0D05 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0000000000000000 20 4 0 10 -1\n`;
  const ends = [
    { address: '127.0.0.1', port: 0xd431 },
    { address: '127.0.0.1', port: 0xd05 },
  ] as const;
  assert.equal(findOwner(table('01', '4711'), ...ends), 0);
  for (const [state, inode] of [
    ['04', '0'],
    ['05', '0'],
    ['06', '0'],
    ['01', '0'],
  ] as const) {
    assert.equal(findOwner(table(state, inode), ...ends), undefined, state);
  }
  assert.equal(
    findOwner(table('01', '4711'), ends[1], ends[0]),
    undefined,
    'the other end is not the client',
  );
  const { port, holders } = await lockServer(t, { trustedUids: [] });
  const text = body('gone');
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(
    `POST /v1/pre-reboot HTTP/1.1\r\nhost: x\r\nfleet-lock-protocol: true\r\ncontent-length: ${text.length}\r\n\r\n`,
  );
  // The head is held back until the socket is gone: the server sees both at once.
  socket.end(text);
  socket.destroy();
  await systemClock.sleep(300);
  assert.ok((await holders()).length <= 1, 'our own user may, or it was gone; nobody else got in');
});

test(
  'where a secret is asked for, the agent shows it; what is no secret is told',
  needs('root'),
  async (t) => {
    const { port, dir, holders } = await lockServer(t, { secrets: async () => [secret], trustedUids: [] });
    const http = createHttpClient();
    t.after(() => http.close());
    const secretFile = join(dir, 'secret');
    writeFileSync(secretFile, `${secret}\n`, { mode: 0o600 });
    const client = createFleetLockClient(http, undefined, { bootID: 'boot-1' });
    const asked = { baseUrl: `http://127.0.0.1:${port}/`, id: 'a', group: 'default', secretFile };
    assert.deepEqual(await client.preReboot(asked), { kind: 'granted' });
    assert.deepEqual(await holders(), ['a']);
    writeFileSync(secretFile, 'something-else-altogether');
    const wrong = await client.preReboot(asked);
    assert.ok(wrong.kind === 'error' && /401/.test(wrong.message), JSON.stringify(wrong));
    chmodSync(secretFile, 0o644);
    const open = await client.steadyState(asked);
    assert.ok(open.kind === 'error' && open.reason === 'NoSecret' && /can open/.test(open.message));
    await assert.rejects(readSecretFile(join(dir, 'missing')), /cannot be read/);
    chmodSync(secretFile, 0o600);
    writeFileSync(secretFile, 'two\nlines');
    await assert.rejects(readSecretFile(secretFile), /holds no secret/);
  },
);

test('where everybody shows the secret, root of this machine does too: a container with its network is root', async (t) => {
  const accepted = [secret];
  const { port, dir, holders } = await lockServer(t, {
    secrets: async () => accepted,
    secretForAll: true,
    trustedUids: [0],
  });
  const http = createHttpClient();
  t.after(() => http.close());
  const client = createFleetLockClient(http);
  const asked = { baseUrl: `http://127.0.0.1:${port}/`, id: 'a', group: 'default' };
  const without = await client.preReboot(asked);
  assert.ok(
    without.kind === 'error' && /401.*asks for a secret/.test(without.message),
    JSON.stringify(without),
  );
  assert.deepEqual(await holders(), []);
  const secretFile = join(dir, 'secret');
  writeFileSync(secretFile, secret, { mode: 0o600 });
  assert.deepEqual(await client.preReboot({ ...asked, secretFile }), { kind: 'granted' });
  accepted.unshift('the-next-secret-of-the-lock');
  assert.deepEqual(
    await client.steadyState({ ...asked, secretFile }),
    { kind: 'granted' },
    'the one before it',
  );
  accepted.pop();
  assert.equal((await client.preReboot({ ...asked, secretFile })).kind, 'error');
});

/** As zincati 0.0.32 sends them, byte for byte: its own client was watched against this server. */
const captured = (call: string, host: string, id: string) =>
  `POST /v1/${call} HTTP/1.1\r\nfleet-lock-protocol: true\r\naccept: */*\r\nhost: ${host}\r\ncontent-length: 97\r\n\r\n{\n  "client_params": {\n    "id": "${id}",\n    "group": "default"\n  }\n}`;

test('the requests of zincati’s own client are answered as it takes for a grant, a refusal and a return', async (t) => {
  const { port, holders } = await lockServer(t, { trustedUids: [] });
  const ask = (call: string, id: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(captured(call, `127.0.0.1:${port}`, id)));
      socket.once('data', (chunk) => {
        resolve(String(chunk));
        socket.destroy();
      });
      socket.once('error', reject);
    });
  const [first, second] = ['580a83374962405aa42a0f3a50b2a25c', 'ac3dd42a5ffc478bbf039de020a5454b'] as const;
  assert.match(await ask('steady-state', first), /^HTTP\/1\.1 200 /);
  assert.match(await ask('pre-reboot', first), /^HTTP\/1\.1 200 /);
  assert.match(await ask('pre-reboot', first), /^HTTP\/1\.1 200 /, 'recursive');
  const full = await ask('pre-reboot', second);
  assert.match(full, /^HTTP\/1\.1 423 /);
  const said = JSON.parse(full.slice(full.indexOf('\r\n\r\n'))) as { kind: string; value: string };
  assert.equal(said.kind, 'failed_lock_semaphore_full', 'it becomes a label of zincati’s metrics');
  assert.ok(said.value.length > 0);
  assert.match(await ask('steady-state', second), /^HTTP\/1\.1 200 /);
  assert.deepEqual(await holders(), [first]);
  assert.match(await ask('steady-state', first), /^HTTP\/1\.1 200 /);
  assert.deepEqual(await holders(), []);
});

test('one connection that was let in stays let in, and is looked up once', async (t) => {
  const { port } = await lockServer(t, { trustedUids: [] });
  const { Agent } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'fleet-lock-protocol': 'true' };
      const sent = request(
        { port, host: '127.0.0.1', agent, method: 'POST', path: '/v1/pre-reboot', headers },
        (answer) => {
          answer.resume();
          answer.on('end', () => resolve(answer.statusCode));
        },
      );
      sent.on('error', reject);
      sent.end(body('a'));
    });
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 200]);
});
