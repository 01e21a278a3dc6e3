import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SluiceError } from '../errors/error.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import type { Digest } from '../oci/digest.ts';
import { createFinalizationAgent, type Desired } from './agent.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import { markerPathIn, writeMarker } from './marker.ts';
import { createAgentMetrics } from './metrics.ts';
import type { AgentReport } from './report.ts';
import { bootSimulated, installSimulated, simulatedDriver } from './simulated.ts';
import { transitions } from './states.ts';
import type { Users } from './users.ts';

/** A variable as configuration writes it. */
const named = (name: string) => ['$', '{', name, '}'].join('');

const v1: Digest = `sha256:${'1'.repeat(64)}`;
const v2: Digest = `sha256:${'2'.repeat(64)}`;
const soon = () => Math.floor(Date.now() / 1000) + 3600;

/** One node with a directory of its own; each boot is a new agent. */
async function createNode(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-agent-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const marker = join(dir, 'marker');
  const config = join(dir, 'config.d');
  await mkdir(marker);
  await mkdir(config);
  await installSimulated(dir, { image: `os@${v1}`, digest: v1, version: '1.0.0' });
  const rule = (strategies: string) =>
    writeFile(
      join(config, '50.toml'),
      `[updates]\nstrategy = ${strategies}\n[updates.marker_file]\npath = "${markerPathIn(marker)}"\n[updates.fleet_lock]\nbase_url = "http://lock/"`,
    );
  await rule('["marker_file", "fleet_lock"]');
  /** Without what a new node gives back in case an agent before it left a slot. */
  const calls: string[] = [];
  let answer: LockAnswer = { kind: 'granted' };
  let unlockAnswer: LockAnswer = { kind: 'granted' };
  const asked: LockRequest[] = [];
  const warned: string[] = [];
  const log: string[] = [];
  let users: Users = { kind: 'none' };
  let finalized: 'reboots' | 'nothing' | 'refused' | 'unanswered' = 'reboots';
  /** States whose report cannot be delivered. */
  let deaf: readonly string[] = [];
  let clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 300), signal),
  };
  let desired: Desired = { image: `os@${v2}`, digest: v2 };
  /** Runs one boot until the node reboots or `enough` says so. */
  const told = createMetrics();
  const metrics = createAgentMetrics(told);
  async function boot(bootID: string, enough: (report: AgentReport) => boolean = () => false) {
    await bootSimulated(dir, bootID);
    const stop = new AbortController();
    let last: AgentReport | undefined;
    const simulated = simulatedDriver({
      dir,
      pull: async () => ({ version: '1.1.0' }),
      reboot: () => {
        calls.push('reboot');
        stop.abort();
      },
    });
    const agent = createFinalizationAgent({
      stateFile: join(dir, 'finalize.json'),
      configDirectories: [config],
      bootID,
      lockId: 'node-a',
      driver: {
        ...simulated,
        finalize: async (digest) => {
          if (finalized === 'refused')
            throw new SluiceError('Blocked', 'Reboot blocked by a systemd inhibitor lock');
          if (finalized === 'reboots') return await simulated.finalize(digest);
          calls.push('finalize');
          return finalized === 'nothing'
            ? { kind: 'ordered' }
            : { kind: 'unknown', message: 'rpm-ostree finalize-deployment: took too long' };
        },
      },
      lockClient: {
        preReboot: async (request) => {
          asked.push(request);
          calls.push('pre-reboot');
          return answer;
        },
        steadyState: async (request) => {
          if (calls.includes('pre-reboot')) {
            calls.push('steady-state');
            asked.push(request);
          }
          return unlockAnswer;
        },
      },
      metrics,
      host: {
        look: async () => ({ blockers: [], users }),
        warn: async (message) => void warned.push(message),
      },
      clockEvidence: async () => ({ synchronized: true }),
      desired: () => desired,
      report: async (report) => {
        if (last !== undefined && last.state !== report.state) {
          assert.ok(transitions[last.state].includes(report.state), `${last.state} to ${report.state}`);
        }
        last = report;
        if (deaf.includes(report.state)) throw new SluiceError('Unreachable', 'the API does not answer');
        if (enough(report)) stop.abort();
      },
      markerOwnerUid: process.getuid?.() ?? 0,
      clock,
      random: () => 0,
      logger: {
        ...silentLogger,
        info: (facts, message) => void log.push(`${message} ${JSON.stringify(facts)}`),
      },
      signal: stop.signal,
    });
    await agent.run();
    return last;
  }
  return {
    dir,
    marker: markerPathIn(marker),
    calls,
    boot,
    rule,
    setAnswer: (next: LockAnswer) => {
      answer = next;
    },
    asked,
    warned,
    log,
    told,
    config,
    set: (next: {
      unlock?: LockAnswer;
      users?: Users;
      finalized?: typeof finalized;
      deaf?: readonly string[];
      clock?: Partial<Clock>;
    }) => {
      deaf = next.deaf ?? deaf;
      clock = { ...clock, ...next.clock };
      unlockAnswer = next.unlock ?? unlockAnswer;
      users = next.users ?? users;
      finalized = next.finalized ?? finalized;
    },
    setDesired: (next: Desired) => {
      desired = next;
    },
    memory: async () => JSON.parse(await readFile(join(dir, 'finalize.json'), 'utf8')),
  };
}

