import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { nodeSocketPath, serveNodeSocket } from '../node/socket.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { untilAgentsAnswer } from './agents.ts';
import { upLayout } from './layout.ts';

test('a cluster is waited for until the agent of its last node answers, whatever a killed one has left', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-agents-'));
  t.after(() => rm(dir, { recursive: true }));
  const layout = upLayout(dir);
  const nodes = layout.nodes(2, 62);
  for (const { run } of nodes) await mkdir(run, { recursive: true });
  const [first, second] = nodes.map(({ run }) => nodeSocketPath(run));
  await writeFile(second ?? '', '');
  const routes = { 'GET /v1/finalization': async () => ({}) };
  const sockets = [await serveNodeSocket(first ?? '', routes, silentLogger)];
  t.after(() => Promise.all(sockets.map((socket) => socket.close())));

  // The time that passes is that of the waiting alone.
  let now = 0;
  const passing = (onSleep: () => Promise<void>) => ({
    now: () => now,
    sleep: async (ms: number) => {
      now += ms;
      await onSleep();
    },
  });
  const { signal } = new AbortController();
  const late = untilAgentsAnswer(
    nodes,
    layout,
    passing(async () => {}),
    signal,
  );
  await assert.rejects(late, (error) => {
    assert.ok(isSluiceError(error, 'Timeout'));
    assert.match(error.message, /^the agent of master-1 does not answer/);
    assert.equal(error.next, `See what it said: ${layout.logFile('master-1')}`);
    return true;
  });

  let looked = 0;
  const comes = passing(async () => {
    looked += 1;
    if (looked === 3) sockets.push(await serveNodeSocket(second ?? '', routes, silentLogger));
  });
  await untilAgentsAnswer(nodes, layout, comes, signal);
  assert.equal(looked, 3);

  const nowhere = upLayout(join(dir, 'nowhere')).nodes(1, 62);
  const stopped = untilAgentsAnswer(nowhere, layout, systemClock, AbortSignal.abort(new Error('stopped')));
  await assert.rejects(stopped, /stopped/);
});
