import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runnerSuite } from '../../tests/runner-suite.ts';
import { needs } from '../../tests/tier.ts';
import { probeRunner } from './probe.ts';

const needed = needs('root');
if (needed.skip !== undefined) test('the sandbox runner', needed, () => {});
else {
  runnerSuite(async (dir) => {
    const probe = await probeRunner(dir, 'sandbox');
    assert.ok('runner' in probe && probe.runner === 'sandbox', JSON.stringify(probe));
    assert.equal(probe.mode, 'root');
    return probe;
  });
}