const held = (report: AgentReport) => report.state === 'Held';

test('staged, held, window, slot, reboot, slot given back: in this order', async (t) => {
  const node = await createNode(t);
  const report = await node.boot('boot-1', held);
  assert.deepEqual(
    report?.holds.map(({ gate, reason }) => `${gate}/${reason}`),
    ['marker_file/NoMarker'],
  );
  assert.equal(report?.os.staged?.digest, v2);
  assert.deepEqual(node.calls, [], 'B20: a held node asks for no slot');
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  await node.boot('boot-1');
  assert.deepEqual(node.calls, ['pre-reboot', 'reboot']);
  assert.equal((await node.memory()).intent.phase, 'finalizing');
  const after = await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.equal(after?.os.booted?.digest, v2);
  assert.deepEqual(node.calls, ['pre-reboot', 'reboot', 'steady-state']);
  assert.equal((await node.memory()).intent, undefined);
  await assert.rejects(readFile(node.marker), 'the marker was for one reboot');
});

test('a marker that appears wakes the agent', async (t) => {
  const node = await createNode(t);
  const running = node.boot('boot-1');
  setTimeout(() => void writeMarker(node.marker, { notAfter: soon(), once: false }), 100);
  await running;
  assert.deepEqual(node.calls, ['pre-reboot', 'reboot']);
});

test('B20 the window closes while the slot is asked for: nothing is finalized, the slot goes back', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: false });
  node.setAnswer({ kind: 'wait', reason: 'SlotTaken', message: 'taken' });
  const waiting = await node.boot('boot-1', ({ state }) => state === 'WaitingForSlot');
  assert.equal(waiting?.holds[0]?.gate, 'fleet_lock');
  await rm(node.marker);
  node.setAnswer({ kind: 'granted' });
  await node.boot('boot-1', held);
  assert.ok(!node.calls.includes('reboot'));
  assert.equal(node.calls.at(-1), 'steady-state');
});

test('B24 an update that does not boot keeps its slot and is not tried for ever', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: false });
  for (const boot of ['boot-1', 'boot-2', 'boot-3']) {
    if (boot === 'boot-3') break;
    await node.boot(boot);
    // The firmware falls back to the old system.
    await writeFile(join(node.dir, 'os.json'), JSON.stringify({ booted: { image: `os@${v1}`, digest: v1 } }));
  }
  const report = await node.boot('boot-3', held);
  assert.deepEqual(
    report?.holds.map(({ reason }) => reason),
    ['FailedToBoot'],
  );
  assert.ok(!node.calls.includes('steady-state'), 'the fleet waits for a person');
  node.setDesired({});
  await node.boot('boot-3', ({ state }) => state === 'Idle');
  assert.equal(node.calls.at(-1), 'steady-state', 'withdrawn: the slot goes back');
});

test('a window of the cluster becomes the marker once; taken back it is removed', async (t) => {
  const node = await createNode(t);
  const opened = { notAfter: soon(), once: true };
  node.setDesired({ window: opened });
  const open = await node.boot('boot-1', ({ state }) => state === 'Idle');
  assert.equal(open?.closedWindow, undefined);
  assert.match(await readFile(node.marker, 'utf8'), /"once":true/);
  await rm(node.marker); // Consumed: the same window does not open again.
  const used = await node.boot('boot-1', ({ state }) => state === 'Idle');
  assert.equal(
    Date.parse(used?.closedWindow ?? ''),
    opened.notAfter * 1000,
    'the window is told to be closed',
  );
  await assert.rejects(readFile(node.marker));
  node.setDesired({ window: { notAfter: soon() + 60 } });
  await node.boot('boot-1', ({ state }) => state === 'Idle');
  node.setDesired({});
  await node.boot('boot-1', ({ state }) => state === 'Idle');
  await assert.rejects(readFile(node.marker));
});

