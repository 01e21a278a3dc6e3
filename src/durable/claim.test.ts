import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimFile } from './claim.ts';

test('a claim holds against this process and others, and ends with the process that is killed', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-claim-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'claim');
  const mine = await claimFile(path);
  assert.ok(mine);
  assert.equal(await claimFile(path), undefined);
  mine.release();

  const module = JSON.stringify(join(import.meta.dirname, 'claim.ts'));
  const script = `const { claimFile } = await import(${module});
    console.log(await claimFile(${JSON.stringify(path)}) !== undefined); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  assert.equal(String(said), 'true\n');
  assert.equal(await claimFile(path), undefined);
  const waiting = claimFile(path, 10_000);
  child.kill('SIGKILL');
  const again = await waiting;
  assert.ok(again);
  again.release();
});
