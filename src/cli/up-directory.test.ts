import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { findCluster } from './connect.ts';
import { findUpDirectories, upDirectoryDefault } from './up-directory.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-updir-'));
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
  const saying = (next: RegExp) => (error: unknown) =>
    isSluiceError(error, 'NotFound') &&
    /no kubeconfig: \/absent/.test(error.message) &&
    next.test(error.next);
  await assert.rejects(findCluster({}, env, [directory]), saying(/or set KUBECONFIG: sluice up and/));
  writeFileSync(kubeconfig, '{}');
  await assert.rejects(
    findCluster({}, env, ['/absent', directory]),
    saying(new RegExp(`: export KUBECONFIG=${kubeconfig}\\. For another`)),
  );
});
