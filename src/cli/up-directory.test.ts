import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { wordsOf } from '../../tests/shell.ts';
import { isSluiceError } from '../errors/error.ts';
import { findCluster } from './connect.ts';
import { findUpDirectories, upDirectoryDefault } from './up-directory.ts';

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
