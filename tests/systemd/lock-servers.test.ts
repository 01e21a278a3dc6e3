import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { readBody, serve } from '../../src/http/server.ts';
import { needs } from '../tier.ts';
import { until } from './host.ts';
import { marker, seconds, seen, standalone, untilHeldBy, v3 } from './seen.ts';

type Answer = (response: ServerResponse) => void;

const say = (status: number, body = '', headers: Record<string, string> = {}): Answer => {
  return (response) => void response.writeHead(status, headers).end(body);
};
const refusal = JSON.stringify({ kind: 'failed_lock_semaphore_full', value: 'all 1 slots are taken' });

test(
  'a lock server that lies, redirects and hangs; a window that closes while the slot is waited for',
  needs('systemd'),
  async (t) => {
    let preReboot: Answer = say(423, refusal);
    let steadyState: Answer = say(200, '{}');
    const calls: string[] = [];
    const server = await serve({
      address: '0.0.0.0',
      port: 0,
      requestTimeoutMs: 0,
      async handler(request, response) {
        await readBody(request, 4096);
        calls.push(`${request.method} ${request.url}`);
        if (request.url === '/v1/pre-reboot') preReboot(response);
        else if (request.url === '/v1/steady-state') steadyState(response);
        else say(200, '<html>log in, please</html>')(response);
      },
    });
    t.after(() => server.close(0));
    const { host, graph } = await standalone(
      t,
      `[updates]\nstrategy = ["marker_file", "fleet_lock"]\n[updates.fleet_lock]\nbase_url = "http://GATEWAY:${server.port}/"\n`,
    );
    await untilHeldBy(host, 'marker_file/NoMarker');
    const asked = (call: string) => calls.filter((each) => each === `POST /v1/${call}`).length;

    await t.test(
      'B20 the window closes while the slot is waited for: it goes back, and a late grant moves nothing',
      async () => {
        host.write(marker, JSON.stringify({ notAfter: seconds(3600), once: true }));
        await untilHeldBy(host, 'fleet_lock/SlotTaken');
        assert.match(host.inside(['/usr/bin/sluice', 'node', 'why']), /all 1 slots are taken/);
        const returned = asked('steady-state');
        host.inside(['/usr/bin/sluice', 'window', 'close']);
        preReboot = say(200, '{}');
        await untilHeldBy(host, 'marker_file/NoMarker');
        await until(
          () => asked('steady-state') > returned,
          () => `the slot was not given back: ${calls.join(' ')}`,
        );
        assert.equal(host.boots(), 1);
      },
    );

    await t.test(
      'B32 what is no grant: a redirect to a page that says 200, a 204, an error page',
      async () => {
        for (const [answer, reason] of [
          [say(302, '', { location: '/login' }), 'Redirect'],
          [say(204), 'NotAGrant'],
          [say(503, '<html>busy</html>'), 'Refused'],
        ] as const) {
          preReboot = answer;
          host.inside(['/usr/bin/sluice', 'window', 'open', '--until', '1h', '--once']);
          await untilHeldBy(host, `fleet_lock/${reason}`);
          host.inside(['/usr/bin/sluice', 'window', 'close']);
          await untilHeldBy(host, 'marker_file/NoMarker');
        }
        assert.ok(!calls.some((call) => call.endsWith('/login')), 'no redirect was followed');
        assert.equal(host.boots(), 1);
      },
    );

    await t.test('B34 a server that never answers: the agent still does, and says so in time', async () => {
      preReboot = () => {};
      const before = asked('pre-reboot');
      host.inside(['/usr/bin/sluice', 'window', 'open', '--until', '1h', '--once']);
      await until(
        () => asked('pre-reboot') > before,
        () => 'it was not asked',
      );
      assert.equal(
        typeof seen(host).state,
        'string',
        'status is answered while the lock server is waited for',
      );
      await untilHeldBy(host, 'fleet_lock/Unreachable');
      assert.equal(host.boots(), 1);
    });

    await t.test(
      'B28 after the reboot a server that refuses the return keeps nobody from the next update',
      async () => {
        preReboot = say(200, 'anything');
        steadyState = say(423, JSON.stringify({ kind: 'lock_held', value: 'held by another' }));
        await host.booted(2);
        graph.set([['1'.repeat(64), '41.1'], ['2'.repeat(64), '41.2'], v3]);
        await untilHeldBy(host, 'marker_file/NoMarker');
        const memory = JSON.parse(host.read('var/lib/sluice/state/finalize.json')) as { debts: unknown[] };
        assert.deepEqual(memory.debts, [], 'what another holds is not ours to give back');
      },
    );
  },
);
