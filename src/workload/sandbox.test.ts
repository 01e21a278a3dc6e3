import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runnerSuite } from '../../tests/runner-suite.ts';
import { needs } from '../../tests/tier.ts';
import type { Digest } from '../oci/digest.ts';
import { run } from '../process/run.ts';
import { openRunner, probeRunner } from './probe.ts';
import { processes } from './processes.ts';

// This file runs twice: as root, and from there once more as a user without rights.
const asRoot = process.getuid?.() === 0;

runnerSuite(async (dir) => {
  const probe = await probeRunner(dir, 'sandbox');
  assert.ok('runner' in probe && probe.runner === 'sandbox', JSON.stringify(probe));
  assert.equal(probe.mode, asRoot ? 'root' : 'user-namespace');
  return probe;
});

test('a killed supervisor: what it supervised ends, and is told as killed', needs('busybox'), async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-shim-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const image: Digest = `sha256:${'a'.repeat(64)}`;
  const place = join(dir, 'sandbox', 'images', 'a'.repeat(64));
  mkdirSync(join(place, 'rootfs'), { recursive: true });
  copyFileSync('/bin/busybox', join(place, 'rootfs', 'busybox'));
  const info = { digest: image, user: '', entrypoint: [], cmd: [], env: [], workingDir: '' };
  writeFileSync(join(place, 'image.json'), JSON.stringify(info));
  const runner = await openRunner(dir, await probeRunner(dir, 'sandbox'));
  const id = await runner.start({
    podUid: 'pod',
    podName: 'pod',
    podNamespace: 'default',
    container: 'main',
    attempt: 0,
    image,
    argv: ['/busybox', 'sh', '-c', 'while :; do /busybox sleep 0.1; done'],
    env: [],
    workingDir: '',
    readOnlyRoot: false,
    noNewPrivileges: true,
    capabilities: { add: [], drop: [] },
    mounts: [],
    terminationPath: '/dev/termination-log',
    logPath: join(dir, 'log'),
    logBytesMax: 10_000,
  });
  const state = JSON.parse(readFileSync(join(dir, 'sandbox', 'containers', id, 'state.json'), 'utf8'));
  process.kill(state.supervisor, 'SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 200));
  const [container] = await runner.list();
  assert.equal(container?.state.phase, 'exited');
  assert.equal(container?.state.phase === 'exited' && container.state.exitCode, 137);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const left = processes().filter((one) => (asRoot ? one.uid === state.uid : one.pid === state.pid));
  assert.deepEqual(left, []);
  await runner.close();
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
