import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../src/api/core.ts';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { isConflict, isExpired, isNotFound } from '../src/kube/error.ts';
import { createInformer } from '../src/kube/informer.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { silentLogger } from '../src/observe/log.ts';
import { startTestCluster, type TestCluster, type TestClusterOptions } from './cluster.ts';
import {
  checkHistory,
  type Recorded,
  type RecordedEvent,
  type RecordedList,
  recorded,
  recordedList,
  standingAt,
} from './watch-history.ts';

const namespace = 'history';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Way {
  readonly port: number;
  /** Cuts every connection that stands, at whatever byte. */
  cut(): void;
  /** Lets nobody through, in either direction, without a word. */
  hold(): void;
  release(): void;
}

/** A way to the API that can be cut or held up. */
async function startWay(t: TestContext, port: number): Promise<Way> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let held = false;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        pairs.delete(pair);
      });
    }
    near.pipe(far).pipe(near);
    if (held) for (const socket of pair) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const each = (act: (socket: Socket) => void) => {
    for (const pair of pairs) for (const socket of pair) act(socket);
  };
  const way = {
    port: (server.address() as { port: number }).port,
    cut: () => each((socket) => socket.destroy()),
    hold() {
      held = true;
      each((socket) => socket.pause());
    },
    release() {
      held = false;
      each((socket) => socket.resume());
    },
  };
  t.after(() => {
    way.cut();
    server.close();
  });
  return way;
}

/** Writes to few objects until told to stop; keeps the versions that were acknowledged, and of which key. */
async function write(
  client: KubeClient,
  writer: number,
  goesOn: () => boolean,
  versions: Map<number, string>,
): Promise<void> {
  const { ConfigMap } = client.kinds;
  for (let n = 0; goesOn(); n += 1) {
    const metadata = { name: `c${(writer * 7 + n * 3) % 9}`, namespace };
    const acknowledged = (written: KubeObject) =>
      versions.set(Number(written.metadata.resourceVersion), `${namespace}/${metadata.name}`);
    try {
      const standing = await client.tryGet(ConfigMap, metadata.name, namespace);
      if (standing === undefined) acknowledged(await client.create(ConfigMap, { metadata }));
      else if (n % 4 === 3) await client.delete(ConfigMap, metadata.name, { namespace });
      else acknowledged(await client.update(ConfigMap, { ...standing, data: { by: `${writer}-${n}` } }));
    } catch (error) {
      // Another writer was first, or the server is being started again.
      if (!isConflict(error) && !isNotFound(error)) await sleep(20);
    }
  }
}

/** Follows from a version as an informer does: from where it was, and by a new list where that is gone. */
async function record(
  client: KubeClient,
  from: string,
  history: Recorded[],
  signal: AbortSignal,
): Promise<void> {
  const { ConfigMap } = client.kinds;
  let resourceVersion = from;
  while (!signal.aborted) {
    try {
      for await (const event of client.watch(ConfigMap, { namespace, resourceVersion, signal })) {
        resourceVersion =
          event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? '');
        const one = recorded(event);
        if (one !== undefined) history.push(one);
      }
    } catch (error) {
      if (!isExpired(error)) await sleep(5);
      else {
        const list = await client.list(ConfigMap, { namespace, signal }).catch(() => undefined);
        if (list === undefined) continue;
        history.push(recordedList(list));
        resourceVersion = list.resourceVersion;
      }
    }
  }
}

interface Scene {
  readonly cluster: TestCluster;
  readonly way: Way;
  /** One directly, two and an informer over the way. */
  readonly histories: Recorded[][];
  readonly acknowledged: Map<number, string>;
  /** Ends the writing, waits until everyone has seen the end, and checks the histories and what the informer told. */
  settle(): Promise<void>;
}

