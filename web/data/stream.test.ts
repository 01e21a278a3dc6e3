import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createWatchStream, type WatchListener } from './stream.ts';

/** A console that says what the test wants it to, and notes what it is asked. */
function fakeConsole(answer: (body: object) => Promise<void> = async () => {}) {
  const asked: object[] = [];
  const told: string[] = [];
  let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  let opened = 0;
  const stream = createWatchStream(
    async () => {
      opened += 1;
      return new Response(
        new ReadableStream<Uint8Array>({
          start(controller) {
            writer = controller;
          },
        }),
      );
    },
    async (id, body) => {
      asked.push({ id, ...body });
      await answer(body);
    },
  );
  const listener = (name: string): WatchListener => ({
    opened: () => told.push(`${name} opened`),
    changed: (changes) => told.push(`${name} ${changes.map(({ type }) => type).join('+')}`),
    ended: () => told.push(`${name} ended`),
    failed: ({ status }) => told.push(`${name} failed ${status}`),
  });
  return {
    stream,
    asked,
    told,
    listener,
    opened: () => opened,
    async say(text: string) {
      await turn();
      writer?.enqueue(new TextEncoder().encode(text));
      await settled();
    },
    async cut() {
      await turn();
      writer?.error(new Error('cut'));
      await settled();
    },
  };
}

async function settled(): Promise<void> {
  for (let round = 0; round < 10; round += 1) await turn();
}

const watch = (path: string) => ({ path, query: { resourceVersion: '1' } });
const line = (value: object) => `${JSON.stringify(value)}\n`;
const event = (number: number, type: string, object: object) =>
  line({ watch: number, event: { type, object } });

test('watches that are asked for together go in one request, over one connection', async () => {
  const { stream, asked, listener, opened, say } = fakeConsole();
  stream.watch(watch('/api/v1/nodes'), listener('a'));
  stream.watch(watch('/api/v1/pods'), listener('b'));
  await say(line({ stream: 'x' }));
  assert.equal(opened(), 1);
  assert.deepEqual(asked, [
    {
      id: 'x',
      add: [
        { watch: 1, ...watch('/api/v1/nodes') },
        { watch: 2, ...watch('/api/v1/pods') },
      ],
    },
  ]);
  stream.close();
});

test('what comes in one piece is told in one piece; half a line waits for its other half', async () => {
  const { stream, told, listener, say } = fakeConsole();
  stream.watch(watch('/api/v1/nodes'), listener('a'));
  const whole = event(1, 'ADDED', {}) + event(1, 'MODIFIED', {}) + event(1, 'DELETED', {});
  await say(line({ stream: 'x' }) + line({ watch: 1, open: true }) + whole.slice(0, -10));
  await say(whole.slice(-10) + line({ alive: true }) + line({ watch: 1, ended: true }));
  assert.deepEqual(told, ['a opened', 'a ADDED+MODIFIED', 'a DELETED', 'a ended']);
  stream.close();
});

test('a version that is no longer kept is told as such, whether by the request or in the watch', async () => {
  const { stream, told, listener, say } = fakeConsole();
  stream.watch(watch('/api/v1/nodes'), listener('a'));
  stream.watch(watch('/api/v1/pods'), listener('b'));
  const status = { kind: 'Status', reason: 'Expired', code: 410, message: 'too old' };
  await say(
    line({ stream: 'x' }) +
      event(1, 'ADDED', {}) +
      event(1, 'ERROR', status) +
      line({ watch: 2, error: { status: 410, reason: 'Expired', message: 'too old' } }),
  );
  assert.deepEqual(told, ['a ADDED', 'a failed 410', 'b failed 410']);
  stream.close();
});

test('a connection that is cut fails every watch, and the next one opens another', async () => {
  const { stream, told, listener, opened, say, cut } = fakeConsole();
  stream.watch(watch('/api/v1/nodes'), listener('a'));
  stream.watch(watch('/api/v1/pods'), listener('b'));
  await say(line({ stream: 'x' }));
  await cut();
  assert.deepEqual(told, ['a failed 0', 'b failed 0']);
  stream.watch(watch('/api/v1/nodes'), listener('c'));
  await settled();
  assert.equal(opened(), 2);
  stream.close();
});

test('a watch that the console does not take fails alone; one that is ended here is not heard any more', async () => {
  const { stream, told, listener, asked, say } = fakeConsole(async (body) => {
    if ('add' in body) throw Object.assign(new Error('there is no such stream'), { status: 404 });
  });
  const end = stream.watch(watch('/api/v1/nodes'), listener('a'));
  await say(line({ stream: 'x' }));
  assert.deepEqual(told, ['a failed 404']);
  end();
  assert.equal(asked.length, 1, 'what has failed is not taken back');
  stream.close();
});
