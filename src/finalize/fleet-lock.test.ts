import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHttpClient } from '../http/client.ts';
import { drained } from '../http/drained.ts';
import { readBody, serve } from '../http/server.ts';
import { lockIdOf } from '../lock/identity.ts';
import { createFleetLockClient, judge, lockUrl, retryAfterOf } from './fleet-lock.ts';

test('the id of a node is the one that zincati and systemd-id128 derive', () => {
  assert.equal(lockIdOf('1c09ca98649c4c7abc779cd04c96812e'), '978a225b3d7b40e9acd7ce9b62f68444');
  assert.equal(lockIdOf('1C09CA98-649C-4C7A-BC77-9CD04C96812E\n'), '978a225b3d7b40e9acd7ce9b62f68444');
  assert.throws(() => lockIdOf('short'));
});

test('the base keeps its last segment', () => {
  assert.equal(lockUrl('http://h/base', 'pre-reboot'), 'http://h/base/v1/pre-reboot');
  assert.equal(lockUrl('http://h/base/', 'pre-reboot'), 'http://h/base/v1/pre-reboot');
});

test('B28 B32 B36 only 200 is a grant, full is a wait, redirects are errors', () => {
  const kind = (status: number, body = '', call: 'pre-reboot' | 'steady-state' = 'pre-reboot') =>
    judge(status, body, call).kind;
  assert.equal(kind(200, '<html>'), 'granted');
  for (const status of [201, 202, 204, 301, 302, 307, 308, 400, 404, 500, 503]) {
    assert.equal(kind(status), 'error', String(status));
  }
  assert.equal(kind(423), 'wait');
  assert.equal(kind(429), 'wait');
  assert.equal(kind(500, '{"kind":"failed_lock","value":"all 1 semaphore slots currently locked"}'), 'wait');
  assert.equal(kind(500, '{"kind":"failed_lock","value":"conflict"}'), 'error');
  assert.equal(kind(423, '', 'steady-state'), 'granted');
});

test('when to ask again: what the server says in seconds, within bounds', () => {
  assert.equal(retryAfterOf('1'), 1000);
  assert.equal(retryAfterOf('0'), 1000);
  assert.equal(retryAfterOf('86400'), 60_000);
  for (const word of [undefined, '', '-1', '1.5', 'Wed, 21 Oct 2026 07:28:00 GMT', ['1', '2']])
    assert.equal(retryAfterOf(word), undefined);
});

test('the request is what the protocol asks for, and a captive portal grants nothing', async (t) => {
  const seen: { url: string | undefined; header: unknown; body: unknown }[] = [];
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: async (request, response) => {
      const body = await readBody(request, 4096);
      seen.push({
        url: request.url,
        header: request.headers['fleet-lock-protocol'],
        body: JSON.parse(String(body)),
      });
      if (request.url?.startsWith('/portal')) response.writeHead(302, { location: '/login' }).end();
      else if (request.url?.startsWith('/full')) response.writeHead(423, { 'retry-after': '3' }).end();
      else response.writeHead(200).end('anything');
    },
  });
  const http = createHttpClient();
  t.after(async () => {
    await http.close();
    await server.close(0);
  });
  const client = createFleetLockClient(http);
  const base = `http://127.0.0.1:${server.port}`;
  const request = { baseUrl: base, id: 'a', group: 'default' };
  assert.deepEqual(await client.preReboot(request), { kind: 'granted' });
  assert.equal((await client.preReboot({ ...request, baseUrl: `${base}/portal` })).kind, 'error');
  const full = await client.preReboot({ ...request, baseUrl: `${base}/full` });
  assert.equal(full.kind === 'wait' && full.retryAfterMs, 3000);
  assert.deepEqual(seen[0], {
    url: '/v1/pre-reboot',
    header: 'true',
    body: { client_params: { id: 'a', group: 'default' } },
  });
  assert.equal(seen.length, 3, 'the redirect was not followed');
  const gone = await client.preReboot({ ...request, baseUrl: 'http://127.0.0.1:1' });
  assert.equal(gone.kind === 'error' && gone.reason, 'Unreachable');
});

test('B34 a server that hangs, drips, floods or resets is an error in bounded time, and grants nothing', async (t) => {
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: async (request, response) => {
      if (request.url?.startsWith('/hang')) return;
      if (request.url?.startsWith('/reset')) return void request.socket.resetAndDestroy();
      response.writeHead(200);
      if (request.url?.startsWith('/drip')) {
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
        return;
      }
      const chunk = Buffer.alloc(64 * 1024, 'x');
      for (let count = 0; count < 64 && !response.destroyed; count += 1) {
        if (!response.write(chunk)) await drained(response);
      }
      response.end();
    },
  });
  const http = createHttpClient();
  t.after(async () => {
    await http.close();
    await server.close(0);
  });
  const client = createFleetLockClient(http, undefined, { timeoutMs: 500 });
  for (const path of ['hang', 'drip', 'flood', 'reset']) {
    const begun = Date.now();
    const baseUrl = `http://127.0.0.1:${server.port}/${path}/`;
    const answer = await client.preReboot({ baseUrl, id: 'a', group: 'default' });
    assert.equal(answer.kind, 'error', path);
    assert.ok(Date.now() - begun < 10_000, path);
  }
  const ended = new AbortController();
  const patient = createFleetLockClient(http, undefined, { signal: ended.signal });
  const asked = patient.steadyState({
    baseUrl: `http://127.0.0.1:${server.port}/hang/`,
    id: 'a',
    group: 'default',
  });
  ended.abort();
  assert.equal((await asked).kind, 'error', 'an agent that is told to end waits for no server');
});
