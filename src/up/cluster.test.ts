import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimFile } from '../durable/claim.ts';
import { silentLogger } from '../observe/log.ts';
import { runUp } from './cluster.ts';
import { upLayout } from './layout.ts';

test('a second start from the same directory is refused while the first has not written its state', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-up-'));
  t.after(() => rm(dir, { recursive: true }));
  const first = await claimFile(upLayout(dir).claim);
  const second = runUp({
    dir,
    release: join(dir, 'none'),
    keyFiles: [],
    nodes: 1,
    workload: 'none',
    program: ['false'],
    deployDirectory: dir,
    logger: silentLogger,
    say: () => {},
    signal: new AbortController().signal,
  });
  await assert.rejects(second, /is just being started from/);
  first?.release();
});
