import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMetrics } from '../observe/metrics.ts';
import { type HealthCheck, withOperations } from './operations.ts';
import { type Handler, serve } from './server.ts';

async function start(
  t: TestContext,
  options: { live?: Record<string, HealthCheck>; ready?: Record<string, HealthCheck>; next?: Handler },
) {
  const metrics = createMetrics();
  metrics.counter('sluice_a_total', 'A.').add({});
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: withOperations({ metrics, ...options }, options.next),
  });
  t.after(() => server.close(0));
  return async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    };
  };
}

test('a process that is well answers ok, and names its checks when it is asked to', async (t) => {
  const ask = await start(t, { live: { loop: () => undefined }, ready: { api: async () => undefined } });
  for (const path of ['/livez', '/readyz', '/healthz']) assert.deepEqual((await ask(path)).text, 'ok');
  const verbose = await ask('/healthz?verbose');
  assert.equal(verbose.text, '[+]loop ok\n[+]api ok\nhealthz check passed\n');
  assert.deepEqual(await ask('/readyz', 'HEAD'), {
    status: 200,
    type: 'text/plain; charset=utf-8',
    text: '',
  });
});

test('what is not ready says why, and is alive nonetheless', async (t) => {
  const ask = await start(t, {
    live: { loop: () => undefined },
    ready: {
      api: () => 'the API has not answered for 30 s',
      store: () => {
        throw new Error('no such directory');
      },
    },
  });
  assert.equal((await ask('/livez')).status, 200);
  const { status, text } = await ask('/readyz');
  assert.equal(status, 500);
  assert.equal(
    text,
    '[-]api: the API has not answered for 30 s\n[-]store: no such directory\nreadyz check failed\n',
  );
  assert.equal((await ask('/healthz')).status, 500);
});

test('a check that does not answer fails, so that who probes has its answer', async (t) => {
  const ask = await start(t, { ready: { stuck: () => new Promise(() => {}) } });
  assert.match((await ask('/readyz')).text, /^\[-\]stuck: no answer within 2 s$/m);
});

test('metrics are given as text; other requests go where they went before', async (t) => {
  const ask = await start(t, { next: (_, response) => void response.writeHead(418).end('next') });
  const { status, type, text } = await ask('/metrics');
  assert.equal(status, 200);
  assert.match(type ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(text, /^sluice_a_total 1$/m);
  assert.equal((await ask('/metrics', 'POST')).status, 418);
  assert.equal((await ask('/other')).text, 'next');
  const alone = await start(t, {});
  assert.equal((await alone('/other')).status, 404);
});
