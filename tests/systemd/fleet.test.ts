import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readBody, serve } from '../../src/http/server.ts';
import { openFileStore } from '../../src/lock/file-store.ts';
import { createPlainLockHandler } from '../../src/lock/server.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { needs } from '../tier.ts';
import { until } from './host.ts';
import { inhibit, release, standalone, untilHeldBy } from './seen.ts';

test(
  'three hosts and one slot: their reboots never overlap, and a held host asks for no slot (B20)',
  needs('systemd'),
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-fleet-'));
    const store = await openFileStore(dir, [{ name: 'default', slots: 1 }]);
    const handler = createPlainLockHandler({
      store,
      metrics: createMetrics(),
      clock: systemClock,
      logger: silentLogger,
    });
    const log: { call: string; id: string; status: number }[] = [];
    const server = await serve({
      address: '0.0.0.0',
      port: 0,
      async handler(request, response) {
        const body = await readBody(request, 4096);
        const { id } = (JSON.parse(String(body)) as { client_params: { id: string } }).client_params;
        const replay = Object.assign(request, {
          [Symbol.asyncIterator]: async function* () {
            yield body;
          },
        });
        response.on('finish', () => log.push({ call: request.url ?? '', id, status: response.statusCode }));
        await handler(replay, response);
      },
    });
    t.after(async () => {
      await server.close(0);
      await store.close();
      rmSync(dir, { recursive: true, force: true });
    });
    const config = `[updates]\nstrategy = ["marker_file", "fleet_lock"]\n[updates.fleet_lock]\nbase_url = "http://GATEWAY:${server.port}/"\n`;
    const hosts = [];
    for (let count = 0; count < 3; count += 1) hosts.push((await standalone(t, config)).host);
    for (const host of hosts) await untilHeldBy(host, 'marker_file/NoMarker');
    assert.ok(!log.some(({ call }) => call === '/v1/pre-reboot'), 'B20: no slot while the window is closed');
    const [first] = hosts;
    assert.ok(first !== undefined);
    inhibit(first, 'block');
    for (const host of hosts) host.inside(['/usr/bin/sluice', 'window', 'open', '--until', '1h']);
    for (const host of hosts.slice(1)) await host.booted(2);
    const asked = new Set(log.filter(({ call }) => call === '/v1/pre-reboot').map(({ id }) => id));
    assert.equal(asked.size, 2, 'B20: the inhibited host has asked for no slot');
    release(first);
    await first.booted(2);
    await until(
      () => log.filter(({ call, status }) => call === '/v1/steady-state' && status === 200).length >= 6,
      () => JSON.stringify(log.slice(-10)),
    );
    // From a grant to the slot's return, nobody else is granted one.
    let holder: string | undefined;
    let grants = 0;
    for (const { call, id, status } of log) {
      if (call === '/v1/pre-reboot' && status === 200) {
        assert.ok(holder === undefined || holder === id, 'two hosts were away at once');
        if (holder === undefined) grants += 1;
        holder = id;
      } else if (call === '/v1/steady-state' && holder === id) holder = undefined;
    }
    assert.equal(grants, 3);
    for (const host of hosts) assert.match(host.read('var/lib/played-ostree/booted'), /41\.2/);
  },
);
