import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { wordsOf } from '../../tests/shell.ts';
import { repository } from '../../tests/tier.ts';
import { upLayout } from '../up/layout.ts';
import { startTicksOf, type UpState, writeState } from '../up/state.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice up command-'));
after(() => rmSync(directory, { recursive: true }));

test('up status and up stop mean the cluster whose kubeconfig is in use', async (t) => {
  const layout = upLayout(directory);
  const process_ = spawn('sleep', ['600']);
  const gone = once(process_, 'exit');
  t.after(() => process_.kill('SIGKILL'));
  const state = {
    pid: process_.pid,
    startTicks: await startTicksOf(process_.pid ?? 0),
    phase: 'ready',
    release: '1.0.0',
    kubeconfig: layout.kubeconfig,
    consoleUrl: 'http://127.0.0.1:1/',
    workload: { runner: 'sandbox', notIsolated: [] },
    nodes: [{ name: 'master-0', address: '127.22.62.11', registry: '127.22.62.11:22625', dir: directory }],
  } as unknown as UpState;
  await writeState(layout, state);
  const sluice = (...words: string[]) =>
    spawnSync(join(repository, 'sluice'), words, {
      encoding: 'utf8',
      env: { ...process.env, KUBECONFIG: layout.kubeconfig },
    });
  const { stdout: told } = sluice('up', 'status');
  assert.match(told, /^ready: installed with 1\.0\.0, process \d+$/m);
  const commands = [/^ {2}(export .*)$/m, /to log in: (.*)\)$/m].map((each) => each.exec(told)?.[1] ?? '');
  assert.deepEqual(commands.map(wordsOf), [
    ['export', `KUBECONFIG=${layout.kubeconfig}`],
    [join(repository, 'sluice'), 'console', 'link', '--dir', directory],
  ]);
  assert.equal(sluice('up', 'status', '-o', 'name').stdout, 'node/master-0\n');
  const other = sluice('up', 'status', '--dir', '/nowhere');
  assert.equal(other.status, 1);
  assert.match(other.stderr, /no cluster runs from \/nowhere\n {2}next: .*--dir DIR/);
  assert.equal(sluice('up', 'stop').stderr, `the cluster of ${directory} is stopped\n`);
  await gone;
  const again = sluice('up', 'stop');
  assert.match(again.stderr, /^no cluster runs from .*; none of its containers is left\n$/);
  assert.equal(again.status, 0);
  const mistyped = sluice('up', 'stop', '--dir', '/nowhere');
  assert.equal(mistyped.status, 1);
  assert.match(mistyped.stderr, /no cluster runs from \/nowhere, nor did one ever\n {2}next: .*--dir DIR/);
});

test('a start that cannot be is refused at once: a directory of others, no release, one that is not there', (t) => {
  const place = mkdtempSync(join(tmpdir(), 'sluice up refused-'));
  t.after(() => rmSync(place, { recursive: true }));
  // Without containers there is nothing to probe, but that would be said.
  const up = (dir: string, ...words: string[]) => {
    const all = ['up', '--dir', dir, '--workload', 'none', ...words];
    const { status, stderr } = spawnSync(join(repository, 'sluice'), all, { encoding: 'utf8' });
    return { status, lines: stderr.trimEnd().split('\n') };
  };
  const docs = join(place, 'docs');
  mkdirSync(docs);
  writeFileSync(join(docs, 'README.md'), '');
  const foreign = up(docs);
  assert.equal(foreign.status, 1);
  assert.deepEqual(foreign.lines, [
    `error: ${docs} is not empty, and no cluster was ever started from it`,
    '  next: Name a directory for the cluster alone, empty or not there yet: --dir DIR',
  ]);
  assert.deepEqual(readdirSync(docs), ['README.md']);

  const cluster = join(place, 'cluster');
  const none = up(cluster);
  assert.equal(none.status, 2);
  assert.equal(none.lines[0], 'error: a cluster needs a release to begin with');
  const mistyped = up(cluster, '--release', join(place, 'absent'));
  assert.equal(mistyped.status, 1);
  assert.equal(mistyped.lines[0], `error: ${join(place, 'absent')} does not exist`);

  // A first start that was not finished keeps what it has, where the next one brings no release after all.
  const layout = upLayout(cluster);
  for (const file of [layout.installed, layout.firstStart]) writeFileSync(file, '{}');
  assert.equal(up(cluster, '--release', join(place, 'absent')).lines[0], mistyped.lines[0]);
  assert.ok(existsSync(layout.installed));
});
