import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { afterExit, createSupervisor, simulatedRebootCode } from './supervise.ts';

test('what follows an exit', () => {
  assert.deepEqual(afterExit(0, true, 0), { kind: 'stop' });
  assert.deepEqual(afterExit(simulatedRebootCode, true, 0), { kind: 'stop' });
  assert.deepEqual(afterExit(simulatedRebootCode, false, 3), { kind: 'reboot' });
  assert.deepEqual(afterExit(1, false, 0), { kind: 'restart', delayMs: 500 });
  assert.deepEqual(afterExit(null, false, 1), { kind: 'restart', delayMs: 1000 });
  assert.deepEqual(afterExit(0, false, 50), { kind: 'restart', delayMs: 15_000 });
});

test('a reboot changes the arguments, any other exit keeps them, and stop ends all', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-supervise-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const log = join(directory, 'child.log');
  let boot = 1;
  // Ends once with a failure and once with a reboot, then stays.
  const script = `
    const { existsSync, writeFileSync } = require('node:fs');
    const [mark, boot] = process.argv.slice(1);
    console.log('boot ' + boot);
    if (!existsSync(mark)) { writeFileSync(mark, ''); process.exit(1); }
    if (boot === '1') process.exit(133);
    process.stdin.on('end', () => process.exit(0)).resume();`;
  const supervisor = createSupervisor({
    program: [process.execPath, '-e', script],
    clock: systemClock,
    logger: silentLogger,
  });
  supervisor.start({
    name: 'child',
    args: () => [join(directory, 'mark'), String(boot)],
    logFile: log,
    onReboot: () => {
      boot += 1;
    },
  });
  const seen = async () => (await readFile(log, 'utf8').catch(() => '')).trim().split('\n');
  while ((await seen()).length < 3) await systemClock.sleep(20);
  assert.deepEqual(await seen(), ['boot 1', 'boot 1', 'boot 2']);
  const pid = supervisor.pids().child;
  assert.ok(pid !== undefined);
  await supervisor.stop(2000);
  assert.throws(() => process.kill(pid, 0), 'the child is gone');
  assert.deepEqual(supervisor.pids(), {});
});

test('a log that cannot be written ends nobody, and keeps no child waiting', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-supervise-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const mark = join(directory, 'mark');
  const script = `
    const { writeFileSync } = require('node:fs');
    const more = (left) => left === 0
      ? writeFileSync(process.argv[1], 'done')
      : process.stdout.write('x'.repeat(100_000), () => more(left - 1));
    more(20);
    process.stdin.on('end', () => process.exit(0)).resume();`;
  const supervisor = createSupervisor({
    program: [process.execPath, '-e', script],
    clock: systemClock,
    logger: silentLogger,
  });
  supervisor.start({ name: 'child', args: () => [mark], logFile: '/dev/full' });
  const until = Date.now() + 10_000;
  while ((await readFile(mark, 'utf8').catch(() => '')) !== 'done') {
    assert.ok(Date.now() < until, 'the child waits');
    await systemClock.sleep(20);
  }
  await supervisor.stop(2000);
});

test('what the others use to their end is ended after them', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-supervise-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const ends = join(directory, 'ends');
  const script = `
    const { appendFileSync } = require('node:fs');
    const [file, name, ms] = process.argv.slice(1);
    process.on('SIGTERM', () => setTimeout(() => {
      appendFileSync(file, name + ' ');
      process.exit(0);
    }, Number(ms)));
    console.log('runs');
    process.stdin.resume();`;
  const supervisor = createSupervisor({
    program: [process.execPath, '-e', script],
    clock: systemClock,
    logger: silentLogger,
  });
  const logs = ['api', 'slow', 'quick'].map((name) => join(directory, `${name}.log`));
  const start = (name: string, ms: string, endedLast: boolean) =>
    supervisor.start({
      name,
      args: () => [ends, name, ms],
      logFile: join(directory, `${name}.log`),
      endedLast,
    });
  start('api', '0', true);
  start('slow', '700', false);
  start('quick', '0', false);
  const runs = async (log: string) => (await readFile(log, 'utf8').catch(() => '')).includes('runs');
  while (!(await Promise.all(logs.map(runs))).every(Boolean)) await systemClock.sleep(20);
  await supervisor.stop(30_000);
  assert.equal(await readFile(ends, 'utf8'), 'quick slow api ');
});
