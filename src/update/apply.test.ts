import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeClient } from '../kube/client.ts';
import { ApiError } from '../kube/error.ts';
import { applyPass, reasonOf } from './apply.ts';
import { WaitTimes } from './wait.ts';
import type { Block } from './walk.ts';

const task = (name: string) => ({
  id: name,
  manifest: {
    file: name,
    index: 0,
    runLevel: 10,
    component: name,
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n' } },
  },
  inclusion: { act: 'apply', createOnly: false },
});
const blocks = (...chains: string[][]): Block[] =>
  [chains.map((chain) => chain.map(task))] as unknown as Block[];

/** Creates what it is told, but for names that begin with "bad". */
function client(created: string[], at: () => void = () => {}): KubeClient {
  return {
    resolveKind: async () => ({
      kind: 'ConfigMap',
      plural: 'configmaps',
      group: '',
      version: 'v1',
      namespaced: true,
    }),
    tryGet: async () => undefined,
    create: async (_: unknown, object: { metadata: { name: string } }) => {
      at();
      if (object.metadata.name.startsWith('bad')) throw new Error('refused');
      created.push(object.metadata.name);
      return { apiVersion: 'v1', kind: 'ConfigMap', ...object };
    },
  } as unknown as KubeClient;
}
const notes = () => ({ noted: new Set<string>(), times: new WaitTimes() });
const never = new AbortController().signal;

test('a failure stops its own chain; the others of the level go on', async () => {
  const created: string[] = [];
  const pass = await applyPass(client(created), blocks(['a', 'bad', 'c'], ['d', 'e']), notes(), {
    signal: never,
    now: 0,
    workers: 2,
  });
  assert.deepEqual(created.sort(), ['a', 'd', 'e']);
  assert.deepEqual([pass.done, pass.total, pass.waiting.length], [3, 5, 1]);
  assert.equal(pass.waiting[0]?.failing, 'UpdatePayloadFailed');
});

test('what is noted is not applied again; one worker is enough for all', async () => {
  const created: string[] = [];
  const held = notes();
  held.noted.add('a');
  await applyPass(client(created), blocks(['a', 'b'], ['c']), held, { signal: never, now: 0, workers: 1 });
  assert.deepEqual(created, ['b', 'c']);
});

test('P-102 P-42 a walk that is cancelled, before or in the middle, is no success and waits for nobody', async () => {
  const before = new AbortController();
  before.abort(new Error('stopped'));
  const options = { signal: before.signal, now: 0, workers: 2 };
  await assert.rejects(applyPass(client([]), blocks(['a']), notes(), options), /stopped/);
  const middle = new AbortController();
  const created: string[] = [];
  const stopping = client(created, () => middle.abort(new Error('stopped')));
  const walk = blocks(['a', 'b', 'c'], ['d', 'e', 'f']);
  await assert.rejects(
    applyPass(stopping, walk, notes(), { signal: middle.signal, now: 0, workers: 2 }),
    /stopped/,
  );
  assert.ok(created.length <= 2, created.join());
});

test('a walk that is cancelled does nothing any more once it says so', async () => {
  const stop = new AbortController();
  const created: string[] = [];
  const slow = client(created);
  const create = slow.create.bind(slow);
  slow.create = (async (kind: never, object: { metadata: { name: string } }) => {
    if (object.metadata.name === 'a') stop.abort(new Error('stopped'));
    else await new Promise((resolve) => setTimeout(resolve, 50));
    return await create(kind, object as never);
  }) as never;
  const options = { signal: stop.signal, now: 0, workers: 2 };
  await assert.rejects(applyPass(slow, blocks(['a', 'b'], ['c', 'd']), notes(), options), /stopped/);
  const told = [...created];
  assert.deepEqual(told.sort(), ['a', 'c'], 'what was begun has ended');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(created.length, 2);
});

for (const [status, reason] of [
  [403, 'UpdatePayloadResourceForbidden'],
  [409, 'UpdatePayloadResourceConflict'],
  [422, 'UpdatePayloadResourceInvalid'],
  [500, 'UpdatePayloadClusterError'],
  [503, 'UpdatePayloadClusterDown'],
] as const) {
  test(`an API that answers ${status} is ${reason}`, () => {
    const cause = { status, reason: 'X', message: 'm' };
    assert.equal(reasonOf(Object.assign(Object.create(ApiError.prototype), cause)), reason);
  });
}
