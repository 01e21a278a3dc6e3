import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runnerSuite } from '../../tests/runner-suite.ts';
import { needs } from '../../tests/tier.ts';
import { run } from '../process/run.ts';
import { probeRunner } from './probe.ts';

// This file runs twice: as root, and from there once more as a user without rights.
const asRoot = process.getuid?.() === 0;

runnerSuite(async (dir) => {
  const probe = await probeRunner(dir, 'sandbox');
  assert.ok('runner' in probe && probe.runner === 'sandbox', JSON.stringify(probe));
  assert.equal(probe.mode, asRoot ? 'root' : 'user-namespace');
  return probe;
});

if (asRoot) {
  const needed = needs('docker-registry', 'skopeo', 'busybox');
  test('a user without rights: all of it in user namespaces', { ...needed, timeout: 120_000 }, async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'sluice-user-'));
    chmodSync(home, 0o777);
    const { NODE_TEST_CONTEXT: _nested, ...env } = process.env;
    const user = ['--reuid', '65534', '--regid', '65534', '--clear-groups', '--'];
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--test-reporter=tap'];
    const result = await run('setpriv', [...user, ...node, import.meta.filename], {
      env: { ...env, TMPDIR: home, HOME: home },
      timeoutMs: 110_000,
    });
    rmSync(home, { recursive: true, force: true });
    const skipped = /user-namespace: (.*)/.exec(result.stdout + result.stderr)?.[1];
    if (result.code !== 0 && skipped?.includes('Operation not permitted')) return t.skip(skipped);
    assert.equal(result.code, 0, result.stdout.slice(-6000) + result.stderr.slice(-2000));
    assert.match(result.stdout, /# pass 1\d/);
  });
}