test('B66 a file that breaks holds the node', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: false });
  await node.rule('[oops');
  const report = await node.boot('boot-1', held);
  assert.equal(report?.holds[0]?.reason, 'ConfigInvalid');
  assert.deepEqual(node.calls, []);
});

const identity = ({ baseUrl, group, id }: LockRequest) => `${baseUrl} ${group} ${id}`;

for (const [what, file] of [
  ['disabled', '[updates]\nenabled = false\n'],
  ['another strategy', '[updates]\nstrategy = "immediate"\n'],
  [
    'another group and id',
    '[updates]\nstrategy = "fleet_lock"\n[updates.fleet_lock]\nbase_url = "http://other/"\n[identity]\ngroup = "b"\nnode_uuid = "0123456789abcdef0123456789abcdef"\n',
  ],
] as const) {
  test(`B22 the slot that the last boot had is given back under its own identity: ${what}`, async (t) => {
    const node = await createNode(t);
    await writeMarker(node.marker, { notAfter: soon(), once: true });
    await node.boot('boot-1');
    await writeFile(join(node.config, '50.toml'), `${file}`);
    await node.boot('boot-2', ({ state }) => state === 'Idle');
    assert.deepEqual(node.calls, ['pre-reboot', 'reboot', 'steady-state']);
    assert.equal(identity(node.asked[1] as LockRequest), identity(node.asked[0] as LockRequest));
    assert.equal(identity(node.asked[0] as LockRequest), 'http://lock/ default node-a');
  });
}

test('B26 B52 the slot is kept while the node proves itself, and the deadline outlives the agent', async (t) => {
  const node = await createNode(t);
  await writeFile(join(node.config, '60.toml'), '[updates.fleet_lock]\nmin_ready_secs = 900\n');
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  await node.boot('boot-1');
  await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.deepEqual(node.calls, ['pre-reboot', 'reboot'], 'not given back yet');
  const { debts } = await node.memory();
  assert.ok(debts[0].after > Date.now() + 800_000);
  await node.boot('boot-2', ({ state }) => state === 'Idle'); // Killed and started again in the delay.
  assert.deepEqual((await node.memory()).debts, debts);
  const overdue = { ...(await node.memory()), debts: [{ ...debts[0], after: 0 }] };
  await writeFile(join(node.dir, 'finalize.json'), JSON.stringify(overdue));
  await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.equal(node.calls.at(-1), 'steady-state');
});

test('B34 a lock server that is gone keeps nobody from the next update; what is owed stays owed', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  await node.boot('boot-1');
  node.set({ unlock: { kind: 'error', reason: 'Unreachable', message: 'gone' } });
  const report = await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.equal(report?.os.booted?.digest, v2);
  assert.equal((await node.memory()).debts.length, 1);
  node.set({ unlock: { kind: 'granted' } });
  await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.deepEqual((await node.memory()).debts, []);
});

test('B20 B56 a reboot that is refused is a wait, not a failure: the slot goes back at once', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: false });
  node.set({ finalized: 'refused' });
  const report = await node.boot('boot-1', held);
  assert.deepEqual(
    report?.holds.map(({ gate, reason }) => `${gate}/${reason}`),
    ['finalize/Blocked'],
  );
  assert.equal(node.calls.at(-1), 'steady-state');
  assert.deepEqual((await node.memory()).failures, {});
});

test('B50 a reboot that was ordered and does not come shows, and an agent that starts again asks every gate anew', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  node.set({ finalized: 'nothing' });
  const report = await node.boot('boot-1', ({ holds }) => holds.length > 0);
  assert.deepEqual(
    report?.holds.map(({ reason }) => reason),
    ['Rebooting'],
  );
  const again = await node.boot('boot-1', held);
  assert.deepEqual(
    again?.holds.map(({ reason }) => reason),
    ['NoMarker'],
    'the marker was for one reboot: without it nothing is ordered again',
  );
  assert.deepEqual(node.calls, ['pre-reboot', 'finalize', 'steady-state']);
});

