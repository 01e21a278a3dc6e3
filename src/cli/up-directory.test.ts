import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { wordsOf } from '../../tests/shell.ts';
import { repository } from '../../tests/tier.ts';
import { isSluiceError } from '../errors/error.ts';
import { findCluster } from './connect.ts';
import {
  findUpDirectories,
  hostNote,
  nextWithoutDirectory,
  upDirectoryDefault,
  upOfMachine,
} from './up-directory.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice updir-'));
after(() => rmSync(directory, { recursive: true }));
const kubeconfig = join(directory, 'kubeconfig');

test('a kubeconfig that lies beside the state of sluice up means that cluster, and no other', () => {
  const env = { KUBECONFIG: `/absent/kubeconfig:${kubeconfig}` };
  assert.deepEqual(findUpDirectories({}, env), {
    named: false,
    directories: ['/absent', directory, upDirectoryDefault],
  });
  writeFileSync(join(directory, 'state.json'), '{}');
  assert.deepEqual(findUpDirectories({}, env), { named: true, directories: [directory] });
  assert.deepEqual(findUpDirectories({ kubeconfig }, {}), { named: true, directories: [directory] });
  assert.deepEqual(findUpDirectories({ dir: '/other' }, env), { named: true, directories: ['/other'] });
  assert.deepEqual(findUpDirectories({}, {}), { named: false, directories: [upDirectoryDefault] });
});

test('without a kubeconfig, the answer names that of the cluster which was made on this machine', async () => {
  const env = { KUBECONFIG: '/absent/kubeconfig' };
  const next = async (places: string[]): Promise<string> => {
    const error = await findCluster({}, env, places).catch((thrown: unknown) => thrown);
    assert.ok(isSluiceError(error, 'NotFound'));
    assert.match(error.message, /no kubeconfig: \/absent/);
    return error.next;
  };
  assert.match(await next([directory]), /or set KUBECONFIG: sluice up and/);
  writeFileSync(kubeconfig, '{}');
  const [, command = ''] = /: (export .*)\. For another/.exec(await next(['/absent', directory])) ?? [];
  assert.deepEqual(wordsOf(command), ['export', `KUBECONFIG=${kubeconfig}`]);
});

test('who looks for a running cluster and has named none is told of the one that was made on this machine', () => {
  writeFileSync(kubeconfig, '{}');
  const next = nextWithoutDirectory(false, ['/absent', directory], 'Name it.');
  const [, command = ''] =
    /^For the cluster of this machine: (export .*)\. For another: --dir DIR\.$/.exec(next) ?? [];
  assert.deepEqual(wordsOf(command), ['export', `KUBECONFIG=${kubeconfig}`]);
  assert.equal(nextWithoutDirectory(true, [directory], 'Name it.'), 'Name it.');
  assert.equal(nextWithoutDirectory(false, ['/absent'], 'Name it.'), 'Name it.');
});

test('console link and up status tell of it, where they stand beside it', () => {
  const made = join(directory, '.quickstart', 'cluster');
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, 'kubeconfig'), '{}');
  const env = { PATH: process.env.PATH, HOME: '/absent' };
  for (const words of [
    ['console', 'link'],
    ['up', 'status'],
  ]) {
    const { status, stderr } = spawnSync(join(repository, 'sluice'), words, {
      encoding: 'utf8',
      cwd: directory,
      env,
    });
    assert.equal(status, 1, stderr);
    assert.match(
      stderr,
      /next: For the cluster of this machine: export KUBECONFIG=.*\.quickstart\/cluster\/kubeconfig/,
    );
    assert.match(stderr, /For another: --dir DIR\.$/m);
  }
});

test('what is about this host says so first, and how the cluster of this machine is asked', () => {
  const cluster = mkdtempSync(join(tmpdir(), 'sluice updir-'));
  after(() => rmSync(cluster, { recursive: true }));
  writeFileSync(join(cluster, 'state.json'), '{}');
  assert.equal(upOfMachine({}, ['/absent', cluster]), cluster);
  assert.equal(upOfMachine({ KUBECONFIG: join(cluster, 'kubeconfig') }, []), cluster);
  assert.equal(upOfMachine({}, ['/absent']), undefined);
  assert.equal(
    hostNote(undefined, 'a cluster: --nodes'),
    'about THIS HOST, not about a cluster (a cluster: --nodes)',
  );
  const [, command = ''] = /: (export .*), then again/.exec(hostNote(cluster, '')) ?? [];
  assert.deepEqual(wordsOf(command), ['export', `KUBECONFIG=${join(cluster, 'kubeconfig')}`]);
  const env = { PATH: process.env.PATH, HOME: '/absent' };
  const sluice = (...words: string[]) =>
    spawnSync(join(repository, 'sluice'), words, { encoding: 'utf8', env });
  assert.match(sluice('window', 'ls').stderr, /^about THIS HOST, not about a cluster/);
  assert.match(sluice('node', 'config').stderr, /^about THIS HOST's agent, not about a node of a cluster/);
  const up = spawnSync(join(repository, 'sluice'), ['node', 'config'], {
    encoding: 'utf8',
    env: { ...env, KUBECONFIG: join(cluster, 'kubeconfig') },
  });
  const [, option = ''] = /: (--config-dir .*)$/m.exec(up.stderr) ?? [];
  assert.deepEqual(wordsOf(option), ['--config-dir', join(cluster, 'nodes', 'master-0', 'config.d')]);
  assert.equal(sluice('node', 'config', '--config-dir', cluster).stderr.includes('THIS HOST'), false);
});
