import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../src/up/network.ts';
import { takeNetwork } from './network.ts';
import { repository } from './tier.ts';

/** Another process of tests, as one of another checkout would be. */
async function startOther(port: number) {
  const script = `
    import { takeNetwork } from ${JSON.stringify(join(repository, 'tests', 'network.ts'))};
    process.stdout.write((await takeNetwork(${port})).prefix);
    setInterval(() => {}, 1_000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const [prefix] = await once(child.stdout, 'data');
  return {
    prefix: String(prefix),
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('no two worlds of tests have the same network, within a process and across them', async (t) => {
  const port = await freePort();
  const others = await Promise.all([startOther(port), startOther(port)]);
  t.after(() => Promise.all(others.map((each) => each.end())));
  const own = await Promise.all([takeNetwork(port), takeNetwork(port)]);
  t.after(() => Promise.all(own.map((each) => each.release())));
  const prefixes = [...others, ...own].map(({ prefix }) => prefix);
  assert.equal(new Set(prefixes).size, 4, prefixes.join(', '));
  const [killed] = others;
  await killed?.end();
  const again = await takeNetwork(port);
  t.after(() => again.release());
  assert.equal(again.prefix, killed?.prefix, 'what a process had that was killed is free again');
});
