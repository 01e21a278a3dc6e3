import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { wordsOf } from '../../tests/shell.ts';
import { claimFile } from '../durable/claim.ts';
import { isSluiceError } from '../errors/error.ts';
import { silentLogger } from '../observe/log.ts';
import { isInstalled, runUp, waitsFor } from './cluster.ts';
import { upLayout } from './layout.ts';

test('a second start from the same directory is refused while the first has not written its state', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice up-'));
  t.after(() => rm(dir, { recursive: true }));
  const first = await claimFile(upLayout(dir).claim);
  const second = runUp({
    dir,
    release: join(dir, 'none'),
    keyFiles: [],
    nodes: 1,
    workload: 'none',
    program: ['false'],
    logger: silentLogger,
    say: () => {},
    personReads: false,
    signal: new AbortController().signal,
  });
  const refused = await second.catch((error: unknown) => error);
  assert.ok(isSluiceError(refused, 'Conflict'));
  assert.match(refused.message, /is just being started from/);
  const [, command = ''] = /^Wait for it: (.*)$/.exec(refused.next) ?? [];
  assert.deepEqual(wordsOf(command), ['sluice', 'up', 'status', '--dir', dir]);
  first?.release();
});

test('a cluster in the middle of an update is installed', () => {
  const entry = (state: 'Completed' | 'Partial', version: string) => ({
    state,
    version,
    image: `release@sha256:${'0'.repeat(64)}`,
    startedTime: '2026-01-01T00:00:00Z',
    completionTime: null,
    verified: true,
  });
  const cluster = (...history: ReturnType<typeof entry>[]) => ({ status: { history } }) as never;
  assert.equal(isInstalled(undefined), false);
  assert.equal(isInstalled(cluster(entry('Partial', '1.0.0'))), false);
  assert.equal(isInstalled(cluster(entry('Partial', '1.1.0'), entry('Completed', '1.0.0'))), true);
});

test('what an installation waits for is told in the words of the cluster; a refusal before anything else', () => {
  const version = (...conditions: [string, string, string][]) =>
    ({
      status: { conditions: conditions.map(([type, status, message]) => ({ type, status, message })) },
    }) as never;
  assert.equal(waitsFor(undefined), '');
  const progressing: [string, string, string] = [
    'Progressing',
    'True',
    'Working towards 1.0.0: 3 of 4 done, waiting on Deployment a/b (0 of 1 updated), since 2026-01-01T12:00Z',
  ];
  assert.equal(
    waitsFor(version(progressing)),
    'Working towards 1.0.0: 3 of 4 done, waiting on Deployment a/b (0 of 1 updated)',
  );
  assert.equal(
    waitsFor(version(progressing, ['ReleaseAccepted', 'False', 'not signed\nby anybody'])),
    'not signed by anybody',
  );
});
