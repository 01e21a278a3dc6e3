import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { annotations } from '../api/names.ts';
import type { FleetLockGroup } from '../api/resources.ts';
import { createHttpClient } from '../http/client.ts';
import { serve } from '../http/server.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { cordon, uncordon } from './drain.ts';
import { bootHeader, lockIdOf } from './identity.ts';
import { releaseHolder } from './release.ts';
import { createLockServer } from './server.ts';

const machines = ['1c09ca98649c4c7abc779cd04c96812e', '2c09ca98649c4c7abc779cd04c96812e'];

const asking = (bootID: string) => ({ 'fleet-lock-protocol': 'true', [bootHeader]: bootID });

async function setUp(t: TestContext, slots: number) {
  const cluster = await startTestCluster();
  const { client } = cluster;
  const { kinds } = client;
  const stop = new AbortController();
  const locks = createLockServer({
    client,
    metrics: createMetrics(),
    clock: systemClock,
    logger: silentLogger,
    signal: stop.signal,
  });
  const server = await serve({ address: '127.0.0.1', port: 0, handler: locks.handler });
  const draining = locks.run(stop.signal);
  const http = createHttpClient();
  t.after(async () => {
    stop.abort();
    await draining;
    await http.close();
    await server.close(0);
    await cluster.close();
  });
  await client.create(kinds.FleetLockGroup, { metadata: { name: 'default' }, spec: { slots } });
  for (const [index, machineID] of machines.entries()) {
    const node = await client.create(kinds.Node, { metadata: { name: `node-${index}` } });
    await client.updateStatus(kinds.Node, {
      ...node,
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'Ready',
            message: '',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
        nodeInfo: { machineID } as never,
      },
    });
  }
  const call = async (
    path: string,
    body: unknown,
    headers: Record<string, string> = { 'fleet-lock-protocol': 'true' },
  ) => {
    const response = await http.request({
      method: 'POST',
      url: `http://127.0.0.1:${server.port}${path}`,
      headers,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const { kind } = JSON.parse(await response.text()) as { kind?: string };
    // Who is told to ask again is told when.
    const waits = kind === 'draining' || kind === 'failed_lock_semaphore_full';
    assert.equal(response.headers['retry-after'], waits ? '1' : undefined, kind);
    return { status: response.status, kind };
  };
  const params = (id: string, group = 'default') => ({ client_params: { id, group } });
  const until = async (id: string, status: number) => {
    for (;;) {
      const answer = await call('/v1/pre-reboot', params(id));
      if (answer.status === status) return answer;
      await systemClock.sleep(50);
    }
  };
  const untilFrom = async (id: string, boot: string, status: number) => {
    while ((await call('/v1/pre-reboot', params(id), asking(boot))).status !== status)
      await systemClock.sleep(50);
  };
  return { client, kinds, call, params, until, untilFrom };
}

test('a slot is granted when the node is drained; an admin’s cordon stays (B46)', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 1);
  const [first, second] = machines.map(lockIdOf) as [string, string];
  await client.patch(kinds.Node, 'node-1', { spec: { unschedulable: false } });
  assert.deepEqual(await call('/v1/pre-reboot', params(first)), { status: 423, kind: 'draining' });
  await until(first, 200);
  const held = await client.get(kinds.Node, 'node-0');
  assert.equal(held.spec?.unschedulable, true);
  assert.ok(held.metadata.annotations?.[annotations.cordonedBy] !== undefined);
  assert.deepEqual(await call('/v1/pre-reboot', params(second)), {
    status: 423,
    kind: 'failed_lock_semaphore_full',
  });
  assert.equal(
    (await call('/v1/steady-state', params(second))).status,
    200,
    'B28: unlocking what is not held',
  );
  assert.equal((await call('/v1/steady-state', params(first))).status, 200);
  const free = await client.get(kinds.Node, 'node-0');
  assert.notEqual(free.spec?.unschedulable, true);
  assert.equal(free.metadata.annotations?.[annotations.cordonedBy], undefined);

  await client.patch(kinds.Node, 'node-1', { spec: { unschedulable: true } });
  await until(second, 200);
  await call('/v1/steady-state', params(second));
  assert.equal(
    (await client.get(kinds.Node, 'node-1')).spec?.unschedulable,
    true,
    'cordoned by hand, still cordoned',
  );
});

