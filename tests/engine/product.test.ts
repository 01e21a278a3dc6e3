import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { run } from '../../src/process/run.ts';
import { repository } from '../tier.ts';
import { needsRealEngine } from './real.ts';

/**
 * The product's own suites once more, with a real kube-apiserver under them instead of the embedded one: the client,
 * the policies, content from a disk to three nodes, preflight, an update, kubectl.
 */
const suites = [
  'src/kube/cluster.test.ts',
  'src/release/guard.test.ts',
  'tests/content-plane.test.ts',
  'tests/catalogs.test.ts',
  'tests/preflight.test.ts',
  'tests/update.test.ts',
  'tests/kubectl.test.ts',
  'src/workload/kubelet-sandbox.test.ts',
];

const minutesMax = 10;

describe('the product on a real kube-apiserver', needsRealEngine(), () => {
  for (const suite of suites) {
    test(suite, async (t) => {
      const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
      const flags = process.execArgv.filter((flag) => !flag.startsWith('--test'));
      const result = await run(process.execPath, [...flags, '--test', join(repository, suite)], {
        env: { ...environment, SLUICE_TEST_ENGINE: 'real' },
        timeoutMs: minutesMax * 60_000,
      });
      const count = (what: string) =>
        Number(new RegExp(`^. ${what} (\\d+)$`, 'm').exec(result.stdout)?.[1] ?? 0);
      t.diagnostic(`${count('pass')} passed, ${count('skipped')} skipped`);
      assert.equal(result.code, 0, result.stdout.slice(-20_000) + result.stderr.slice(-5_000));
      assert.ok(count('pass') > 0);
    });
  }
});
