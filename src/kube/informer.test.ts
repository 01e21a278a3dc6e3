import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, settle } from '../../tests/fake-clock.ts';
import { startScriptedApi } from '../../tests/scripted-api.ts';
import type { ConfigMap } from '../api/core.ts';
import { kindTable } from '../api/kinds.ts';
import { SluiceError } from '../errors/error.ts';
import { silentLogger } from '../observe/log.ts';
import type { KubeClient } from './client.ts';
import { ApiError } from './error.ts';
import { createInformer, nextInformerState } from './informer.ts';
import type { InformerState } from './informer-state.ts';
import type { WatchEvent } from './watch.ts';

const kind = kindTable('standalone').ConfigMap;

function configMap(name: string, resourceVersion: string, uid = name): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns', resourceVersion, uid } };
}

type Turn =
  | { list: ConfigMap[]; at: string }
  | { listFails: Error }
  | { watchFrom: string; events?: WatchEvent<ConfigMap>[]; lastsMs?: number; fails?: Error; open?: boolean };

/** A client that takes one turn after another, and an informer over it. */
function scripted(turns: Turn[]) {
  const clock = createFakeClock();
  const stop = new AbortController();
  const told: string[] = [];
  const take = () => {
    const turn = turns.shift();
    assert.ok(turn !== undefined, 'the informer asks for more than the script has');
    return turn;
  };
  const client = {
    list: async () => {
      const turn = take();
      if ('listFails' in turn) throw turn.listFails;
      assert.ok('list' in turn, `a list was made where the script has ${JSON.stringify(turn)}`);
      return { items: turn.list, resourceVersion: turn.at };
    },
    watch: async function* (_: unknown, options: { resourceVersion?: string }) {
      const turn = take();
      assert.ok('watchFrom' in turn, `a watch was begun where the script has ${JSON.stringify(turn)}`);
      assert.equal(options.resourceVersion, turn.watchFrom);
      yield* turn.events ?? [];
      if (turn.lastsMs !== undefined) await clock.sleep(turn.lastsMs, stop.signal);
      if (turn.fails !== undefined) throw turn.fails;
      if (turn.open === true) {
        await new Promise((_resolve, reject) => {
          stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
        });
      }
    },
  } as unknown as Pick<KubeClient, 'list' | 'watch'>;
  const informer = createInformer(client, kind, {
    logger: silentLogger,
    signal: stop.signal,
    clock,
    random: () => 0,
  });
  informer.onChange((change) => {
    told.push(`${change.type} ${change.object.metadata.name}@${change.object.metadata.resourceVersion}`);
  });
  return { informer, clock, told, turns, stop };
}

const gone = new ApiError(410, 'Expired', 'too old resource version');
const unreachable = new SluiceError('Unreachable', 'cut');

test('lists, then follows from the version of the list', async () => {
  const { informer, told, stop } = scripted([
    { list: [configMap('a', '1')], at: '5' },
    {
      watchFrom: '5',
      events: [
        { type: 'ADDED', object: configMap('b', '6') },
        { type: 'MODIFIED', object: configMap('a', '7') },
        { type: 'DELETED', object: configMap('b', '8') },
      ],
      open: true,
    },
  ]);
  informer.start();
  await informer.synced();
  await settle();
  assert.deepEqual(told, ['added a@1', 'added b@6', 'updated a@7', 'deleted b@8']);
  assert.deepEqual(
    informer.list().map((object) => object.metadata.name),
    ['a'],
  );
  assert.equal(informer.get('a', 'ns')?.metadata.resourceVersion, '7');
  stop.abort();
  await settle();
  assert.equal(informer.state().name, 'Stopped');
});

test('a watch that ends goes on from the last version, bookmarks included, without a list', async () => {
  const { informer, told, turns } = scripted([
    { list: [], at: '5' },
    { watchFrom: '5', events: [{ type: 'ADDED', object: configMap('a', '6') }] },
    { watchFrom: '6', events: [{ type: 'BOOKMARK', resourceVersion: '40' }] },
    { watchFrom: '40', open: true },
  ]);
  informer.start();
  await settle();
  assert.deepEqual(told, ['added a@6']);
  assert.equal(turns.length, 0);
});

