import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needs } from '../tier.ts';
import { inhibit, marker, release, seconds, standalone, untilHeldBy, v1, v2, v3 } from './seen.ts';

test(
  'a host by itself: the marker file by hand, its refusals, inhibitors, and one marker for two reboots',
  needs('systemd'),
  async (t) => {
    const { host, graph } = await standalone(t, '[updates]\nstrategy = "marker_file"\n');
    await untilHeldBy(host, 'marker_file/NoMarker');
    assert.ok(
      host
        .calls()
        .includes(`deploy --lock-finalization --skip-branch-check revision=${v2[0]} --disallow-downgrade`),
    );
    assert.equal(graph.asked.at(-1)?.searchParams.get('os_checksum'), v1[0]);

    await t.test('mode 0666 and a year in the past give no permission, and node why says why', async () => {
      host.write(marker, JSON.stringify({ notAfter: seconds(3600) }), 0o666);
      await untilHeldBy(host, 'marker_file/Writable');
      assert.match(host.inside(['/usr/bin/sluice', 'node', 'why']), /may be written by others/);
      host.write(marker, JSON.stringify({ notAfter: 1_000_000_000 }));
      await untilHeldBy(host, 'marker_file/Expired');
      assert.match(host.inside(['/usr/bin/sluice', 'node', 'why']), /the window has ended/);
      const said = host.inside(['systemctl', 'show', '-p', 'StatusText', 'sluice-agent']);
      assert.match(said, /update staged: 41\.2; reboot pending due to update strategy/);
      const log = host.inside(['journalctl', '-b', '-u', 'sluice-agent', '--no-pager']);
      for (const reason of ['NoMarker', 'Writable', 'Expired'])
        assert.equal(log.split(`"reason":"${reason}"`).length, 2, `${reason} is logged once: ${log}`);
    });

    await t.test('an agent that is stopped says nothing of itself any more', () => {
      const status = () =>
        host.inside(['systemctl', 'show', '-p', 'StatusText', '--value', 'sluice-agent']).trim();
      host.inside(['systemctl', 'stop', 'sluice-agent']);
      assert.equal(status(), '');
      host.inside(['systemctl', 'start', 'sluice-agent']);
    });

    await t.test(
      'B54 a delay inhibitor holds nothing, a block inhibitor does; its release is a signal',
      async () => {
        inhibit(host, 'delay');
        inhibit(host, 'block');
        await untilHeldBy(host, 'marker_file/Expired', 'inhibitors/BlockInhibitor');
        assert.match(
          host.inside(['/usr/bin/sluice', 'node', 'why']),
          /dnf holds a block lock on shutdown: upgrade/,
        );
        host.write(marker, JSON.stringify({ notAfter: seconds(3600), once: true }));
        await untilHeldBy(host, 'inhibitors/BlockInhibitor');
        assert.equal(host.boots(), 1);
        const released = Date.now();
        release(host);
        await host.booted(2);
        t.diagnostic(`booted ${Date.now() - released} ms after the release of the lock`);
      },
    );

    await t.test(
      'booted into it, proven by the boot id; the marker is used up, so the next release waits',
      async () => {
        assert.match(host.read('var/lib/played-ostree/booted'), /41\.2/);
        assert.equal(new Set(host.read('var/lib/played-ostree/boots').trim().split('\n')).size, 2);
        graph.set([v1, v2, v3]);
        await untilHeldBy(host, 'marker_file/NoMarker');
        host.inside(['/usr/bin/sluice', 'window', 'open', '--until', '1h']);
        await host.booted(3);
        assert.match(host.read('var/lib/played-ostree/booted'), /41\.3/);
        host.inside(['test', '-e', marker]);
      },
    );
  },
);
