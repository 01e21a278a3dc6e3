import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubeletSuite } from '../../tests/kubelet-suite.ts';
import { needs } from '../../tests/tier.ts';
import { probeRunner } from './probe.ts';

const needed = needs('root', 'containers');
if (needed.skip !== undefined) test('the kubelet with podman', needed, () => {});
else {
  kubeletSuite(async (dir) => {
    const probe = await probeRunner(dir);
    assert.ok('runner' in probe && probe.runner === 'podman', JSON.stringify(probe));
    return probe;
  });
}