test('410: lists again, and what was missed comes as adds, updates and deletes', async () => {
  const { informer, told, clock } = scripted([
    { list: [configMap('kept', '1'), configMap('changed', '2'), configMap('gone', '3')], at: '5' },
    { watchFrom: '5', fails: gone },
    { list: [configMap('kept', '1'), configMap('changed', '90'), configMap('new', '91')], at: '99' },
    { watchFrom: '99', open: true },
  ]);
  informer.start();
  await settle();
  told.length = 0;
  assert.equal(
    informer.state().name,
    'BackingOff',
    'a watch that was good for nothing is not followed at once',
  );
  await clock.advance(500);
  assert.deepEqual(told, ['deleted gone@3', 'updated changed@90', 'added new@91']);
});

test('410 after hours: lists again at once', async () => {
  const { informer, clock, turns } = scripted([
    { list: [], at: '5' },
    { watchFrom: '5', lastsMs: 600_000, fails: gone },
    { list: [], at: '99' },
    { watchFrom: '99', open: true },
  ]);
  informer.start();
  await clock.advance(600_000);
  assert.equal(turns.length, 0);
});

test('an object that was deleted and created again between two looks is two objects', async () => {
  const { informer, told, clock } = scripted([
    { list: [configMap('a', '1', 'uid-1')], at: '5' },
    { watchFrom: '5', fails: gone },
    { list: [configMap('a', '50', 'uid-2')], at: '99' },
    { watchFrom: '99', open: true },
  ]);
  informer.start();
  await clock.advance(1000);
  assert.deepEqual(told, ['added a@1', 'deleted a@1', 'added a@50']);
});

test('a cut watch goes on after a pause from where it was; the wait grows while nothing is gained', async () => {
  const { informer, clock, told } = scripted([
    { list: [], at: '5' },
    { watchFrom: '5', events: [{ type: 'ADDED', object: configMap('a', '6') }], fails: unreachable },
    { watchFrom: '6', fails: unreachable },
    { watchFrom: '6', fails: unreachable },
    { watchFrom: '6', events: [{ type: 'ADDED', object: configMap('b', '7') }], open: true },
  ]);
  informer.start();
  await settle();
  const waits: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const [wait] = clock.sleeping();
    assert.ok(wait !== undefined);
    waits.push(wait);
    await clock.advance(wait);
  }
  assert.deepEqual(waits, [500, 1000, 2000]);
  assert.deepEqual(told, ['added a@6', 'added b@7']);
});

test('a server that ends each watch at once is not asked without end', async () => {
  const { informer, clock } = scripted([
    { list: [], at: '5' },
    { watchFrom: '5' },
    { watchFrom: '5' },
    { watchFrom: '5', open: true },
  ]);
  informer.start();
  await settle();
  assert.deepEqual(clock.sleeping(), [500]);
  await clock.advance(500);
  assert.deepEqual(clock.sleeping(), [1000]);
});

test('a quiet watch that the server ends after its time is no failure', async () => {
  const { informer, clock, turns } = scripted([
    { list: [], at: '5' },
    { watchFrom: '5', lastsMs: 300_000 },
    { watchFrom: '5', open: true },
  ]);
  informer.start();
  await clock.advance(300_000);
  assert.equal(turns.length, 0);
  assert.equal(informer.state().name, 'Watching');
});

test('what a watch was good for is not told by a clock that was set', async () => {
  const { informer, clock, turns, stop } = scripted([
    { list: [], at: '10' },
    { watchFrom: '10', lastsMs: 10 },
    { watchFrom: '10', lastsMs: 60_000 },
    { watchFrom: '10', open: true },
  ]);
  informer.start();
  await settle();
  clock.jump(3_600_000);
  await clock.advance(10);
  // An hour by the wall, ten milliseconds in truth: that was good for nothing.
  assert.equal(informer.state().name, 'BackingOff');
  await clock.advance(1_000);
  clock.jump(-3_600_000);
  await clock.advance(60_000);
  assert.equal(turns.length, 0, 'a watch of a minute is followed at once');
  assert.equal(informer.state().name, 'Watching');
  stop.abort();
});