/** Three writers, three watches and an informer on one API. */
async function begin(t: TestContext, options: TestClusterOptions): Promise<Scene> {
  const cluster = await startTestCluster(options);
  t.after(() => cluster.close());
  const way = await startWay(t, cluster.port);
  const { tls } = loadKubeconfig(cluster.kubeconfig);
  const through = createKubeClient({ server: `https://127.0.0.1:${way.port}`, tls, platform: 'standalone' });
  t.after(() => through.close());
  const { client } = cluster;
  const { ConfigMap } = client.kinds;
  await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
  const { resourceVersion } = await client.list(ConfigMap, { namespace });
  const stop = new AbortController();
  let writing = true;
  t.after(() => {
    writing = false;
    stop.abort();
  });
  const histories: Recorded[][] = [[], [], []];
  const recorders = histories.map((history, at) =>
    record(at === 0 ? client : through, resourceVersion, history, stop.signal),
  );
  const { signal } = stop;
  const informer = createInformer(through, ConfigMap, {
    namespace,
    logger: silentLogger,
    signal,
    random: () => 0,
  });
  const told: string[] = [];
  informer.onChange(({ type, object }) =>
    told.push(`${type} ${object.metadata.name} ${object.metadata.uid}`),
  );
  informer.start();
  const acknowledged = new Map<number, string>();
  const writers = [0, 1, 2].map((writer) => write(client, writer, () => writing, acknowledged));
  const keysOf = (objects: readonly KubeObject[]) =>
    objects.map(({ metadata }) => `${namespace}/${metadata.name}`).sort();

  async function settle(): Promise<void> {
    writing = false;
    await Promise.all(writers);
    const end = await client.create(ConfigMap, { metadata: { name: 'end', namespace } });
    const key = `${namespace}/end`;
    acknowledged.set(Number(end.metadata.resourceVersion), key);
    const hasEnd = (one: Recorded | undefined) =>
      one?.type === 'LISTED' ? one.objects.some((object) => object.key === key) : one?.key === key;
    for (const seen of [
      () => informer.get('end', namespace) !== undefined,
      ...histories.map((one) => () => hasEnd(one.at(-1))),
    ]) {
      for (let tries = 0; !seen(); tries += 1) {
        assert.ok(tries < 1000, 'the end was not seen');
        await sleep(20);
      }
    }
    stop.abort();
    await Promise.all(recorders);
    const standing = keysOf((await client.list(ConfigMap, { namespace })).items);
    for (const history of histories)
      assert.deepEqual([...checkHistory(history, acknowledged)].sort(), standing);
    assert.deepEqual(keysOf(informer.list()), standing);
    checkTold(told);
  }
  return { cluster, way, histories, acknowledged, settle };
}

test('histories of watches that are cut, through restarts, are ordered, unique and complete', async (t) => {
  const { cluster, way, histories, acknowledged, settle } = await begin(t, {});
  // Faults go on until enough was written among them, however slow the machine is.
  for (let fault = 0; fault < 12 || acknowledged.size < 60; fault += 1) {
    assert.ok(fault < 300, `${acknowledged.size} writes only`);
    await sleep(60 + (fault % 12) * 7);
    if (fault < 12 && fault % 5 === 4) await cluster.restart();
    else way.cut();
  }
  await settle();
  for (const history of histories) {
    assert.deepEqual(history, histories[0], 'two watches tell different histories');
  }
});

test('whoever was away while the history was compacted lists again, and has missed nothing', async (t) => {
  const historyMs = 300;
  const { way, histories, acknowledged, settle } = await begin(t, { historyMs });
  const [whole, ...others] = histories as [RecordedEvent[], ...Recorded[][]];
  const relists = (history: readonly Recorded[]) => history.filter(({ type }) => type === 'LISTED').length;
  for (let fault = 0; others.some((one) => relists(one) < 2) || acknowledged.size < 60; fault += 1) {
    assert.ok(fault < 100, `${acknowledged.size} writes, ${others.map(relists)} lists only`);
    // Held up, then cut: what had been sent already is lost on the way.
    way.hold();
    await sleep(3 * historyMs);
    way.cut();
    way.release();
    await sleep(300);
  }
  await settle();
  assert.equal(relists(whole), 0, 'a watch that stands never expires');
  for (const history of others) {
    for (const one of history) {
      if (one.type !== 'LISTED') {
        assert.ok(
          whole.some((event) => isDeepStrictEqual(event, one)),
          `nobody else saw ${JSON.stringify(one)}`,
        );
        continue;
      }
      const objects = [...one.objects].sort((a, b) => (a.key < b.key ? -1 : 1));
      assert.deepEqual(objects, standingAt(whole, one.version), `the list at ${one.version}`);
    }
  }
});

