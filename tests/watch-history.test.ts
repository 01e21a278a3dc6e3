import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createKubeClient, type KubeClient } from '../src/kube/client.ts';
import { isConflict, isNotFound } from '../src/kube/error.ts';
import { createInformer } from '../src/kube/informer.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { silentLogger } from '../src/observe/log.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { checkHistory, type RecordedEvent, recorded } from './watch-history.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A way to the API that can be cut at any byte. */
async function startCuttable(t: TestContext, port: number): Promise<{ port: number; cut(): void }> {
  const pairs = new Set<readonly [Socket, Socket]>();
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
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, cut };
}

/** Writes to few objects until told to stop; keeps the versions that were acknowledged. */
async function write(
  client: KubeClient,
  namespace: string,
  writer: number,
  goesOn: () => boolean,
  versions: Set<number>,
): Promise<void> {
  const { ConfigMap } = client.kinds;
  for (let n = 0; goesOn(); n += 1) {
    const metadata = { name: `c${(writer * 7 + n * 3) % 9}`, namespace };
    try {
      const standing = await client.tryGet(ConfigMap, metadata.name, namespace);
      if (standing === undefined) {
        versions.add(Number((await client.create(ConfigMap, { metadata })).metadata.resourceVersion));
      } else if (n % 4 === 3) await client.delete(ConfigMap, metadata.name, { namespace });
      else {
        const changed = await client.update(ConfigMap, { ...standing, data: { by: `${writer}-${n}` } });
        versions.add(Number(changed.metadata.resourceVersion));
      }
    } catch (error) {
      // Another writer was first, or the server is being started again.
      if (!isConflict(error) && !isNotFound(error)) await sleep(20);
    }
  }
}

async function record(
  client: KubeClient,
  namespace: string,
  from: string,
  history: RecordedEvent[],
  signal: AbortSignal,
) {
  let resourceVersion = from;
  while (!signal.aborted) {
    try {
      for await (const event of client.watch(client.kinds.ConfigMap, {
        namespace,
        resourceVersion,
        signal,
      })) {
        resourceVersion =
          event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? '');
        const one = recorded(event);
        if (one !== undefined) history.push(one);
      }
    } catch {
      await sleep(5);
    }
  }
}

test('histories of watches that are cut, through restarts, are ordered, unique and complete', async (t) => {
  const cluster: TestCluster = await startTestCluster();
  t.after(() => cluster.close());
  const way = await startCuttable(t, cluster.port);
  const { tls } = loadKubeconfig(cluster.kubeconfig);
  const through = createKubeClient({ server: `https://127.0.0.1:${way.port}`, tls, platform: 'standalone' });
  t.after(() => through.close());
  const { client } = cluster;
  const { ConfigMap } = client.kinds;
  const namespace = 'history';
  await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
  const { resourceVersion } = await client.list(ConfigMap, { namespace });
  const stop = new AbortController();
  let writing = true;
  t.after(() => {
    writing = false;
    stop.abort();
  });
  const histories: RecordedEvent[][] = [[], [], []];
  const recorders = histories.map((history, at) =>
    record(at === 0 ? client : through, namespace, resourceVersion, history, stop.signal),
  );
  const informer = createInformer(through, ConfigMap, {
    namespace,
    logger: silentLogger,
    signal: stop.signal,
    random: () => 0,
  });
  const told: string[] = [];
  informer.onChange(({ type, object }) =>
    told.push(`${type} ${object.metadata.name} ${object.metadata.uid}`),
  );
  informer.start();

  const acknowledged = new Set<number>();
  const writers = [0, 1, 2].map((writer) => write(client, namespace, writer, () => writing, acknowledged));
  // Faults go on until enough was written among them, however slow the machine is.
  for (let fault = 0; fault < 12 || acknowledged.size < 60; fault += 1) {
    assert.ok(fault < 300, `${acknowledged.size} writes only`);
    await sleep(60 + (fault % 12) * 7);
    if (fault < 12 && fault % 5 === 4) await cluster.restart();
    else way.cut();
  }
  writing = false;
  await Promise.all(writers);
  // The last event that everyone must have seen.
  const end = await client.create(ConfigMap, { metadata: { name: 'end', namespace } });
  acknowledged.add(Number(end.metadata.resourceVersion));
  for (const seen of [
    () => informer.get('end', namespace) !== undefined,
    ...histories.map((one) => () => one.at(-1)?.key === `${namespace}/end`),
  ]) {
    for (let tries = 0; !seen(); tries += 1) {
      assert.ok(tries < 1000, 'the end was not seen');
      await sleep(20);
    }
  }
  stop.abort();
  await Promise.all(recorders);
  const standing = (await client.list(ConfigMap, { namespace })).items.map(
    ({ metadata }) => `${namespace}/${metadata.name}`,
  );
  for (const history of histories) {
    assert.deepEqual([...checkHistory(history, acknowledged)].sort(), [...standing].sort());
    assert.deepEqual(history, histories[0], 'two watches tell different histories');
  }
  assert.deepEqual(
    informer
      .list()
      .map((object) => `${namespace}/${object.metadata.name}`)
      .sort(),
    [...standing].sort(),
  );
  checkTold(told);
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
  const added = event('ADDED', 1);
  assert.deepEqual([...checkHistory([added, event('MODIFIED', 2)], new Set([1, 2]))], ['n/a']);
  const wrong: readonly [RecordedEvent[], RegExp][] = [
    [[event('ADDED', 2), event('MODIFIED', 1)], /not ordered/],
    [[added, added], /not ordered/],
    [[added, event('ADDED', 2)], /added twice/],
    [[event('MODIFIED', 1)], /not of the object/],
    [[added, event('DELETED', 2), event('DELETED', 3)], /not of the object/],
    [[added, event('MODIFIED', 2, 'other')], /not of the object/],
  ];
  for (const [history, message] of wrong) assert.throws(() => checkHistory(history, new Set()), message);
  assert.throws(() => checkHistory([added], new Set([1, 2])), /not complete: 2/);
});
