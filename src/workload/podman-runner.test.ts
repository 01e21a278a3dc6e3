import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runnerSuite } from '../../tests/runner-suite.ts';
import { needs } from '../../tests/tier.ts';
import { probeRunner } from './probe.ts';

const needed = needs('root', 'containers');
if (needed.skip !== undefined) test('the podman runner', needed, () => {});
else {
  runnerSuite(async (dir) => {
    const probe = await probeRunner(dir);
    assert.ok('runner' in probe && probe.runner === 'podman', JSON.stringify(probe));
    return probe;
  });
}