test('B42 many at once: exactly as many as there are slots', async (t) => {
  const { client, kinds, call, params } = await setUp(t, 5);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => call('/v1/pre-reboot', params(`client-${index}`))),
  );
  const reserved = answers.filter(({ kind }) => kind === 'draining' || kind === undefined);
  assert.equal(reserved.length, 5);
  assert.ok(answers.every(({ status }) => status === 200 || status === 423));
  const group = await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default');
  assert.equal(group.status?.holders?.length, 5);
});

test('what is not the protocol is refused', async (t) => {
  const { call, params } = await setUp(t, 1);
  assert.equal((await call('/v1/pre-reboot', params('a'), {})).kind, 'invalid_client_identity');
  assert.equal((await call('/v1/pre-reboot', 'x')).kind, 'invalid_client_identity');
  assert.equal((await call('/v1/pre-reboot', { client_params: { id: '', group: 'default' } })).status, 400);
  assert.equal((await call('/v1/pre-reboot', params('a', '../x'))).status, 400);
  assert.deepEqual(await call('/v1/pre-reboot', params('a', 'other')), {
    status: 404,
    kind: 'unknown_group',
  });
  assert.equal((await call('/v1/other', params('a'))).status, 404);
  assert.equal((await call('/v1/pre-reboot', 'x'.repeat(20_000))).status, 400);
});

test('an administrator releases a slot, and an Event says so', async (t) => {
  const { client, kinds, until } = await setUp(t, 1);
  const first = lockIdOf(machines[0] ?? '');
  await until(first, 200);
  assert.equal(await releaseHolder(client, 'default', 'node-1'), 'not-held');
  assert.equal(await releaseHolder(client, 'other', 'node-0'), 'no-group');
  assert.equal(await releaseHolder(client, 'default', 'node-0'), 'released');
  const { items } = await client.list(kinds.Event, { namespace: 'default' });
  assert.ok(items.some(({ reason, message }) => reason === 'SlotReleased' && message?.includes('node-0')));
  assert.notEqual((await client.get(kinds.Node, 'node-0')).spec?.unschedulable, true);
});

test('B52 a slot soaks until its node has stayed Ready, and the cordon is lifted at once (B26)', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 1);
  await client.patch(kinds.FleetLockGroup, 'default', { spec: { minReadySeconds: 2 } });
  const [first, second] = machines.map(lockIdOf) as [string, string];
  await until(first, 200);
  assert.equal((await call('/v1/steady-state', params(first))).status, 200);
  assert.notEqual((await client.get(kinds.Node, 'node-0')).spec?.unschedulable, true);
  const group = await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default');
  assert.equal(group.status?.holders?.[0]?.state, 'Soaking');
  assert.equal((await call('/v1/pre-reboot', params(second))).kind, 'failed_lock_semaphore_full');
  await until(second, 200);
});

test('B24 a node that left and is not back stops the group, free slots included', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 2);
  const [first, second] = machines.map(lockIdOf) as [string, string];
  await until(first, 200);
  const group = await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default');
  const holders =
    group.status?.holders?.map((holder) => ({ ...holder, since: '2026-01-01T00:00:00Z' })) ?? [];
  await client.updateStatus(kinds.FleetLockGroup, { ...group, status: { holders } });
  const node = await client.get(kinds.Node, 'node-0');
  const conditions = node.status?.conditions?.map((each) => ({ ...each, status: 'Unknown' })) ?? [];
  await client.updateStatus(kinds.Node, { ...node, status: { ...node.status, conditions } as never });
  for (;;) {
    const { kind } = await call('/v1/pre-reboot', params(second));
    if (kind === 'previous_holder_unhealthy') break;
    assert.ok(kind === 'draining' || kind === undefined, kind);
    await call('/v1/steady-state', params(second));
  }
  await releaseHolder(client, 'default', 'node-0');
  assert.notEqual((await call('/v1/pre-reboot', params(second))).kind, 'previous_holder_unhealthy');
});

