import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { needs } from '../../tests/tier.ts';
import { createBus } from './dbus/bus.ts';
import { foreignText, reportHolds } from './hold.ts';
import { hookHolds } from './hooks.ts';
import { firstBootHold } from './host.ts';
import { blocks, countsAsUser, inhibitorHolds, loggedInUsers } from './logind.ts';
import { serveMetrics } from './metrics-socket.ts';
import { warnUsers } from './wall.ts';

const lock = (what: string, mode: string) => ({ what, who: 'dnf', why: 'upgrade', mode, uid: 0, pid: 123 });

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-host-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test('B54 which locks hold a reboot', () => {
  assert.ok(blocks(lock('sleep:shutdown', 'block'), false));
  assert.ok(!blocks(lock('shutdown', 'delay'), false), 'every kubelet holds one');
  assert.ok(!blocks(lock('sleep', 'block'), false));
  assert.ok(!blocks(lock('shutdown-foo', 'block'), false));
  assert.ok(!blocks(lock('shutdown', 'block-weak'), false));
  assert.ok(blocks(lock('shutdown', 'block-weak'), true));
});

test('no bus: inhibitors are unknown, which holds; users are read from the files, else unknown', async (t) => {
  const bus = createBus('/nonexistent/bus', async () => {});
  const [hold] = await inhibitorHolds(bus, false);
  assert.equal(hold?.reason, 'InhibitorsUnknown');
  const dir = directory(t);
  writeFileSync(join(dir, '1'), 'USER=core\nTTY=pts/0\nCLASS=user\nSTATE=active\n');
  writeFileSync(join(dir, '2'), 'USER=root\nCLASS=background\nSTATE=active\n');
  assert.deepEqual(await loggedInUsers(bus, dir), {
    kind: 'some',
    sessions: [{ user: 'core', tty: 'pts/0' }],
  });
  assert.equal((await loggedInUsers(bus, '/nonexistent')).kind, 'unknown', 'B57');
  assert.ok(!countsAsUser({ tty: 'tty1', class: 'greeter' }));
  assert.ok(!countsAsUser({ tty: 'tty1', class: 'user', state: 'closing' }));
});

test('hooks: 0 allows, 1 denies with its words, anything else is no permission', async (t) => {
  const dir = directory(t);
  const hook = (name: string, text: string, mode = 0o755) => {
    writeFileSync(join(dir, name), text);
    chmodSync(join(dir, name), mode);
  };
  const ask = (timeoutMs = 10_000) =>
    hookHolds({
      directory: dir,
      timeoutMs,
      environment: { SLUICE_DIGEST: 'sha256:x' },
      ownerUid: process.getuid?.() ?? 0,
    });
  hook('10-yes', '#!/bin/sh\n[ "$SLUICE_DIGEST" = sha256:x ]\n');
  assert.deepEqual(await ask(), []);
  hook('20-no', '#!/bin/sh\necho "a backup runs"\nexit 1\n');
  hook('30-broken', '#!/bin/sh\nexit 7\n');
  hook('40-plain', 'no program', 0o644);
  hook('50-open', '#!/bin/sh\nexit 0\n', 0o777);
  symlinkSync(join(dir, '10-yes'), join(dir, '60-link'));
  const holds = await ask();
  assert.deepEqual(
    holds.map(({ reason }) => reason),
    ['HookDenied', 'HookUnknown', 'HookUnknown', 'HookUnknown', 'HookUnknown'],
  );
  assert.match(holds[0]?.message ?? '', /20-no says no: a backup runs/);
  for (const name of ['20-no', '30-broken', '40-plain', '50-open', '60-link']) rmSync(join(dir, name));
  hook('70-slow', '#!/bin/sh\nsleep 60\n');
  assert.match((await ask(200))[0]?.message ?? '', /longer than/);
  if (process.getuid?.() === 0) {
    chownSync(join(dir, '70-slow'), 65534, 65534);
    assert.match((await ask(200))[0]?.message ?? '', /others may write/);
  }
  const none = { directory: join(dir, 'missing'), timeoutMs: 1, environment: {}, ownerUid: 0 };
  assert.deepEqual(await hookHolds(none), []);
});