test('B76 there is no way around the machine: a marker by hand meets the same gates in the same order', async (t) => {
  const node = await createNode(t);
  node.set({ users: { kind: 'some', sessions: [{ user: 'core', tty: 'pts/0' }] } });
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  const report = await node.boot('boot-1', held);
  assert.equal(report?.holds[0]?.reason, 'UsersLoggedIn');
  assert.deepEqual(node.calls, [], 'no slot is taken for a node that waits for its users');
  assert.match(node.warned[0] ?? '', /reboots into 1\.1\.0 in 600 seconds/);
  assert.ok(report?.nextPossible !== undefined);
});

test('users at the end of a window: half of what is left of it, then it goes on', async (t) => {
  const node = await createNode(t);
  node.set({ users: { kind: 'unknown', why: 'no bus' } });
  await writeMarker(node.marker, { notAfter: Math.floor(Date.now() / 1000) + 3, once: true });
  await node.boot('boot-1');
  assert.deepEqual(node.calls, ['pre-reboot', 'reboot']);
  assert.ok(node.warned.some((message) => message.includes('now')));
});

test('what holds is a metric, with its reason; no foreign text becomes a label', async (t) => {
  const node = await createNode(t);
  await node.boot('boot-1', held);
  const text = await node.told.render();
  assert.match(text, /sluice_agent_held_since_timestamp_seconds\{gate="marker_file",reason="NoMarker"\} \d+/);
  assert.match(text, /sluice_strategy\{strategy="fleet_lock"\} 1/);
  assert.match(text, /sluice_deploy_attempts_total 1/);
  for (const line of text.trim().split('\n'))
    assert.match(line, /^(#|[a-z_]+(\{[^{}]*\})? -?[\d.]+(e[+-]\d+)?$)/);
});

test('what holds is logged with its reason when it changes, and not again while it stands', async (t) => {
  const node = await createNode(t);
  let looks = 0;
  await node.boot('boot-1', (report) => {
    if (!held(report)) return false;
    looks += 1;
    if (looks === 3) writeFileSync(node.marker, '{"notAfter": 1}');
    return report.holds[0]?.reason === 'Expired';
  });
  const said = node.log.filter((line) => line.startsWith('held '));
  assert.deepEqual(
    said.map((line) => /"reason":"(\w+)"/.exec(line)?.[1]),
    ['NoMarker', 'Expired'],
  );
  assert.match(said[1] ?? '', /the window has ended at 1970/);
});

test('B18 a torn marker is no permission; complete, it is; one bound to a release allows no other', async (t) => {
  const node = await createNode(t);
  await writeFile(node.marker, '{"notAfter": 18');
  const torn = await node.boot('boot-1', held);
  assert.equal(torn?.holds[0]?.reason, 'NotJson');
  await writeMarker(node.marker, { notAfter: soon(), once: false, release: '0.9.0' });
  const other = await node.boot('boot-1', held);
  assert.equal(other?.holds[0]?.reason, 'OtherRelease');
  await writeMarker(node.marker, { notAfter: soon(), once: false, release: '1.1.0' });
  await node.boot('boot-1');
  assert.equal(node.calls.at(-1), 'reboot');
});

test('B50 an order that is not answered may be under way: the intent and the slot stay', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: false });
  node.set({ finalized: 'unanswered' });
  const report = await node.boot('boot-1', ({ holds }) => holds.length > 0);
  assert.deepEqual(
    report?.holds.map(({ reason }) => reason),
    ['Rebooting'],
  );
  assert.deepEqual(node.calls, ['pre-reboot', 'finalize'], 'the slot is not given back');
  assert.equal((await node.memory()).intent.phase, 'finalizing');
  // It was under way: the next boot is into the update, and only then the slot goes back.
  await writeFile(join(node.dir, 'os.json'), JSON.stringify({ booted: { image: `os@${v2}`, digest: v2 } }));
  await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.deepEqual(node.calls, ['pre-reboot', 'finalize', 'steady-state']);
});

test('an API that takes no report stops nobody: the reboot is ordered all the same, and told later', async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  node.set({ deaf: ['Staging', 'Finalizing'] });
  await node.boot('boot-1');
  assert.deepEqual(node.calls, ['pre-reboot', 'reboot']);
});

