import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { nodeSocketPath, someoneListens } from '../src/node/socket.ts';
import { runOrThrow } from '../src/process/run.ts';
import { upLayout } from '../src/up/layout.ts';
import { startOneNode } from './one-node.ts';
import { repository } from './tier.ts';

test('at a second start a cluster is ready once its agent listens, and not before', async () => {
  const program = join(repository, 'sluice');
  const one = await startOneNode();
  try {
    await runOrThrow(program, ['up', 'stop', '--dir', one.cluster], { timeoutMs: 100_000 });
    const up = spawn(program, ['up', '--dir', one.cluster, '--nodes', '1', '--workload', 'none'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(up, 'exit');
    const said: string[] = [];
    let listens: boolean | undefined;
    for await (const line of createInterface({ input: up.stderr })) {
      said.push(line);
      if (!line.startsWith('ready: ')) continue;
      const [node] = upLayout(one.cluster).nodes(1, 0);
      listens = await someoneListens(nodeSocketPath(node?.run ?? ''));
      up.kill('SIGTERM');
    }
    await ended;
    assert.equal(listens, true, said.join('\n'));
  } finally {
    await one.close();
  }
});