test(
  'B60 a terminal that does not read hangs nobody, and a foreign path is never opened',
  needs('root'),
  async (t) => {
    const dir = directory(t);
    mkdirSync(join(dir, 'pts'));
    // A pipe that nobody reads takes 64 KiB and then nothing more, as a terminal under flow control.
    const made = spawn('mkfifo', [join(dir, 'pts', '0')]);
    await new Promise((resolve) => made.once('exit', resolve));
    const keep = spawn('sleep', ['30'], { stdio: ['ignore', 'ignore', 'ignore'] });
    t.after(() => keep.kill());
    const { openSync } = await import('node:fs');
    const reader = openSync(join(dir, 'pts', '0'), 'r+');
    const begun = Date.now();
    for (let round = 0; round < 3; round += 1)
      await warnUsers([{ user: 'a', tty: 'pts/0' }], 'x'.repeat(70_000), dir);
    assert.ok(Date.now() - begun < 10_000);
    (await import('node:fs')).closeSync(reader);
    writeFileSync(join(dir, 'secret'), 'as it was');
    await warnUsers([{ user: 'a', tty: 'pts/../secret' }], 'y', dir);
    assert.equal((await import('node:fs')).readFileSync(join(dir, 'secret'), 'utf8'), 'as it was');
  },
);

test('B74 a host in its first boot is left alone until it is old enough, and says when', () => {
  const hold = firstBootHold(120_000, 300_000, 1_000_000);
  assert.deepEqual([hold?.gate, hold?.reason, hold?.opensAt], ['uptime', 'FirstBoot', 1_180_000]);
  assert.equal(firstBootHold(300_000, 300_000, 0), undefined);
  assert.equal(firstBootHold(undefined, 300_000, 0)?.reason, 'FirstBoot', 'unknown is not old enough');
});

test('who gives a new host no time of its own is not held because its age is unknown', () => {
  assert.equal(firstBootHold(undefined, 0, 0), undefined);
  assert.equal(firstBootHold(undefined, 300_000, 0)?.reason, 'FirstBoot');
});

test('words of others steer no terminal and fill no status: inhibitors, versions, lock servers', () => {
  const evil = `upgrade\u001b]0;owned\u0007\u009b31m\n${'x'.repeat(5_000)}\u202e`;
  const holds = Array.from({ length: 3_000 }, () => ({
    gate: 'inhibitors' as const,
    reason: 'BlockInhibitor',
    message: evil,
  }));
  const reported = reportHolds(holds, [], '2026-01-01T00:00:00Z');
  assert.equal(reported.length, 20);
  for (const { message } of reported) {
    assert.ok(message.length <= 1_100);
    assert.doesNotMatch(message, /[\p{Cc}\u202e]/u);
  }
  assert.match(reported.at(-1)?.message ?? '', /and 2980 more/);
  assert.equal(foreignText('Aktualisierung läuft – 更新', 100), 'Aktualisierung läuft – 更新');
});

test('a message to users carries no escape sequence of whoever named the version', async (t) => {
  const dir = directory(t);
  mkdirSync(join(dir, 'pts'));
  writeFileSync(join(dir, 'pts', '0'), '');
  await warnUsers([{ user: 'a', tty: 'pts/0' }], 'reboots into \u001b[2J41.2', dir);
  const { readFileSync } = await import('node:fs');
  assert.doesNotMatch(readFileSync(join(dir, 'pts', '0'), 'utf8'), /\p{Cc}\[/u);
});

test('metrics are for many who read, and for no longer than it takes: those who do not are let go', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'public', 'metrics.promsock');
  const dump = await serveMetrics(path, async () => 'x'.repeat(8_000_000));
  t.after(() => dump.close());
  const idle = Array.from({ length: 200 }, () => connect(path).on('error', () => {}));
  t.after(() => {
    for (const socket of idle) socket.destroy();
  });
  for (const socket of idle) socket.pause();
  const read = async () => {
    let bytes = 0;
    try {
      for await (const chunk of connect(path)) bytes += (chunk as Buffer).length;
    } catch {
      // All places are taken for the moment.
    }
    return bytes;
  };
  while ((await read()) !== 8_000_000) await new Promise((resolve) => setTimeout(resolve, 200));
});
