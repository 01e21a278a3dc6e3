import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, settle } from '../../tests/fake-clock.ts';
import type { ConfigMap } from '../api/core.ts';
import { kindTable } from '../api/kinds.ts';
import { type Logger, silentLogger } from '../observe/log.ts';
import type { KubeClient } from './client.ts';
import { runController, TerminalError, watchOf } from './controller.ts';
import { ApiError } from './error.ts';
import { createInformer } from './informer.ts';

const kinds = kindTable('standalone');
const noJitter = { firstMs: 100, factor: 2, mostMs: 1000, jitter: 0 };

function configMap(name: string, resourceVersion = '1', data: Record<string, string> = {}): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'ns', resourceVersion, uid: name },
    data,
  };
}

/** A client whose list is given and whose watch is fed by `feed`. */
function fed(items: ConfigMap[]) {
  const stop = new AbortController();
  const clock = createFakeClock();
  let push: (object: ConfigMap) => void = () => {};
  const client = {
    list: async () => ({ items, resourceVersion: '1' }),
    watch: async function* () {
      const waiting: ConfigMap[] = [];
      let wake = () => {};
      push = (object) => {
        waiting.push(object);
        wake();
      };
      stop.signal.addEventListener('abort', () => wake(), { once: true });
      while (!stop.signal.aborted) {
        const next = waiting.shift();
        if (next !== undefined) yield { type: 'MODIFIED', object: next };
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
  } as unknown as Pick<KubeClient, 'list' | 'watch'>;
  return { client, stop, clock, feed: (object: ConfigMap) => push(object) };
}

const byName = watchOf(kinds.ConfigMap, { keysOf: (object) => [object.metadata.name] });

test('reconciles what is listed and what changes; ends when told, after what it works on', async () => {
  const { client, stop, clock, feed } = fed([configMap('a'), configMap('b')]);
  const seen: string[] = [];
  let working = 0;
  const running = runController({
    name: 'test',
    client,
    clock,
    logger: silentLogger,
    signal: stop.signal,
    watches: [byName],
    async reconcile(key) {
      working += 1;
      seen.push(key);
      await settle();
      working -= 1;
    },
  });
  await settle();
  await settle();
  await settle();
  assert.deepEqual(seen, ['a', 'b']);
  feed(configMap('b', '2'));
  await settle();
  stop.abort();
  await running;
  assert.deepEqual(seen, ['a', 'b', 'b']);
  assert.equal(working, 0);
});

test('an update concerns the keys of before and after', async () => {
  const { client, stop, clock, feed } = fed([configMap('x', '1', { owner: 'old' })]);
  const seen: string[] = [];
  const running = runController({
    name: 'test',
    client,
    clock,
    logger: silentLogger,
    signal: stop.signal,
    watches: [watchOf(kinds.ConfigMap, { keysOf: (object) => [object.data?.owner ?? ''] })],
    async reconcile(key) {
      seen.push(key);
    },
  });
  await settle();
  feed(configMap('x', '2', { owner: 'new' }));
  await settle();
  stop.abort();
  await running;
  assert.deepEqual(seen, ['old', 'new', 'old']);
});

test('failures wait longer and longer; TerminalError waits for a change; requeue looks again', async () => {
  const { client, stop, clock, feed } = fed([configMap('a')]);
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    child: () => logger,
    warn: (_, message) => void warnings.push(message),
  };
  const results: (() => Promise<{ requeueAfterMs?: number } | undefined>)[] = [
    () => Promise.reject(new Error('first')),
    () => Promise.reject(new ApiError(409, 'Conflict', 'second')),
    () => Promise.resolve({ requeueAfterMs: 5000 }),
    () => Promise.reject(new TerminalError('spec is invalid')),
    () => Promise.resolve(undefined),
  ];
  const times: number[] = [];
  const startMs = clock.now();
  const running = runController({
    name: 'test',
    client,
    clock,
    logger,
    backoff: noJitter,
    random: () => 0,
    signal: stop.signal,
    watches: [byName],
    reconcile() {
      times.push(clock.now() - startMs);
      return results.shift()?.() ?? Promise.resolve(undefined);
    },
  });
  await clock.advance(60_000);
  assert.deepEqual(times, [0, 100, 300, 5300]);
  assert.deepEqual(warnings, ['reconcile failed'], 'a conflict is no alarm');
  feed(configMap('a', '2'));
  await settle();
  assert.equal(times.length, 5);
  stop.abort();
  await running;
});

test('one key is never worked on twice at once, several keys are', async () => {
  const { client, stop, clock, feed } = fed(['a', 'b', 'c'].map((name) => configMap(name)));
  const working = new Set<string>();
  let most = 0;
  const running = runController({
    name: 'test',
    client,
    clock,
    logger: silentLogger,
    concurrency: 2,
    signal: stop.signal,
    watches: [byName],
    async reconcile(key) {
      assert.ok(!working.has(key));
      working.add(key);
      most = Math.max(most, working.size);
      await clock.sleep(100);
      working.delete(key);
    },
  });
  await settle();
  feed(configMap('a', '2'));
  await clock.advance(1000);
  stop.abort();
  await running;
  assert.equal(most, 2);
});

test('an informer that several controllers share is listed once', async () => {
  const { client, stop, clock } = fed([configMap('a')]);
  let lists = 0;
  const counting = {
    ...client,
    list: (...args: Parameters<typeof client.list>) => {
      lists += 1;
      return client.list(...args);
    },
  } as typeof client;
  const informer = createInformer(counting, kinds.ConfigMap, {
    logger: silentLogger,
    signal: stop.signal,
    clock,
  });
  const seen: string[] = [];
  const controllers = ['one', 'two'].map((name) =>
    runController({
      name,
      client: counting,
      clock,
      logger: silentLogger,
      signal: stop.signal,
      watches: [watchOf(informer, { keysOf: (object) => [object.metadata.name] })],
      async reconcile(key) {
        seen.push(`${name} ${key}`);
      },
    }),
  );
  await settle();
  stop.abort();
  await Promise.all(controllers);
  assert.equal(lists, 1);
  assert.deepEqual(seen.sort(), ['one a', 'two a']);
});
