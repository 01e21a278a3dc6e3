import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { wordsOf } from '../../tests/shell.ts';
import { SluiceError } from '../errors/error.ts';
import { isOwnerAlive, ownOwner } from '../store/owner.ts';
import { upLayout } from './layout.ts';
import { requireStopped, startTicksOf, type UpState, writeState } from './state.ts';

test('a process that has ended is gone, though its parent has not asked for it', async (t) => {
  // The child ends after another program took the shell's place, which never asks for it.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => parent.kill('SIGKILL'));
  const [said] = await once(parent.stdout, 'data');
  const pid = Number(String(said));
  const started = await startTicksOf(pid);
  assert.notEqual(started, undefined);
  const until = Date.now() + 5_000;
  while ((await startTicksOf(pid)) !== undefined) assert.ok(Date.now() < until, 'it counts as running');
  process.kill(pid, 0); // It still stands in the table of processes.
  assert.notEqual(await startTicksOf(process.pid), undefined);
  const [, start, boot] = ownOwner.split('-');
  assert.equal(await isOwnerAlive(`${process.pid}-${start}-${boot}`), true);
  assert.equal(await isOwnerAlive(`${pid}-${started}-${boot}`), false);
});

test('a cluster that runs in a directory with blanks is named by commands that a shell can read', async (t) => {
  const layout = upLayout(mkdtempSync(join(tmpdir(), "sluice of 'me' $HOME-")));
  t.after(() => rmSync(layout.dir, { recursive: true }));
  const { pid } = process;
  const startTicks = (await startTicksOf(pid)) ?? 0;
  const state: Partial<UpState> = { pid, startTicks, kubeconfig: layout.kubeconfig };
  await writeState(layout, state as UpState);
  await assert.rejects(requireStopped(layout), (error) => {
    assert.ok(error instanceof SluiceError);
    const [, use = '', end = ''] = /^Use it: (.*); or end it: (.*)$/.exec(error.next) ?? [];
    assert.deepEqual(wordsOf(use), ['export', `KUBECONFIG=${layout.kubeconfig}`]);
    assert.deepEqual(wordsOf(end), ['sluice', 'up', 'stop', '--dir', layout.dir]);
    return true;
  });
});
