import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createProxy } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuthority, issue, type KeyPair } from '../trust/authority.ts';
import { createHttpClient, type HttpResponse } from './client.ts';
import type { Handler } from './server.ts';
import { serve } from './server.ts';

const clients = [createHttpClient()];
const client = clients[0] as ReturnType<typeof createHttpClient>;
after(() => Promise.all(clients.map((each) => each.close())));

async function at(t: { after(work: () => Promise<void>): void }, handler: Handler): Promise<string> {
  const server = await serve({ address: '127.0.0.1', port: 0, handler });
  t.after(() => server.close(0));
  return `http://127.0.0.1:${server.port}`;
}

async function bytesOf(answer: HttpResponse): Promise<number> {
  let size = 0;
  for await (const chunk of answer.body) size += chunk.length;
  return size;
}

test('a connection is used again, and what was asked arrives with its length, also in a DELETE', async (t) => {
  const seen: unknown[] = [];
  const url = await at(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    seen.push([request.method, request.headers['content-length'], body, request.socket.remotePort]);
    response.setHeader('x-twice', ['a', 'b']).end('ok');
  });
  const first = await client.request({ method: 'DELETE', url, body: '{"a":"ü"}' });
  assert.deepEqual(first.headers['x-twice'], ['a', 'b']);
  assert.equal(first.headers['content-length'], '2');
  assert.equal(await first.text(), 'ok');
  await (await client.request({ method: 'POST', url, body: new Uint8Array([65]) })).discard();
  await (await client.request({ method: 'POST', url })).discard();
  const port = (seen[0] as unknown[])[3];
  assert.deepEqual(seen, [
    ['DELETE', '10', '{"a":"ü"}', port],
    ['POST', '1', 'A', port],
    ['POST', '0', '', port],
  ]);
});

test('an answer that does not begin, and a body that stalls, fail in words', async (t) => {
  const url = await at(t, (request, response) => {
    if (request.url === '/body') response.write('a');
  });
  await assert.rejects(client.request({ url, headersTimeoutMs: 50 }), {
    code: 'Unreachable',
    message: /127\.0\.0\.1:\d+ does not answer: it sent no answer in time/,
  });
  const answer = await client.request({ url: `${url}/body`, stallTimeoutMs: 50 });
  await assert.rejects(bytesOf(answer), /no byte of the answer came for 50 ms/);
});

test('a reader that takes its time is no stall', async (t) => {
  const url = await at(t, (_, response) => void response.end(Buffer.alloc(4 * 1024 * 1024)));
  const answer = await client.request({ url, stallTimeoutMs: 50 });
  let size = 0;
  for await (const chunk of answer.body) {
    if (size === 0) await sleep(200);
    size += chunk.length;
  }
  assert.equal(size, 4 * 1024 * 1024);
});

for (const reuse of [false, true]) {
  test(`a body comes in few pieces, in order, and not all of it to whoever takes his time${reuse ? ', in memory that is used again' : ''}`, async (t) => {
    const chunk = 16 * 1024;
    const count = 1024;
    let sent = 0;
    const url = await at(t, async (_, response) => {
      for (let at = 0; at < count; at += 1) {
        if (!response.write(Buffer.alloc(chunk, at % 251))) await once(response, 'drain');
        sent = at + 1;
      }
      response.end();
    });
    const answer = await client.request({ url, reuse });
    let pieces = 0;
    let bytes = 0;
    let sentWhileSlow = 0;
    for await (const piece of answer.body) {
      for (let at = 0; at < piece.length; at += chunk / 4) {
        assert.equal(piece[at], Math.floor((bytes + at) / chunk) % 251, `byte ${bytes + at}`);
      }
      bytes += piece.length;
      pieces += 1;
      if (pieces === 1) {
        await sleep(300);
        sentWhileSlow = sent;
      }
    }
    assert.equal(bytes, chunk * count);
    assert.ok(pieces < count / 4, `${pieces} pieces`);
    // What fits into the buffers of the sockets (some MiB) and into ours, and no more.
    assert.ok(sentWhileSlow < count, `${sentWhileSlow} of ${count} chunks were sent to a reader that waited`);
  });
}

