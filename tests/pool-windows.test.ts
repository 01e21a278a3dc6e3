import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AnyObject } from '../src/api/core.ts';
import type { KindRef } from '../src/api/kinds.ts';
import { shippedManifests } from '../src/install/manifests.ts';
import { uninstallObjects } from '../src/install/uninstall.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { waitFor } from '../src/kube/wait.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { run } from '../src/process/run.ts';
import { runPoolWindows, setPoolWindow } from '../src/rollout/pool-controller.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { repository } from './tier.ts';

/** The windows of MachineConfigPools against a real API, with the rights that are shipped, by a clock that is told. */

interface Pool extends AnyObject {
  spec?: { paused?: boolean; maxUnavailable?: number };
}

const group = 'machineconfiguration.openshift.io';
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `machineconfigpools.${group}` },
  spec: {
    group,
    scope: 'Cluster',
    names: {
      kind: 'MachineConfigPool',
      plural: 'machineconfigpools',
      singular: 'machineconfigpool',
      listKind: 'MachineConfigPoolList',
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { paused: { type: 'boolean' }, maxUnavailable: { type: 'integer' } },
              },
              status: { type: 'object', properties: { machineCount: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
};
const kind: KindRef<Pool> = {
  group,
  version: 'v1',
  kind: 'MachineConfigPool',
  plural: 'machineconfigpools',
  namespaced: false,
};

const windows = 'sluice.dev/windows';
const zone = 'sluice.dev/window-time-zone';
const mark = 'sluice.dev/paused-by';
const minute = 60_000;

const account = 'sluice-controller';
const accountNamespace = 'sluice-system';
const rights = shippedManifests('openshift').filter(
  ({ kind, metadata }) =>
    (kind === 'Namespace' && metadata.name === accountNamespace) ||
    (kind === 'ServiceAccount' && metadata.namespace === accountNamespace) ||
    kind === 'ClusterRole' ||
    kind === 'ClusterRoleBinding',
);

let cluster: TestCluster;
let client: KubeClient;
/** By the controller's own ServiceAccount on OpenShift, with the rights that are shipped for it. */
let controller: KubeClient;
let clock: FakeClock;
let stop = new AbortController();
let running: Promise<void> | undefined;

const start = () => {
  stop = new AbortController();
  running = runPoolWindows({ client: controller, clock, logger: silentLogger, signal: stop.signal });
};
const end = async () => {
  stop.abort();
  await running;
};

before(async () => {
  cluster = await startTestCluster({
    crds: [definition as never],
    bootstrap: rights as never,
  });
  client = cluster.client;
  const { token } = await client.createToken(accountNamespace, account);
  controller = cluster.clientWithToken(token);
  // A Saturday, half an hour before 22:00 in Berlin.
  clock = createFakeClock(Date.parse('2026-01-03T20:30:00Z'));
  start();
});
after(async () => {
  await end();
  await cluster?.close();
});

const make = (name: string, annotations: Record<string, string>, paused = false) =>
  client.create(kind, { metadata: { name, annotations }, spec: { paused, maxUnavailable: 1 } } as never);
const stands = async (name: string, paused: boolean, marked: boolean) => {
  const pool = await waitFor(
    client,
    kind,
    name,
    (each) => each?.spec?.paused === paused && (each.metadata.annotations?.[mark] !== undefined) === marked,
    {
      timeoutMs: 20_000,
      what: `${name} paused ${paused}, marked ${marked}`,
      describe: (each) => JSON.stringify(each),
    },
  );
  assert.equal(pool?.spec?.maxUnavailable, 1, 'nothing else is changed');
};
/** What the controller did because of changes until now is done when it has answered one of a pool of its own. */
let fences = 0;
const untilSeen = async () => {
  fences += 1;
  const name = `fence-${fences}`;
  await make(name, { [windows]: 'none' });
  await stands(name, true, true);
  await client.delete(kind, name);
};
const versionOf = async (name: string) => (await client.get(kind, name)).metadata.resourceVersion;
const eventsOf = async (name: string) => {
  const { items } = await client.list(client.kinds.Event, { namespace: 'default' });
  return items.filter(({ involvedObject }) => involvedObject.name === name);
};
/** Until a timer stands that ends within the time that is left, so that the clock does not run past it. */
const untilTimer = async (ms: number) => {
  for (let tries = 0; tries < 200; tries += 1) {
    if (clock.sleeping().includes(ms)) return;
    await systemClock.sleep(50);
  }
  assert.fail(`no timer of ${ms} ms: ${clock.sleeping().join()}`);
};

test('a pool is paused outside its windows and goes on inside, by timers alone; others are not touched', async () => {
  await make('plain', {});
  await make('by-a-person', { [windows]: 'Sat 22:00 1h', [zone]: 'Europe/Berlin' }, true);
  const untouched = [await versionOf('plain'), await versionOf('by-a-person')];
  await make('worker', { [windows]: 'Sat 22:00 1h', [zone]: 'Europe/Berlin' });
  await stands('worker', true, true);
  // No timer is longer than ten minutes; what is looked at in between is in memory.
  for (let left = 3; left > 0; left -= 1) {
    await untilTimer(10 * minute);
    await stands('worker', true, true);
    await clock.advance(10 * minute);
  }
  await stands('worker', false, false);
  for (let left = 6; left > 0; left -= 1) {
    await untilTimer(10 * minute);
    await clock.advance(10 * minute);
  }
  await stands('worker', true, true);
  await untilSeen();
  assert.deepEqual([await versionOf('plain'), await versionOf('by-a-person')], untouched);
  const reasons = (await eventsOf('worker')).map(({ reason }) => reason);
  assert.ok(reasons.includes('WindowOpened') && reasons.includes('WindowClosed'), reasons.join());
});

test('a person opens and closes a window; one who unpauses by hand outside is answered by a pause', async () => {
  await make('hand', { [windows]: 'none' });
  await stands('hand', true, true);
  await setPoolWindow(client, 'hand', clock.now() + 5 * minute);
  await stands('hand', false, false);
  await setPoolWindow(client, 'hand', null);
  await stands('hand', true, true);
  await setPoolWindow(client, 'hand', clock.now() + 5 * minute);
  await stands('hand', false, false);
  await untilTimer(5 * minute);
  await clock.advance(5 * minute);
  await stands('hand', true, true);
  await client.patch(kind, 'hand', { spec: { paused: false } });
  const paused = (pool: Pool | undefined) => pool?.spec?.paused === true;
  await waitFor(client, kind, 'hand', paused, { timeoutMs: 20_000 });
  await assert.rejects(setPoolWindow(client, 'plain', 1), /plain has no windows/);
  await assert.rejects(setPoolWindow(client, 'nobody', 1), /there is no MachineConfigPool nobody/);
});

test('sluice window open|close --pool', async () => {
  await make('command', { [windows]: 'none' });
  await stands('command', true, true);
  const sluice = (...words: string[]) =>
    run(join(repository, 'sluice'), ['window', ...words, '--kubeconfig', cluster.kubeconfig], {
      timeoutMs: 60_000,
    });
  const opened = await sluice('open', '--until', '1h', '--pool', 'command');
  assert.equal(opened.code, 0, opened.stderr);
  assert.match(opened.stderr, /window open on pool command until 2\d{3}-/);
  await stands('command', false, false);
  const until = '2090-01-01T04:00:00Z';
  const told = await sluice('open', '--until', until, '--pool', 'command', '-o', 'json');
  assert.deepEqual(
    (JSON.parse(told.stdout) as { pool: string; window: string; at: string }[]).map(
      ({ pool, window, at }) => [pool, window, at],
    ),
    [['command', 'open', '2090-01-01T04:00:00.000Z']],
  );
  const closed = await sluice('close', '--pool', 'machineconfigpool/command');
  assert.equal(closed.code, 0, closed.stderr);
  await stands('command', true, true);
  const refused = await sluice('open', '--until', '1h', '--pool', 'plain');
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /plain has no windows: nothing of it is closed/);
});

test('sluice window status shows the pools: their windows, until when, and who has paused them', async () => {
  await make('seen-closed', { [windows]: 'none' });
  await make('seen-held', { [windows]: 'none' }, true);
  await make('seen-words', { [windows]: 'whenever' });
  await make('seen-plain', {});
  await stands('seen-closed', true, true);
  const status = async (...words: string[]) => {
    const words_ = ['window', 'status', ...words, '--kubeconfig', cluster.kubeconfig];
    const shown = await run(join(repository, 'sluice'), words_, { timeoutMs: 60_000 });
    assert.equal(shown.code, 0, shown.stderr);
    return shown.stdout;
  };
  const rows = new Map(
    (JSON.parse(await status('-o', 'json')) as { pool: string }[]).map((row) => [row.pool, row]),
  );
  assert.deepEqual(rows.get('seen-closed'), { pool: 'seen-closed', window: 'closed', pausedBy: 'window' });
  assert.deepEqual(rows.get('seen-held'), { pool: 'seen-held', window: 'closed', pausedBy: 'person' });
  assert.deepEqual(rows.get('seen-plain'), { pool: 'seen-plain', window: 'free' });
  const at = new Date(Date.now() + 90 * minute).toISOString();
  await client.patch(kind, 'seen-closed', { metadata: { annotations: { 'sluice.dev/window-until': at } } });
  const table = await status();
  assert.match(table, /^POOL +WINDOW +CHANGES IN +PAUSED BY$/m);
  assert.match(table, /^seen-closed +open +(89|90)m/m);
  assert.match(table, /^seen-words +unreadable: .*'whenever' is no window/m);
  assert.match(await status('-o', 'name'), /^machineconfigpool\/seen-plain$/m);
});

test('who takes the mark off takes the pause over: no window lifts it', async () => {
  await make('taken', { [windows]: 'none' });
  await stands('taken', true, true);
  await client.patch(kind, 'taken', { metadata: { annotations: { [mark]: null } } });
  await setPoolWindow(client, 'taken', clock.now() + 60 * minute);
  const version = await versionOf('taken');
  await untilSeen();
  assert.equal(await versionOf('taken'), version);
});

test('words that cannot be read change nothing, and an Event says why; mended they act', async () => {
  await make('words', { [windows]: 'Sut 22:00 4h' });
  await make('zoned', { [windows]: 'none', [zone]: 'Mars/Olympus' });
  await make('closed', { [windows]: 'none' });
  await stands('closed', true, true);
  await client.patch(kind, 'closed', { metadata: { annotations: { [windows]: 'whenever' } } });
  const versions = await Promise.all(['words', 'zoned', 'closed'].map(versionOf));
  // The operator writes status all the time: that is no reason to say it again.
  await untilSeen();
  assert.deepEqual(await Promise.all(['words', 'zoned', 'closed'].map(versionOf)), versions);
  for (let count = 1; count <= 3; count += 1) {
    const pool = await client.get(kind, 'words');
    await client.updateStatus(kind, { ...pool, status: { machineCount: count } } as Pool);
    await untilSeen();
  }
  const said = async (name: string) =>
    (await eventsOf(name)).filter(({ reason }) => reason === 'WindowsUnreadable');
  const [event, ...more] = await said('words');
  assert.match(event?.message ?? '', /'Sut' is no day of the week; the pool stays as it is \(not paused\)/);
  assert.deepEqual([event?.type, event?.count, more.length], ['Warning', 1, 0]);
  assert.match(
    (await said('zoned'))[0]?.message ?? '',
    /window-time-zone: 'Mars\/Olympus' is not a time zone/,
  );
  assert.match((await said('closed'))[0]?.message ?? '', /'whenever' is no window.* \(paused\)/);
  await client.patch(kind, 'words', { metadata: { annotations: { [windows]: 'none' } } });
  await stands('words', true, true);
});

test('windows that are taken away give the pool back; so does the removal of Sluice, but for what people paused', async () => {
  await make('given', { [windows]: 'none' });
  await stands('given', true, true);
  await client.patch(kind, 'given', { metadata: { annotations: { [windows]: null } } });
  await stands('given', false, false);

  await make('last', { [windows]: 'none' });
  await stands('last', true, true);
  await end();
  await clock.advance(60 * minute);
  await stands('last', true, true); // Nobody is there: the pool stays as it was.
  await uninstallObjects(client, [], { keepData: true, dryRun: false });
  await stands('last', false, false);
  await stands('by-a-person', true, false);
  await stands('taken', true, false);
});