test('401: the informer goes on when its credential is good again', async () => {
  const { informer, clock, told, turns, stop } = scripted([
    { list: [configMap('a', '1')], at: '10' },
    { watchFrom: '10', fails: new ApiError(401, 'Unauthorized', 'the token has expired') },
    { watchFrom: '10', fails: new ApiError(401, 'Unauthorized', 'the token has expired') },
    { watchFrom: '10', events: [{ type: 'ADDED', object: configMap('b', '11') }], open: true },
  ]);
  informer.start();
  await settle();
  for (let left = 5; left > 0; left -= 1) await clock.advance(1_000);
  assert.equal(turns.length, 0);
  assert.deepEqual(told, ['added a@1', 'added b@11']);
  stop.abort();
});

test('a list that fails is tried again for ever, at most every 30 s, and Retry-After is kept', async () => {
  const busy = new ApiError(429, 'TooManyRequests', 'later', { retryAfterSeconds: 7 });
  const { informer, clock } = scripted([
    { listFails: unreachable },
    { listFails: busy },
    { listFails: unreachable },
    { list: [], at: '5' },
    { watchFrom: '5', open: true },
  ]);
  informer.start();
  await settle();
  assert.equal(informer.hasSynced(), false);
  const waits: number[] = [];
  while (clock.sleeping().length > 0) {
    const [wait = 0] = clock.sleeping();
    waits.push(wait);
    await clock.advance(wait);
  }
  assert.deepEqual(waits, [500, 7000, 2000]);
  assert.equal(informer.hasSynced(), true);
});

test('cached objects cannot be changed', async () => {
  const { informer } = scripted([
    { list: [configMap('a', '1')], at: '5' },
    { watchFrom: '5', open: true },
  ]);
  informer.start();
  await informer.synced();
  const [object] = informer.list();
  assert.throws(() => {
    (object as ConfigMap).metadata.labels = {};
  }, TypeError);
});

test('who listens late is told of what is there; a handler that throws harms no other', async () => {
  const { informer, told } = scripted([
    { list: [configMap('a', '1')], at: '5' },
    { watchFrom: '5', open: true },
  ]);
  informer.onChange(() => {
    throw new Error('defect');
  });
  informer.start();
  await informer.synced();
  const late: string[] = [];
  informer.onChange((change) => late.push(change.type));
  assert.deepEqual(late, ['added']);
  assert.deepEqual(told, ['added a@1']);
});

test('an event that a state does not know is a defect, and Stopped stays Stopped', () => {
  assert.throws(() => nextInformerState({ name: 'Idle' }, { type: 'Waited' }), /Waited in state Idle/);
  const stopped: InformerState = { name: 'Stopped' };
  assert.equal(nextInformerState(stopped, { type: 'Started' }).name, 'Stopped');
  assert.equal(nextInformerState({ name: 'Listing', failures: 3 }, { type: 'Stopped' }).name, 'Stopped');
});

test('of each object only what is read is held: never who set which field, and less where it is said', async () => {
  const object = (name: string, version: string) => ({
    metadata: {
      name,
      namespace: 'ns',
      uid: name,
      resourceVersion: version,
      managedFields: [{ manager: 'x' }],
    },
    data: { wanted: name, unread: 'a'.repeat(100) },
  });
  const api = await startScriptedApi(({ query }, answer) => {
    if (query.get('watch') === 'true') {
      answer.begin();
      answer.event('MODIFIED', object('a', '7'));
      answer.event('DELETED', object('b', '8'));
      return;
    }
    const [item, more] = query.get('continue') === null ? ['a', 'two'] : ['b', ''];
    answer.json({ metadata: { resourceVersion: '5', continue: more }, items: [object(item, '1')] });
  });
  const stop = new AbortController();
  const informer = createInformer<ConfigMap>(api.client, api.client.kinds.ConfigMap, {
    logger: silentLogger,
    signal: stop.signal,
    keep: ({ data, ...rest }) => ({ ...rest, data: { wanted: data?.wanted ?? '' } }),
  });
  const told: ConfigMap[] = [];
  informer.onChange((change) => told.push(change.object));
  try {
    informer.start();
    await informer.synced();
    while (told.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    const held = (name: string, version: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'ns', uid: name, resourceVersion: version },
      data: { wanted: name },
    });
    assert.deepEqual(told, [held('a', '1'), held('b', '1'), held('a', '7'), held('b', '8')]);
    assert.deepEqual(informer.list(), [held('a', '7')]);
  } finally {
    stop.abort();
    await api.close();
  }
});
