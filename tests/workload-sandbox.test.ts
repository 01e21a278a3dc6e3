import assert from 'node:assert/strict';
import { probeRunner } from '../src/workload/probe.ts';
import { workloadSuite } from './workload-suite.ts';

workloadSuite(async (dir) => {
  const probe = await probeRunner(dir, 'sandbox');
  assert.ok('runner' in probe && probe.runner === 'sandbox', JSON.stringify(probe));
  return probe;
});
