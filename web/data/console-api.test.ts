import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createConsoleApi } from './console-api.ts';

/** A network that loses the first requests. */
function losing(lost: number) {
  const asked: string[] = [];
  mock.method(globalThis, 'fetch', async (_: URL, { method = '' }: RequestInit) => {
    asked.push(method);
    if (asked.length <= lost) throw new TypeError('Failed to fetch');
    return new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } });
  });
  return asked;
}

test('a read that the network lost is asked for again, and given up after the third time', async () => {
  const api = createConsoleApi('http://127.0.0.1/');
  const asked = losing(2);
  assert.deepEqual(await api.read('x'), { ok: true });
  assert.equal(asked.length, 3);
  mock.restoreAll();
  const lost = losing(9);
  await assert.rejects(api.read('x'), /Failed to fetch/);
  assert.equal(lost.length, 3);
  mock.restoreAll();
});

test('what changes something is asked for once, since it may have been done', async () => {
  const api = createConsoleApi('http://127.0.0.1/');
  const asked = losing(1);
  await assert.rejects(api.act('openWindow', {}), /Failed to fetch/);
  assert.deepEqual(asked, ['POST']);
  mock.restoreAll();
});

test('a read that nobody wants any more is not asked for again', async () => {
  const api = createConsoleApi('http://127.0.0.1/');
  const asked = losing(9);
  await assert.rejects(api.read('x', AbortSignal.abort()));
  assert.equal(asked.length, 1);
  mock.restoreAll();
});
