import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createHttpClient } from './client.ts';
import { drained } from './drained.ts';
import { serve } from './server.ts';

const pieces = 64;
const piece = Buffer.alloc(256 * 1024, 'x');

async function answering(work: (response: ServerResponse) => Promise<void>) {
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler: async (_, response) => {
      response.writeHead(200);
      await work(response);
      response.end();
    },
  });
  const http = createHttpClient();
  return {
    request: () => http.request({ url: `http://127.0.0.1:${server.port}/` }),
    async close() {
      await http.close();
      await server.close(0);
    },
  };
}

const listenersOf = (response: ServerResponse) =>
  response.listenerCount('close') + response.listenerCount('drain');

test('a long answer to a slow client leaves no listener behind, however often it waits', async (t) => {
  let waits = 0;
  let most = 0;
  let before = 0;
  const server = await answering(async (response) => {
    before = listenersOf(response);
    for (let at = 0; at < pieces; at += 1) {
      if (response.write(piece)) continue;
      waits += 1;
      await drained(response);
      most = Math.max(most, listenersOf(response));
    }
  });
  t.after(() => server.close());
  let bytes = 0;
  for await (const chunk of (await server.request()).body) bytes += chunk.length;
  assert.equal(bytes, pieces * piece.length);
  assert.ok(waits > 11, `it waited ${waits} times, and eleven listeners are too many`);
  assert.equal(most, before);
});

test('a client that goes away and a signal that aborts end the wait, and what has happened before too', async (t) => {
  const told = Promise.withResolvers<string[]>();
  const server = await answering(async (response) => {
    const steps: string[] = [];
    while (response.write(piece));
    const abort = new AbortController();
    const waiting = drained(response, abort.signal);
    abort.abort();
    await waiting;
    steps.push('aborted');
    await drained(response, abort.signal);
    steps.push('was aborted');
    const closed = once(response, 'close');
    const leaving = drained(response);
    response.socket?.destroy();
    await leaving;
    steps.push('gone');
    await closed;
    await drained(response);
    steps.push('was gone');
    told.resolve(steps);
  });
  t.after(() => server.close());
  // Cut in the middle, with the head of the answer or without it.
  const answered = server.request().then(
    (answer) => answer.discard(),
    () => {},
  );
  assert.deepEqual(await told.promise, ['aborted', 'was aborted', 'gone', 'was gone']);
  await answered;
});
