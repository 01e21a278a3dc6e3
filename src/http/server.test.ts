import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { type Logger, silentLogger } from '../observe/log.ts';
import { createAuthority, issue } from '../trust/authority.ts';
import { readBody, serve } from './server.ts';

test('what a handler throws is logged and not sent', async (t) => {
  const logged: object[] = [];
  const logger: Logger = { ...silentLogger, error: (facts) => void logged.push(facts) };
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    logger,
    handler() {
      throw new Error('cannot open /secret/place');
    },
  });
  t.after(() => server.close(0));
  const answer = await fetch(`http://127.0.0.1:${server.port}/x?token=abc`);
  assert.equal(answer.status, 500);
  assert.equal(await answer.text(), 'internal error\n');
  assert.equal(logged.length, 1);
  const [facts] = logged as { path: string; error: string; stack: string }[];
  assert.equal(facts?.path, '/x');
  assert.equal(facts?.error, 'cannot open /secret/place');
  assert.match(facts?.stack ?? '', /server\.test\.ts/);
});

test('a body that does not come is not waited for, an answer that lasts goes on', async (t) => {
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    requestTimeoutMs: 500,
    async handler(request, response) {
      if (request.method === 'POST') await readBody(request, 1000).catch(() => {});
      response.write('begun ');
      await sleep(7_000);
      response.end('ended');
    },
    logger: silentLogger,
  });
  t.after(() => server.close(0));
  const slow = connect(server.port, '127.0.0.1');
  let said = '';
  slow.on('data', (chunk) => (said += chunk));
  slow.on('error', () => {});
  slow.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc');
  const [watch] = await Promise.all([
    fetch(`http://127.0.0.1:${server.port}/`).then((answer) => answer.text()),
    once(slow, 'close'),
  ]);
  assert.equal(watch, 'begun ended');
  assert.match(said, /^HTTP\/1\.1 408 /);
});

test('a server on all addresses answers over IPv4 and IPv6', async (t) => {
  const server = await serve({
    address: '::',
    port: 0,
    handler: (_, response) => void response.end('here'),
  });
  t.after(() => server.close(0));
  for (const host of ['127.0.0.1', '[::1]'])
    assert.equal(await (await fetch(`http://${host}:${server.port}/`)).text(), 'here', host);
});

test('no more connections stand at once than are allowed', async (t) => {
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    connectionsMax: 2,
    handler: (_, response) => void response.end('x'),
  });
  t.after(() => server.close(0));
  const sockets = [1, 2].map(() => connect(server.port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await sleep(50);
  const third = connect(server.port, '127.0.0.1');
  third.on('error', () => {});
  await once(third, 'close');
  for (const socket of sockets) socket.destroy();
  await sleep(50);
  assert.equal(await (await fetch(`http://127.0.0.1:${server.port}/`)).text(), 'x');
});

test('AES-128 is taken where a client offers it, and a client that has only others is served too', async (t) => {
  const authority = await createAuthority('server test');
  const pair = await issue(authority, { commonName: 'x', ipAddresses: ['127.0.0.1'], usage: 'server' });
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    tls: { cert: pair.certPem, key: pair.keyPem },
    handler: (_, response) => void response.end('x'),
  });
  t.after(() => server.close(0));
  const chosen = async (options: { ciphers?: string; maxVersion?: 'TLSv1.2' }) => {
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: authority.certPem, ...options });
    await once(socket, 'secureConnect');
    const { name } = socket.getCipher();
    socket.destroy();
    return name;
  };
  assert.equal(await chosen({}), 'TLS_AES_128_GCM_SHA256');
  assert.equal(await chosen({ maxVersion: 'TLSv1.2' }), 'ECDHE-ECDSA-AES128-GCM-SHA256');
  assert.equal(await chosen({ ciphers: 'TLS_AES_256_GCM_SHA384' }), 'TLS_AES_256_GCM_SHA384');
});
