import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeRelease, testKey } from '../bundles.ts';
import { needs } from '../tier.ts';
import { bootHost, until } from './host.ts';
import { v1 } from './seen.ts';

function must(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${command}: ${stderr}`);
  return stdout.trim();
}

/** A loop device of this machine that is there and empty: a slot that something can be plugged into. */
function emptySlot(t: TestContext, directory: string): string {
  const device = `/dev/loop${200 + (process.pid % 700)}`;
  const nothing = join(directory, 'nothing');
  must('truncate', '-s', '1M', nothing);
  must('losetup', device, nothing);
  must('losetup', '-d', device);
  t.after(() => {
    spawnSync('losetup', ['-d', device]);
  });
  return device;
}

/** The image of a disk with ext4, that label, and this on it. */
function disk(directory: string, label: string, content: string): string {
  const image = join(directory, `${label}.img`);
  must('truncate', '-s', '64M', image);
  must('mkfs.ext4', '-q', '-F', '-L', label, '-d', content, image);
  return image;
}

test(
  'a disk that is plugged in is attached by an event of the kernel alone, and let go when it is pulled',
  needs('systemd'),
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-plugged-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const key = testKey('maker');
    const [one, two] = [
      await makeRelease({ version: '1.0.0', dir: directory, key: key.pair }),
      await makeRelease({ version: '1.1.0', dir: directory, key: key.pair }),
    ];
    writeFileSync(join(directory, 'maker.pub'), key.trusted.publicPem);
    const [ours, other] = [disk(directory, 'SLUICE', two.path), disk(directory, 'SLUICE2', two.path)];
    const slot = emptySlot(t, directory);
    const name = basename(slot);
    const unit = `sluice-media@${name}.service`;
    const host = await bootHost(t, {
      booted: v1,
      versions: {},
      config: '',
      udev: true,
      devices: [slot],
      directories: [`${directory}:/srv`],
    });
    // Where /dev is no devtmpfs, PID 1 looks for udev once, before it runs.
    host.inside(['systemctl', 'daemon-reexec']);
    host.inside(['systemctl', 'disable', '--now', 'sluice-agent'], { check: false });
    const inHost = (path: string) => path.replace(directory, '/srv');
    host.inside([
      ...[
        'systemd-run',
        '--unit=cluster',
        '--setenv=HOME=/root',
        '/usr/bin/sluice',
        'up',
        '--dir',
        '/var/lib/up',
      ],
      ...['--nodes', '1', '--workload', 'none', '--release', inHost(one.path), '--key', '/srv/maker.pub'],
    ]);
    const ask = (...words: string[]) =>
      host.inside(['/usr/bin/sluice', ...words, '--kubeconfig', '/var/lib/up/kubeconfig'], { check: false });
    const said = (of: string) => host.inside(['journalctl', '-b', '-u', of, '--no-pager'], { check: false });
    const socket = '/var/lib/up/nodes/master-0/run/node.sock';
    await until(
      () => host.inside(['ls', socket], { check: false }).trim() === socket,
      () => said('cluster'),
      120_000,
    );
    host.inside(['mkdir', '-p', '/run/sluice']);
    host.inside(['ln', '-s', socket, '/run/sluice/node.sock']);
    const state = () => host.inside(['systemctl', 'is-active', unit], { check: false }).trim();
    const label = () => host.inside(['udevadm', 'info', '--query=property', slot], { check: false });

    must('losetup', '--read-only', slot, other);
    await until(() => /^ID_FS_LABEL=SLUICE2$/m.test(label()), label);
    assert.equal(state(), 'inactive', 'another label wakes nothing');
    must('losetup', '-d', slot);
    await until(() => !/^ID_FS_LABEL=/m.test(label()), label);

    must('losetup', '--read-only', slot, ours);
    await until(
      () => state() === 'active',
      () => `${state()} ${label()} ${said(unit)}`,
    );
    assert.match(said(unit), /signature verified.*1\.1\.0/);
    const mount = host.inside(['findmnt', '-n', '-o', 'TARGET,OPTIONS', '-S', slot]);
    assert.match(mount, /^\/run\/sluice\/media\/\S+ +ro,nosuid,nodev,noexec/);
    await until(
      () => /1\.1\.0/.test(ask('media', 'ls')),
      () => ask('media', 'ls'),
    );

    // What a pulled disk makes the kernel say; the loop device itself stays as long as it is mounted.
    writeFileSync(`/sys/block/${name}/uevent`, 'remove');
    await until(
      () => state() === 'inactive',
      () => `${state()} ${said(unit)}`,
    );
    assert.equal(
      host.inside(['findmnt', '-n', '-S', slot], { check: false }).trim(),
      '',
      'nothing of it is mounted',
    );
    await until(
      () => !/1\.1\.0/.test(ask('media', 'ls')),
      () => ask('media', 'ls'),
    );
    host.inside(['systemctl', 'stop', 'cluster']);
  },
);
