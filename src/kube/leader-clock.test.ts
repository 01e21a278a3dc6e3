import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, type FakeClock, settle } from '../../tests/fake-clock.ts';
import type { Lease } from '../api/core.ts';
import { kindTable } from '../api/kinds.ts';
import { silentLogger } from '../observe/log.ts';
import { ApiError } from './error.ts';
import { type LeaderElectionOptions, runWithLeaderElection } from './leader.ts';

/** One lease in memory, as far as candidates see of an API: versions, conflicts, and what hangs. */
function leaseOf(standing?: Lease) {
  const kinds = kindTable('standalone');
  const state = { lease: standing, hangs: false };
  let version = 0;
  const written = (lease: Lease): Lease => {
    version += 1;
    state.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    return state.lease;
  };
  const reach = async () => {
    await (state.hangs ? new Promise(() => {}) : undefined);
  };
  const client = {
    kinds,
    tryGet: async () => {
      await reach();
      return structuredClone(state.lease);
    },
    create: async (_: unknown, lease: Lease) => {
      await reach();
      if (state.lease !== undefined) throw new ApiError(409, 'AlreadyExists', 'exists');
      return written(lease);
    },
    update: async (_: unknown, lease: Lease) => {
      await reach();
      if (lease.metadata.resourceVersion !== state.lease?.metadata.resourceVersion) {
        throw new ApiError(409, 'Conflict', 'changed');
      }
      return written(lease);
    },
  } as unknown as LeaderElectionOptions['client'];
  return { client, state };
}

function candidate(identity: string, client: LeaderElectionOptions['client'], clock: FakeClock) {
  const stop = new AbortController();
  const state = { leads: false, outcome: undefined as { lost: boolean } | undefined };
  void runWithLeaderElection({
    client,
    leaseName: 'l',
    namespace: 'n',
    identity,
    signal: stop.signal,
    logger: silentLogger,
    clock,
    async run(signal) {
      state.leads = true;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      state.leads = false;
    },
  }).then((outcome) => {
    state.outcome = outcome;
  });
  return { stop, state };
}

const hourMs = 3_600_000;

for (const jumpMs of [hourMs, -hourMs]) {
  const set = jumpMs > 0 ? 'forward' : 'back';

  test(`a clock that is set ${set} moves no lease`, async () => {
    const clock = createFakeClock();
    const { client } = leaseOf();
    const first = candidate('first', client, clock);
    await settle();
    const second = candidate('second', client, clock);
    await clock.advance(5_000);
    assert.ok(first.state.leads);
    clock.jump(jumpMs);
    for (let second = 0; second < 60; second += 1) await clock.advance(1_000);
    assert.ok(first.state.leads);
    assert.ok(!second.state.leads);
    first.stop.abort();
    await clock.advance(3_000);
    assert.ok(second.state.leads, 'it was given back');
    second.stop.abort();
    await settle();
  });

  test(`whoever is cut off stops in time, and another takes over, though clocks are set ${set}`, async () => {
    const clock = createFakeClock();
    const { client, state } = leaseOf();
    const cut = leaseOf();
    const first = candidate(
      'first',
      {
        ...client,
        tryGet: (...args) => (cut.state.hangs ? new Promise(() => {}) : client.tryGet(...args)),
      },
      clock,
    );
    await settle();
    const second = candidate('second', client, clock);
    await clock.advance(4_000);
    cut.state.hangs = true;
    clock.jump(jumpMs);
    const order: string[] = [];
    for (let passed = 0; passed < 30 && !second.state.leads; passed += 1) {
      await clock.advance(1_000);
      if (!first.state.leads && order.length === 0) order.push(`first ends after ${passed + 1} s`);
    }
    assert.equal(order.length, 1, 'the first had ended when the second began');
    assert.ok(second.state.leads);
    assert.deepEqual(first.state.outcome, { lost: true });
    assert.equal(state.lease?.spec?.holderIdentity, 'second');
    second.stop.abort();
    await settle();
  });
}

test('whoever was stopped for a while, and finds the lease with another, stops at once', async () => {
  const clock = createFakeClock();
  const { client, state } = leaseOf();
  const first = candidate('first', client, clock);
  await clock.advance(2_500);
  assert.ok(first.state.leads);
  assert.ok(state.lease?.spec);
  state.lease = {
    ...state.lease,
    spec: { ...state.lease.spec, holderIdentity: 'second' },
    metadata: { ...state.lease.metadata, resourceVersion: '99' },
  };
  await clock.advance(2_000);
  assert.ok(!first.state.leads);
  assert.deepEqual(first.state.outcome, { lost: true });
  assert.equal(state.lease.spec?.holderIdentity, 'second', 'it is not given back by who does not have it');
});

test('a lease of a holder whose clock is years away is neither taken early nor left for ever', async () => {
  const clock = createFakeClock();
  const { client } = leaseOf({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'l', namespace: 'n', resourceVersion: '0' },
    spec: { holderIdentity: 'gone', leaseDurationSeconds: 15, renewTime: '2099-01-01T00:00:00.000000Z' },
  });
  const one = candidate('one', client, clock);
  await clock.advance(13_000);
  assert.ok(!one.state.leads);
  await clock.advance(4_000);
  assert.ok(one.state.leads);
  one.stop.abort();
  await settle();
});