test('B48 a node that somebody uncordons after its drain is drained again before it may go', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 1);
  const first = lockIdOf(machines[0] ?? '');
  await until(first, 200);
  await client.patch(kinds.Node, 'node-0', { spec: { unschedulable: null } });
  for (;;) {
    const { kind } = await call('/v1/pre-reboot', params(first));
    if (kind === 'draining') break;
    await systemClock.sleep(20);
  }
  await until(first, 200);
  assert.equal((await client.get(kinds.Node, 'node-0')).spec?.unschedulable, true);
});

test('B38 a node is known by its machine id or system UUID, dashes and case allowed', async (t) => {
  const { client, kinds, call, params } = await setUp(t, 2);
  const dashed = '2C09CA98-649C-4C7A-BC77-9CD04C96812E';
  await call('/v1/pre-reboot', params(dashed));
  const group = await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default');
  assert.equal(group.status?.holders?.[0]?.node, 'node-1');
});

test('who holds nothing lifts no cordon: a steady-state of any id leaves a drained node as it is', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 1);
  const [first, second] = machines.map(lockIdOf) as [string, string];
  await until(first, 200);
  await client.patch(kinds.FleetLockGroup, 'default', { spec: { slots: 2 } });
  await client.create(kinds.FleetLockGroup, { metadata: { name: 'other' }, spec: { slots: 1 } });
  for (const answer of [
    await call('/v1/steady-state', params(second)),
    await call('/v1/steady-state', params(first, 'other')),
    await call('/v1/steady-state', params(first, 'unknown')),
  ]) {
    assert.equal(answer.status, 200, 'UnlockIfHeld');
  }
  assert.equal((await client.get(kinds.Node, 'node-0')).spec?.unschedulable, true, 'it still holds its slot');
});

test('B46 a cordon of ours whose slot is gone is lifted, whatever was cut short; another’s stays', async (t) => {
  const { client, kinds, until } = await setUp(t, 1);
  const first = lockIdOf(machines[0] ?? '');
  await until(first, 200);
  await client.patch(kinds.Node, 'node-1', { spec: { unschedulable: true } });
  const group = await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default');
  await client.updateStatus(kinds.FleetLockGroup, { ...group, status: { holders: [] } });
  while ((await client.get(kinds.Node, 'node-0')).spec?.unschedulable === true) await systemClock.sleep(50);
  assert.equal((await client.get(kinds.Node, 'node-1')).spec?.unschedulable, true);
});

test('a grant and a return leave Events on the group', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 1);
  const first = lockIdOf(machines[0] ?? '');
  await until(first, 200);
  await until(first, 200);
  await call('/v1/steady-state', params(first));
  await call('/v1/steady-state', params(first));
  const events = async () =>
    (await client.list(kinds.Event, { namespace: 'default' })).items
      .filter(({ involvedObject }) => involvedObject.kind === 'FleetLockGroup')
      .map(({ reason, message, count }) => ({ reason, message, count }));
  while ((await events()).length < 2) await systemClock.sleep(50);
  const told = await events();
  assert.deepEqual(told.map(({ reason }) => reason).sort(), ['SlotGranted', 'SlotReturned']);
  for (const { message, count } of told) {
    assert.match(message ?? '', /node-0/);
    assert.equal(count, 1, 'asking again is no news');
  }
});

