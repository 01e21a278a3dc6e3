import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { needs } from '../../../tests/tier.ts';
import type { SluiceError } from '../../errors/error.ts';
import { run } from '../../process/run.ts';
import type { Marker } from '../marker.ts';
import type { AgentReport } from '../report.ts';
import { approval, busName, busPath, createService, mayCall } from '../service.ts';
import { createBus } from './bus.ts';
import { type BusConnection, connectBus } from './connection.ts';
import { decodeMessage, encodeMessage, messageLength, splitSignature } from './wire.ts';

const staged = { image: 'os@x', digest: `sha256:${'2'.repeat(64)}`, version: '41.2' } as const;
const report: AgentReport = {
  state: 'Held',
  holds: [{ gate: 'marker_file', reason: 'NoMarker', message: 'none', since: '2026-01-01T00:00:00Z' }],
  os: { staged },
  bootID: 'b',
  driver: 'rpm-ostree',
  strategies: ['marker_file'],
  enabled: true,
  configWarnings: [],
};

test('messages go through the wire unharmed, whatever is in them', () => {
  const value = fc.record({
    text: fc.string(),
    numbers: fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
    big: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    flag: fc.boolean(),
    pairs: fc.array(fc.tuple(fc.string(), fc.string())),
  });
  fc.assert(
    fc.property(value, ({ text, numbers, big, flag, pairs }) => {
      const clean = (word: string) => word.replaceAll('\0', '');
      const body = [
        clean(text),
        numbers,
        big,
        flag,
        pairs.map(([a, b]) => [clean(a), { signature: 's', value: clean(b) }]),
      ];
      const message = {
        type: 'signal',
        serial: 7,
        path: '/a',
        interface: 'b.c',
        member: 'D',
        signature: 'saixba{sv}',
        body,
      } as const;
      const bytes = encodeMessage(message);
      assert.equal(messageLength(bytes), bytes.length);
      assert.deepEqual(decodeMessage(bytes).body, body);
    }),
  );
});

test('foreign bytes are refused, not believed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 200 }), (bytes) => {
      const buffer = Buffer.from(bytes);
      try {
        decodeMessage(buffer);
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }),
  );
  assert.throws(() => splitSignature('a'.repeat(40)), /too deep|not known/);
  assert.throws(() => splitSignature('(s'), /not known/);
  const huge = Buffer.alloc(16);
  huge[0] = 0x6c;
  huge.writeUInt32LE(0x7fffffff, 4);
  assert.throws(() => messageLength(huge), /bytes/);
});

test('B72 who may call what: only root changes anything, everybody may look', () => {
  for (const member of ['StartWindow', 'StopWindow', 'Approve']) {
    assert.ok(mayCall(0, member));
    for (const uid of [1, 1000, 65534]) assert.ok(!mayCall(uid, member), `${member} as ${uid}`);
  }
  assert.ok(mayCall(1000, 'Get'));
});

test('an approval is for what is staged, once, and ends', () => {
  const given = approval(report, '41.2', 1_000_000);
  assert.deepEqual(given, { notAfter: 1000 + 3600, once: true, release: staged.digest });
  assert.throws(
    () => approval(report, '41.3', 0),
    (error: SluiceError) => /is not staged/.test(error.message) && /node approve 41\.2/.test(error.next),
  );
  assert.throws(
    () => approval(undefined, '', 0),
    (error: SluiceError) => /no update is staged/.test(error.message) && /node status/.test(error.next),
  );
});

/** A bus of our own with the shipped policy, as root's. */
async function startBus(t: TestContext): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bus-'));
  const path = join(dir, 'bus');
  const config = `<busconfig><type>system</type><listen>unix:path=${path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow send_type="method_call"/><allow send_type="signal"/><allow send_type="method_return"/><allow send_type="error"/><allow receive_type="method_call"/><allow receive_type="signal"/><allow receive_type="method_return"/><allow receive_type="error"/><deny own="*"/></policy>
<include>${join(import.meta.dirname, '../../../deploy/systemd/dbus-1/system.d/dev.sluice.Node1.conf')}</include></busconfig>`;
  writeFileSync(join(dir, 'bus.conf'), config);
  spawnSync('chmod', ['755', dir]);
  const daemon: ChildProcess = spawn(
    'dbus-daemon',
    [`--config-file=${join(dir, 'bus.conf')}`, '--nofork', '--print-address'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => {
    daemon.kill();
    rmSync(dir, { recursive: true, force: true });
  });
  await new Promise((resolve) => daemon.stdout?.once('data', resolve));
  return path;
}

