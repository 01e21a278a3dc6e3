import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import type { Lease } from '../api/core.ts';
import { SluiceError } from '../errors/error.ts';
import { silentLogger } from '../observe/log.ts';
import { type LeaderElectionOptions, mayTakeLease, runWithLeaderElection } from './leader.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await startTestCluster();
});
after(() => cluster.close());

const timing = { leaseMs: 1000, renewDeadlineMs: 600, retryMs: 100 };

function lease(spec: Lease['spec']): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'l', namespace: 'n' },
    ...(spec && { spec }),
  };
}

test("a lease may be taken when it is nobody's, ours, or its holder is silent by our own clock", () => {
  const held = lease({ holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: 't1' });
  const seen = (seenMs: number, renewTime = 't1', holder = 'other') => ({ renewTime, holder, seenMs });
  const cases: [Lease, Parameters<typeof mayTakeLease>[1], number, boolean][] = [
    [lease(undefined), undefined, 0, true],
    [lease({ holderIdentity: '' }), undefined, 0, true],
    [lease({ holderIdentity: 'me', leaseDurationSeconds: 15 }), undefined, 0, true],
    [held, undefined, 1e12, false], // Its renewTime may be long ago by the holder's clock: that says nothing.
    [held, seen(0), 14_999, false],
    [held, seen(0), 15_000, true],
    [held, seen(0, 't0'), 99_000, false], // It was renewed meanwhile.
    [held, seen(0, 't1', 'third'), 99_000, false],
  ];
  for (const [standing, sight, nowMs, expected] of cases) {
    assert.equal(
      mayTakeLease(standing, sight, 'me', nowMs),
      expected,
      JSON.stringify([standing.spec, sight, nowMs]),
    );
  }
});

/** A candidate that leads until its signal aborts, and says so. */
function candidate(
  identity: string,
  leaseName: string,
  client: LeaderElectionOptions['client'] = cluster.client,
) {
  const stop = new AbortController();
  const said: string[] = [];
  let leads = () => {};
  let ends = () => {};
  const leading = new Promise<void>((resolve) => {
    leads = resolve;
  });
  const ended = new Promise<void>((resolve) => {
    ends = resolve;
  });
  const running = runWithLeaderElection({
    client,
    leaseName,
    namespace: 'kube-system',
    identity,
    signal: stop.signal,
    logger: silentLogger,
    timing,
    async run(signal) {
      said.push('leads');
      leads();
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      said.push('ends');
      ends();
    },
  });
  return { stop, said, leading, ended, running };
}

test('one leads; when it is told to stop it gives the lease back and the next leads', async () => {
  const first = candidate('first', 'handover');
  await first.leading;
  const second = candidate('second', 'handover');
  first.stop.abort();
  assert.deepEqual(await first.running, { lost: false });
  await second.leading;
  const standing = await cluster.client.get(cluster.client.kinds.Lease, 'handover', 'kube-system');
  assert.equal(standing.spec?.holderIdentity, 'second');
  assert.match(standing.spec?.renewTime ?? '', /\.\d{6}Z$/);
  second.stop.abort();
  await second.running;
});

test('who cannot renew stops working before another one leads', async () => {
  let cut = false;
  const { client } = cluster;
  const guard = () => {
    if (cut) throw new SluiceError('Unreachable', 'cut off');
  };
  const cutOff: LeaderElectionOptions['client'] = {
    kinds: client.kinds,
    list: client.list,
    watch: client.watch,
    tryGet: async (...args) => {
      guard();
      return await client.tryGet(...args);
    },
    create: async (...args) => {
      guard();
      return await client.create(...args);
    },
    update: async (...args) => {
      guard();
      return await client.update(...args);
    },
  };
  const first = candidate('first', 'cut-off', cutOff);
  await first.leading;
  const second = candidate('second', 'cut-off');
  cut = true;
  const order: string[] = [];
  await Promise.all([
    first.ended.then(() => order.push('first ends')),
    second.leading.then(() => order.push('second leads')),
  ]);
  assert.deepEqual(order, ['first ends', 'second leads']);
  assert.deepEqual(await first.running, { lost: true });
  second.stop.abort();
  await second.running;
});

test('work that goes on after its lease was lost is not waited for', async () => {
  const { client } = cluster;
  let cut = false;
  const stop = new AbortController();
  const running = runWithLeaderElection({
    client: {
      ...client,
      tryGet: async (...args) => {
        if (cut) throw new SluiceError('Unreachable', 'cut off');
        return await client.tryGet(...args);
      },
    },
    leaseName: 'stuck',
    namespace: 'kube-system',
    identity: 'x',
    signal: stop.signal,
    logger: silentLogger,
    timing,
    run: () => {
      cut = true;
      return new Promise(() => {});
    },
  });
  assert.deepEqual(await running, { lost: true });
});

test('of two that come at once exactly one leads', async () => {
  const both = [candidate('a', 'race'), candidate('b', 'race')];
  await Promise.race(both.map((one) => one.leading));
  const standing = await cluster.client.get(cluster.client.kinds.Lease, 'race', 'kube-system');
  assert.equal(both.filter((one) => one.said.includes('leads')).length, 1);
  assert.ok(['a', 'b'].includes(standing.spec?.holderIdentity ?? ''));
  for (const one of both) one.stop.abort();
  await Promise.all(both.map((one) => one.running));
});

test('work that fails ends the election with its error', async () => {
  const stop = new AbortController();
  await assert.rejects(
    runWithLeaderElection({
      client: cluster.client,
      leaseName: 'fails',
      namespace: 'kube-system',
      identity: 'x',
      signal: stop.signal,
      logger: silentLogger,
      timing,
      run: () => Promise.reject(new Error('defect')),
    }),
    /defect/,
  );
});
