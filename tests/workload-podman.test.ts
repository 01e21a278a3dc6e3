import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probeRunner } from '../src/workload/probe.ts';
import { needs } from './tier.ts';
import { workloadSuite } from './workload-suite.ts';

const needed = needs('root', 'containers');
if (needed.skip !== undefined) test('the workload suite with podman', needed, () => {});
else {
  workloadSuite(async (dir) => {
    const probe = await probeRunner(dir);
    assert.ok('runner' in probe && probe.runner === 'podman', JSON.stringify(probe));
    return probe;
  });
}