test(
  'a bus that could not be followed whole is tried anew, not remembered as broken',
  needs('dbus-daemon', 'root'),
  async (t) => {
    const path = await startBus(t);
    let attempts = 0;
    const bus = createBus(path, async (connection) => {
      attempts += 1;
      // The first AddMatch is refused by the daemon: the rule is none.
      await connection.follow(attempts === 1 ? "type='nonsense'" : "type='signal'", () => {});
    });
    t.after(() => bus.close());
    await assert.rejects(bus.connection(), /MatchRuleInvalid/);
    const connection = await bus.connection();
    const [uid] = await connection.call({
      destination: 'org.freedesktop.DBus',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'GetConnectionUnixUser',
      signature: 's',
      body: ['org.freedesktop.DBus'],
    });
    assert.equal(typeof uid, 'number');
    assert.equal(await bus.connection(), connection, 'one connection for all who ask');
    assert.equal(attempts, 2);
  },
);

test(
  'the service on a real bus: properties and signals for everybody, changes for root alone',
  needs('dbus-daemon', 'root'),
  async (t) => {
    const path = await startBus(t);
    const windows: (Marker | undefined)[] = [];
    const service = createService({
      report: () => report,
      setWindow: async (window) => void windows.push(window),
      now: () => Date.parse('2026-01-01T00:00:00Z'),
    });
    const server = await connectBus(path);
    await service.attach(server);
    const client = await connectBus(path);
    t.after(() => {
      for (const each of [server, client]) (each as BusConnection).close();
    });
    const call = (member: string, signature = '', body: unknown[] = []) =>
      client.call({ destination: busName, path: busPath, interface: busName, member, signature, body });
    const end = Date.parse('2026-01-02T00:00:00Z') / 1000;
    await call('StartWindow', 'xbs', [end, true, '']);
    await call('Approve', 's', ['41.2']);
    await call('StopWindow');
    assert.deepEqual(windows, [
      { notAfter: end, once: true },
      approval(report, '', Date.parse('2026-01-01T00:00:00Z')),
      undefined,
    ]);
    await assert.rejects(call('StartWindow', 'xbs', [1000, true, '']), /past/);
    await assert.rejects(call('StartWindow', 's', ['x']), /takes/);
    await assert.rejects(call('Moo'), /not known/);
    const [held] = await client.call({
      destination: busName,
      path: busPath,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [busName, 'Holds'],
    });
    assert.equal((held as { value: string[][] }).value[0]?.[1], 'NoMarker');
    const signals: unknown[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    await client.follow(`type='signal',path='${busPath}'`, (signal) => {
      if (signal.path !== busPath) return;
      signals.push(signal.member);
      if (signal.member === 'UpdateStaged') resolve();
    });
    service.changed(report);
    await promise;
    assert.deepEqual(signals, ['PropertiesChanged', 'UpdateStaged']);
    const busctl = (...words: string[]) => {
      const tool = ['busctl', `--address=unix:path=${path}`, '--json=short', ...words];
      return run('setpriv', ['--reuid=65534', '--clear-groups', ...tool]);
    };
    const looked = await busctl('get-property', busName, busPath, busName, 'StagedVersion');
    assert.match(looked.stdout, /41\.2/, looked.stderr);
    const denied = await busctl('call', busName, busPath, busName, 'StopWindow');
    assert.notEqual(denied.code, 0);
    assert.match(denied.stderr, /only root|[Aa]ccess denied/);
    assert.equal(windows.length, 3);
    await assert.rejects(
      client.serve(busName, { path: '/x', handle: async () => ({ signature: '', body: [] }) }),
      /holds the name/,
    );
  },
);
