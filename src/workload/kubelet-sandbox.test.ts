import assert from 'node:assert/strict';
import { kubeletSuite } from '../../tests/kubelet-suite.ts';
import { probeRunner } from './probe.ts';

kubeletSuite(async (dir) => {
  const probe = await probeRunner(dir, 'sandbox');
  assert.ok('runner' in probe && probe.runner === 'sandbox', JSON.stringify(probe));
  return probe;
});