test('B18 a marker for one reboot that cannot be removed permits none', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const node = await createNode(t);
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  if (spawnSync('chattr', ['+i', node.marker]).status !== 0)
    return t.skip('this file system has no immutable files');
  t.after(() => spawnSync('chattr', ['-i', node.marker]));
  const report = await node.boot('boot-1', held);
  assert.deepEqual(
    report?.holds.map(({ gate, reason }) => `${gate}/${reason}`),
    ['finalize/MarkerNotConsumed'],
  );
  assert.deepEqual(node.calls, ['pre-reboot', 'steady-state'], 'nothing was ordered, and the slot went back');
  spawnSync('chattr', ['-i', node.marker]);
});

test('B12 a clock that is set while users have their grace shortens it by nothing', async (t) => {
  const node = await createNode(t);
  let jump = 0;
  node.set({
    users: { kind: 'some', sessions: [{ user: 'core', tty: 'pts/0' }] },
    clock: { now: () => Date.now() + jump },
  });
  await writeMarker(node.marker, { notAfter: soon() + 7200, once: true });
  let looks = 0;
  const report = await node.boot('boot-1', ({ holds }) => {
    looks += holds[0]?.reason === 'UsersLoggedIn' ? 1 : 0;
    if (looks === 1) jump = 3600_000;
    return looks === 3;
  });
  assert.equal(report?.holds[0]?.reason, 'UsersLoggedIn', 'an hour by the wall clock is no ten minutes');
  assert.deepEqual(node.calls, []);
});

test('B26 a debt from a time when the clock was years ahead is paid after the wait that was meant', async (t) => {
  const node = await createNode(t);
  await node.boot('boot-1', held);
  const lock = { baseUrl: 'http://lock/', group: 'default', id: 'node-a' };
  const debt = { lock, after: Date.now() + 4 * 366 * 24 * 3600_000, waitMs: 100 };
  await writeFile(
    join(node.dir, 'finalize.json'),
    JSON.stringify({ ...(await node.memory()), debts: [debt] }),
  );
  node.calls.push('pre-reboot');
  const stop = Date.now() + 2_000;
  await node.boot('boot-1', () => Date.now() > stop || node.calls.includes('steady-state'));
  assert.deepEqual((await node.memory()).debts, []);
});

test('the lock server’s address is filled in as zincati’s is, and the slot is given back where it was taken', async (t) => {
  const node = await createNode(t);
  await writeFile(
    join(node.config, '60.toml'),
    `[updates.fleet_lock]\nbase_url = "http://lock/${named('group')}/${named('stream')}/"\n[identity]\ngroup = "workers"\nstream = "testing"\n`,
  );
  await writeMarker(node.marker, { notAfter: soon(), once: true });
  await node.boot('boot-1');
  await writeFile(join(node.config, '60.toml'), '');
  await node.boot('boot-2', ({ state }) => state === 'Idle');
  assert.deepEqual(
    node.asked.map(({ baseUrl }) => baseUrl),
    ['http://lock/workers/testing/', 'http://lock/workers/testing/'],
  );
});

test('a flood of events, which any user of the bus can make, keeps the agent not busy; the first ones count at once', async (t) => {
  const node = await createNode(t);
  node.set({ clock: { sleep: systemClock.sleep } });
  let looks = 0;
  const flood = setInterval(() => writeFileSync(node.marker, '{}'), 2);
  const end = Date.now() + 3_000;
  try {
    await node.boot('boot-1', () => {
      looks += 1;
      return Date.now() > end;
    });
  } finally {
    clearInterval(flood);
  }
  assert.ok(looks < 40, `${looks} looks in three seconds`);
});

test('finalize-only: boots in vain count for what is staged, whatever else is wanted', async (t) => {
  const node = await createNode(t);
  await writeFile(
    join(node.config, '50.toml'),
    '[updates]\nmode = "finalize-only"\nstrategy = "immediate"\n',
  );
  const staged = { image: `os@${v2}`, digest: v2 };
  await writeFile(
    join(node.dir, 'os.json'),
    JSON.stringify({ booted: { image: `os@${v1}`, digest: v1 }, staged, bootID: 'boot-1' }),
  );
  await writeFile(join(node.dir, 'finalize.json'), JSON.stringify({ failures: { [v2]: 2 } }));
  const v3: Digest = `sha256:${'3'.repeat(64)}`;
  node.setDesired({ image: `os@${v3}`, digest: v3 });
  const report = await node.boot('boot-1', held);
  assert.deepEqual(
    report?.holds.map(({ reason }) => reason),
    ['FailedToBoot'],
  );
  assert.deepEqual(node.calls, []);
});