test('a host that takes a connection and never shakes hands is left in time', async (t) => {
  const silent = createTcpServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const hasty = createHttpClient({}, { connectTimeoutMs: 50 });
  t.after(() => Promise.all([hasty.close(), silent.close()]));
  const { port } = silent.address() as { port: number };
  await assert.rejects(hasty.request({ url: `https://127.0.0.1:${port}` }), /cannot be connected to in time/);
});

test('who asked may stop: before the answer, in the middle of it, and for all at once', async (t) => {
  const url = await at(t, (request, response) => {
    if (request.url === '/body') response.write('a');
  });
  for (const path of ['', '/body']) {
    const stop = new AbortController();
    const asked = client.request({ url: `${url}${path}`, signal: stop.signal }).then(bytesOf);
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(asked, { name: 'AbortError' });
  }
  await assert.rejects(client.request({ url, signal: AbortSignal.abort() }), { name: 'AbortError' });
  const other = createHttpClient();
  const waiting = other.request({ url });
  await sleep(50);
  await other.close();
  await assert.rejects(waiting, { code: 'Unreachable' });
  await assert.rejects(other.request({ url }), /this client is closed/);
});

test('a body that ends too early is an error', async (t) => {
  const url = await at(t, (_, response) => {
    response.writeHead(200, { 'content-length': 10 }).write('a');
    setTimeout(() => response.destroy(), 20);
  });
  await assert.rejects(bytesOf(await client.request({ url })), { code: 'ECONNRESET' });
});

test('a text has a limit', async (t) => {
  const url = await at(t, (_, response) => void response.end('x'.repeat(100)));
  await assert.rejects((await client.request({ url })).text(99), { code: 'InputTooLarge' });
});

test('a proxy is asked for whole requests, and for tunnels to where TLS ends', async (t) => {
  const authority = await createAuthority('client test');
  const pair = await issue(authority, { commonName: 'far', dnsNames: ['far.example'], usage: 'server' });
  const secure = await serve({
    address: '127.0.0.1',
    port: 0,
    tls: { cert: pair.certPem, key: pair.keyPem },
    handler: (_, response) => void response.end('secret'),
  });
  const asked: string[] = [];
  const proxy = createProxy((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('plain');
  });
  proxy.on('connect', (request, socket) => {
    asked.push(`${request.method} ${request.url}`);
    const onward = connect(secure.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as { port: number };
  const through = createHttpClient({ ca: authority.certPem }, { proxy: () => `http://127.0.0.1:${port}` });
  t.after(async () => {
    await through.close();
    proxy.closeAllConnections();
    proxy.close();
    await secure.close(0);
  });
  assert.equal(await (await through.request({ url: 'http://far.example/a' })).text(), 'plain');
  assert.equal(await (await through.request({ url: 'https://far.example/b' })).text(), 'secret');
  await assert.rejects(
    through.request({ url: 'https://other.example/' }),
    /does not answer:.*other\.example/,
  );
  assert.deepEqual(asked, [
    'GET http://far.example/a',
    'CONNECT far.example:443',
    'CONNECT other.example:443',
  ]);
});

test('P6 renewed certificates are for new connections; an answer under way ends on the old one', async (t) => {
  const [old, next] = [await createAuthority('old'), await createAuthority('next')];
  const leafOf = (authority: KeyPair) =>
    issue(authority, { commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' });
  const first = await leafOf(old);
  const going = Promise.withResolvers<void>();
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    tls: { cert: first.certPem, key: first.keyPem },
    handler: async (_, response) => {
      response.write('begun ');
      await going.promise;
      response.end('and ended');
    },
  });
  t.after(() => server.close(0));
  const renewing = createHttpClient({ ca: old.certPem });
  t.after(() => renewing.close());
  const url = `https://127.0.0.1:${server.port}/`;
  const under = await renewing.request({ url });
  const second = await leafOf(next);
  server.reload({ cert: second.certPem, key: second.keyPem });
  await assert.rejects(renewing.request({ url }), { code: 'Unreachable' });
  renewing.renew({ ca: next.certPem });
  const renewed = await renewing.request({ url });
  going.resolve();
  assert.equal(await under.text(), 'begun and ended');
  assert.equal(await renewed.text(), 'begun and ended');
});