test('two hosts with one id: the second gets no slot while the first is away, and an Event says so', async (t) => {
  const { client, kinds, call, params, until, untilFrom } = await setUp(t, 2);
  const first = lockIdOf(machines[0] ?? '');
  await untilFrom(first, 'boot-a', 200);
  assert.equal(
    (await call('/v1/pre-reboot', params(first), asking('boot-b'))).status,
    200,
    'the same host, rebooted',
  );
  const group = await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default');
  const elsewhere = (group.status?.holders ?? []).map((holder) => ({ ...holder, address: '10.1.2.3' }));
  await client.updateStatus(kinds.FleetLockGroup, { ...group, status: { holders: elsewhere } });
  assert.equal(
    (await call('/v1/pre-reboot', params(first), asking('boot-b'))).status,
    200,
    'the same boot, a new lease',
  );
  await client.updateStatus(kinds.FleetLockGroup, {
    ...(await client.get<FleetLockGroup>(kinds.FleetLockGroup, 'default')),
    status: { holders: elsewhere },
  });
  assert.deepEqual(await call('/v1/pre-reboot', params(first), asking('boot-c')), {
    status: 409,
    kind: 'duplicate_id',
  });
  while (
    !(await client.list(kinds.Event, { namespace: 'default' })).items.some(
      ({ reason }) => reason === 'DuplicateId',
    )
  )
    await systemClock.sleep(50);
  assert.equal((await call('/v1/steady-state', params(first), asking('boot-c'))).status, 200);
  await until(first, 200);
});

test('B44 only where an administrator says so does a node go undrained, and an Event says which', async (t) => {
  const { client, kinds, call, params, until } = await setUp(t, 2);
  const [first, second] = machines.map(lockIdOf) as [string, string];
  await client.create(kinds.Pod, {
    metadata: {
      name: 'stays',
      namespace: 'default',
      labels: { app: 'stays' },
      finalizers: ['example.com/stays'],
    },
    spec: { nodeName: 'node-0', containers: [{ name: 'a', image: 'a' }] },
  } as never);
  assert.equal((await call('/v1/pre-reboot', params(first))).kind, 'draining');
  await systemClock.sleep(500);
  assert.equal((await call('/v1/pre-reboot', params(first))).kind, 'draining', 'the default waits for ever');
  await client.patch(kinds.FleetLockGroup, 'default', {
    spec: { drain: 'BestEffort', drainTimeoutSeconds: 1 },
  });
  await until(first, 200);
  while (
    !(await client.list(kinds.Event, { namespace: 'default' })).items.some(
      ({ reason }) => reason === 'GrantedUndrained',
    )
  )
    await systemClock.sleep(50);
  await client.patch(kinds.FleetLockGroup, 'default', { spec: { drain: 'None' } });
  assert.equal((await call('/v1/pre-reboot', params(second))).status, 200, 'at once');
  assert.notEqual((await client.get(kinds.Node, 'node-1')).spec?.unschedulable, true, 'not even cordoned');
  await client.patch(kinds.Pod, 'stays', { metadata: { finalizers: null } }, { namespace: 'default' });
});

test('B46 an administrator’s cordon that comes in the very moment of ours stays his', async (t) => {
  const { client, kinds } = await setUp(t, 1);
  let raced = false;
  const racing = {
    ...client,
    kinds,
    tryGet: async (...words: Parameters<typeof client.tryGet>) => {
      const found = await client.tryGet(...words);
      if (!raced) {
        raced = true;
        await client.patch(kinds.Node, 'node-0', { spec: { unschedulable: true } });
      }
      return found;
    },
  } as typeof client;
  await cordon(racing, 'node-0');
  const node = await client.get(kinds.Node, 'node-0');
  assert.equal(node.spec?.unschedulable, true);
  assert.equal(node.metadata.annotations?.[annotations.cordonedBy], undefined);
  await uncordon(client, 'node-0');
  assert.equal((await client.get(kinds.Node, 'node-0')).spec?.unschedulable, true);
});