test('a watch that is read slowly is held up, not cut short, and loses nothing', async (t) => {
  const { way, histories, acknowledged, settle } = await begin(t, {});
  for (let pause = 0; pause < 6 || acknowledged.size < 60; pause += 1) {
    assert.ok(pause < 100, `${acknowledged.size} writes only`);
    way.hold();
    await sleep(150);
    way.release();
    await sleep(20);
  }
  await settle();
  for (const history of histories) assert.deepEqual(history, histories[0]);
});

/** What an informer tells: each object is added once, then changes, then ends at most once. */
function checkTold(told: readonly string[]): void {
  const standing = new Map<string, string>();
  for (const one of told) {
    const [type, name = '', uid = ''] = one.split(' ');
    if (type === 'added') {
      assert.equal(standing.get(name), undefined, `added twice: ${one}`);
      standing.set(name, uid);
      continue;
    }
    assert.equal(standing.get(name), uid, `not of the object that stands: ${one}`);
    if (type === 'deleted') standing.delete(name);
  }
}

test('the checker finds what is out of order, twice, missing or impossible', () => {
  const event = (type: RecordedEvent['type'], version: number, uid = 'u'): RecordedEvent => ({
    type,
    key: 'n/a',
    uid,
    version,
  });
  const list = (version: number, ...objects: number[]): RecordedList => ({
    type: 'LISTED',
    version,
    objects: objects.map((at) => ({ key: 'n/a', uid: 'u', version: at })),
  });
  const written = (...versions: number[]) => new Map(versions.map((version) => [version, 'n/a']));
  const added = event('ADDED', 1);
  assert.deepEqual([...checkHistory([added, event('MODIFIED', 2)], written(1, 2))], ['n/a']);
  assert.deepEqual(
    [...checkHistory([added, list(5, 4), event('MODIFIED', 6)], written(1, 2, 4, 6))],
    ['n/a'],
  );
  assert.deepEqual([...checkHistory([added, list(5)], written(1, 2, 4))], []);
  const wrong: readonly [Recorded[], RegExp][] = [
    [[event('ADDED', 2), event('MODIFIED', 1)], /not ordered/],
    [[added, added], /not ordered, or twice/],
    [[added, event('ADDED', 2)], /added twice/],
    [[event('MODIFIED', 1)], /not of the object/],
    [[added, event('DELETED', 2), event('DELETED', 3)], /not of the object/],
    [[added, event('MODIFIED', 2, 'other')], /not of the object/],
    [[event('ADDED', 9), list(5, 4)], /not ordered/],
    [[added, list(5, 5), event('MODIFIED', 5)], /not ordered, or twice/],
    [[added, list(5, 5), event('ADDED', 6)], /added twice/],
    [[added, list(5, 4, 4)], /listed twice/],
    [[added, list(5, 6)], /from the future/],
    [[event('ADDED', 3), list(5, 2)], /older than it was/],
  ];
  for (const [history, message] of wrong) assert.throws(() => checkHistory(history, new Map()), message);
  assert.throws(() => checkHistory([added], written(1, 2)), /not complete: 2/);
  assert.throws(() => checkHistory([added, list(5, 2)], written(1, 4)), /not complete: n\/a was 4/);
  assert.deepEqual(standingAt([added, event('MODIFIED', 2), event('DELETED', 3)], 2), [
    { key: 'n/a', uid: 'u', version: 2 },
  ]);
});
