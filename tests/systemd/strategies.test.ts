import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needs } from '../tier.ts';
import { until } from './host.ts';
import { inhibit, marker, release, seconds, seen, standalone, untilHeldBy, v1, v2, v3 } from './seen.ts';

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** A weekly window that begins `minutes` from now, in UTC. */
function window(minutes: number, length: number): string {
  const at = new Date(Date.now() + minutes * 60_000);
  const time = at.toISOString().slice(11, 16);
  return `[[updates.periodic.window]]\ndays = ["${days[at.getUTCDay()]}"]\nstart_time = "${time}"\nlength_minutes = ${length}\n`;
}

test(
  'periodic, then immediate: a closed window names its next opening, and a configuration that changes counts at once',
  needs('systemd'),
  async (t) => {
    const config = `[updates]\nstrategy = "periodic"\nmarker = "override"\n[updates.periodic]\njitter_secs = 0\n${window(120, 60)}`;
    const { host, graph } = await standalone(t, config);
    await untilHeldBy(host, 'periodic/WindowClosed');
    const next = Date.parse(seen(host).nextPossible ?? '');
    assert.ok(Math.abs(next - Date.now() - 120 * 60_000) < 180_000, seen(host).nextPossible);
    assert.match(host.inside(['/usr/bin/sluice', 'node', 'why']), /not before in/);

    await t.test(
      'a block inhibitor holds beside it, and the marker opens the window, not the inhibitor',
      async () => {
        inhibit(host, 'block');
        host.inside(['/usr/bin/sluice', 'window', 'open', '--until', '1h', '--once']);
        await untilHeldBy(host, 'inhibitors/BlockInhibitor');
        release(host);
        await host.booted(2);
        assert.match(host.read('var/lib/played-ostree/booted'), /41\.2/);
      },
    );

    await t.test('immediate: the next release needs nothing more', async () => {
      host.write('/etc/sluice/config.d/60-now.toml', '[updates]\nstrategy = "immediate"\n');
      graph.set([v1, v2, v3]);
      await host.booted(3);
      assert.match(host.read('var/lib/played-ostree/booted'), /41\.3/);
    });
  },
);

test(
  'a user on a terminal is told and delays it; the bus lets root alone change the window',
  needs('systemd'),
  async (t) => {
    const { host } = await standalone(t, '[updates]\nstrategy = "marker_file"\n');
    await untilHeldBy(host, 'marker_file/NoMarker');
    const bus = ['dev.sluice.Node1', '/dev/sluice/Node1', 'dev.sluice.Node1'];

    await t.test('B72 the service on the system bus', async () => {
      assert.match(host.inside(['busctl', 'get-property', ...bus, 'StagedVersion']), /41\.2/);
      const user = ['setpriv', '--reuid=65534', '--clear-groups'];
      assert.match(host.inside([...user, 'busctl', 'get-property', ...bus, 'State']), /Held/);
      const denied = host.inside(
        [...user, 'busctl', 'call', ...bus, 'StartWindow', 'xbs', String(seconds(60)), 'true', ''],
        {
          check: false,
        },
      );
      assert.match(denied, /only root|denied/i);
      assert.throws(() => host.inside(['test', '-e', marker]));
      host.inside(['busctl', 'call', ...bus, 'StartWindow', 'xbs', String(seconds(60)), 'true', '41.9']);
      await untilHeldBy(host, 'marker_file/OtherRelease');
      host.inside(['busctl', 'call', ...bus, 'StopWindow']);
      await untilHeldBy(host, 'marker_file/NoMarker');
    });

    await t.test(
      'B57 B60 a session on a terminal: told, delays for half of a short window, then it goes on',
      async () => {
        const login = ['script', '-qfc', 'login -f root', '/var/tmp/terminal'];
        host.inside([
          'systemd-run',
          '-q',
          '--unit=session',
          '-p',
          'StandardInput=null',
          'sh',
          '-c',
          `sleep 600 | ${login.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ')}`,
        ]);
        await until(
          () => host.inside(['loginctl', 'list-sessions', '--no-legend']).includes('pts/'),
          () =>
            `no session: ${host.inside(['loginctl', 'list-sessions'], { check: false })} ${host.inside(['journalctl', '-n', '20', '--no-pager'], { check: false })}`,
          20_000,
        );
        host.write(marker, JSON.stringify({ notAfter: seconds(16), once: true }));
        await untilHeldBy(host, 'users/UsersLoggedIn');
        assert.match(host.inside(['/usr/bin/sluice', 'node', 'why']), /root on pts\//);
        const status = host.inside(['systemctl', 'show', '-p', 'StatusText', 'sluice-agent']);
        assert.match(status, /reboot delayed due to active user sessions/);
        await host.booted(2);
        assert.match(host.read('var/tmp/terminal'), /reboots into 41\.2 in/);
      },
    );
  },
);

test(
  'the agent is killed at every step of its way, and each time the next one goes on',
  needs('systemd'),
  async (t) => {
    const { host } = await standalone(t, '[updates]\nstrategy = "marker_file"\n', {
      // Each start dies one step further than the one before, until none is left.
      service: [
        `ExecStartPre=/bin/sh -c 'n=$$(($$(cat /var/lib/sluice/starts 2>/dev/null || echo 0) + 1)); echo $$n >/var/lib/sluice/starts; echo SLUICE_FAULT=finalize-remembered:$$n >/var/lib/sluice/fault'`,
        'EnvironmentFile=-/var/lib/sluice/fault',
      ].join('\n'),
    });
    host.write(marker, JSON.stringify({ notAfter: seconds(600), once: true }));
    await host.booted(2);
    assert.match(host.read('var/lib/played-ostree/booted'), /41\.2/);
    const memory = () =>
      JSON.parse(host.read('var/lib/sluice/state/finalize.json')) as { intent?: unknown; confirmed?: string };
    await until(
      () => memory().confirmed === `sha256:${v2[0]}` && memory().intent === undefined,
      () => JSON.stringify(memory()),
    );
    const kills = host.inside(['journalctl', '-u', 'sluice-agent', '--no-pager', '-b', 'all'], {
      check: false,
    });
    t.diagnostic(`${kills.split('status=9/KILL').length - 1} kills in this boot`);
    assert.equal(host.boots(), 2);
  },
);

test(
  'B50 B70 a reboot that was ordered and does not come, and one into a system that falls back',
  needs('systemd'),
  async (t) => {
    const { host } = await standalone(t, '[updates]\nstrategy = "marker_file"\n');
    await untilHeldBy(host, 'marker_file/NoMarker');
    host.inside(['touch', '/var/lib/played-ostree/no-reboot']);
    host.write(marker, JSON.stringify({ notAfter: seconds(900) }));
    await untilHeldBy(host, 'finalize/Rebooting');
    host.inside(['rm', '/var/lib/played-ostree/no-reboot']);
    host.inside(['touch', '/var/lib/played-ostree/falls-back']);
    host.inside(['systemctl', 'restart', 'sluice-agent']);
    // It is tried once more, and falls back again: then it is not tried any more.
    await host.booted(3);
    await untilHeldBy(host, 'staged/FailedToBoot');
    assert.match(host.read('var/lib/played-ostree/booted'), /41\.1/);
    assert.equal(host.boots(), 3);
  },
);
