import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import { createFinalizationAgent, type Desired } from './agent.ts';
import type { LockAnswer } from './fleet-lock.ts';
import { markerPathIn, writeMarker } from './marker.ts';
import { createMetrics } from './metrics.ts';
import { type AgentReport, transitions } from './report.ts';
import { bootSimulated, installSimulated, simulatedDriver } from './simulated.ts';

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
  let desired: Desired = { image: `os@${v2}`, digest: v2 };
  /** Runs one boot until the node reboots or `enough` says so. */
  async function boot(bootID: string, enough: (report: AgentReport) => boolean = () => false) {
    await bootSimulated(dir, bootID);
    const stop = new AbortController();
    let last: AgentReport | undefined;
    const agent = createFinalizationAgent({
      stateFile: join(dir, 'finalize.json'),
      configDirectories: [config],
      bootID,
      lockId: 'node-a',
      driver: simulatedDriver({
        dir,
        pull: async () => ({ version: '1.1.0' }),
        reboot: () => {
          calls.push('reboot');
          stop.abort();
        },
      }),
      lockClient: {
        preReboot: async () => {
          calls.push('pre-reboot');
          return answer;
        },
        steadyState: async () => {
          if (calls.includes('pre-reboot')) calls.push('steady-state');
          return { kind: 'granted' };
        },
      },
      metrics: createMetrics(0),
      clockEvidence: async () => ({ synchronized: true }),
      desired: () => desired,
      report: async (report) => {
        if (last !== undefined && last.state !== report.state) {
          assert.ok(transitions[last.state].includes(report.state), `${last.state} to ${report.state}`);
        }
        last = report;
        if (enough(report)) stop.abort();
      },
      markerOwnerUid: process.getuid?.() ?? 0,
      clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 300), signal) },
      random: () => 0,
      logger: silentLogger,
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
  node.setDesired({ window: { notAfter: soon(), once: true } });
  await node.boot('boot-1', ({ state }) => state === 'Idle');
  assert.match(await readFile(node.marker, 'utf8'), /"once":true/);
  await rm(node.marker); // Consumed: the same window does not open again.
  await node.boot('boot-1', ({ state }) => state === 'Idle');
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
