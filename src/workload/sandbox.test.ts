import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { containerDirectory, endless } from '../../tests/endless.ts';
import { runnerSuite } from '../../tests/runner-suite.ts';
import { needs } from '../../tests/tier.ts';
import { run } from '../process/run.ts';
import { endContainers, openRunner, probeRunner } from './probe.ts';
import { processes } from './processes.ts';

// This file runs three times: as root, and from there in both ways that are poorer.
const asRoot = process.getuid?.() === 0;
const nested = process.env.SLUICE_TEST_NESTED === '1';
const left = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'setgid',
  'setuid',
  'setpcap',
  'net_bind_service',
  'net_raw',
  'sys_chroot',
  'mknod',
  'audit_write',
  'setfcap',
];

runnerSuite(async (dir) => {
  const probe = await probeRunner(dir, 'sandbox');
  assert.ok('runner' in probe && probe.runner === 'sandbox', JSON.stringify(probe));
  assert.equal(probe.mode, asRoot ? 'root' : 'user-namespace');
  return probe;
});

test('a killed supervisor: what it supervised ends, and is told as killed', needs('busybox'), async (t) => {
  const dir = containerDirectory(t, 'shim');
  const runner = await openRunner(dir, await probeRunner(dir, 'sandbox'));
  const id = await runner.start(endless(dir));
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

test('who looks while containers start takes none for killed', needs('busybox'), async (t) => {
  const dir = containerDirectory(t, 'start');
  const runner = await openRunner(dir, await probeRunner(dir, 'sandbox'));
  let looking = true;
  // Each look is a moment apart from the others, so that one of them falls into the end of a start.
  const looks = Array.from({ length: 60 }, async () => {
    while (looking) await runner.list();
  });
  try {
    for (let times = 0; times < 2; times += 1) await runner.start(endless(dir));
  } finally {
    looking = false;
    await Promise.all(looks);
  }
  assert.deepEqual(
    (await runner.list()).map(({ state }) => state.phase),
    Array.from({ length: 2 }, () => 'running'),
  );
  await runner.endAll(0);
  await runner.close();
});

test('what a killed node left is ended without a probe', needs('busybox'), async (t) => {
  const dir = containerDirectory(t, 'left');
  await endContainers(dir, 0);
  const runner = await openRunner(dir, await probeRunner(dir, 'sandbox'));
  await runner.start(endless(dir));
  await runner.close();
  await endContainers(dir, 0);
  const again = await openRunner(dir, await probeRunner(dir, 'sandbox'));
  assert.deepEqual(
    (await again.list()).map(({ state }) => state.phase),
    ['exited'],
  );
  await again.close();
});

const ways: { name: string; setpriv: string[]; mayLack?: string }[] = [
  {
    name: 'a user without rights: all of it in user namespaces',
    setpriv: ['--reuid', '65534', '--regid', '65534', '--clear-groups'],
    mayLack: 'Operation not permitted',
  },
  {
    name: 'root of an unprivileged container: all of it with the capabilities that container engines leave',
    setpriv: ['--inh-caps=-all', `--bounding-set=-all,${left.map((name) => `+${name}`).join(',')}`],
  },
];

for (const way of nested ? [] : ways) {
  const needed = needs('root', 'docker-registry', 'skopeo', 'busybox');
  test(way.name, { ...needed, timeout: 120_000 }, async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'sluice-way-'));
    chmodSync(home, 0o777);
    const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--test-reporter=tap'];
    const result = await run('setpriv', [...way.setpriv, '--', ...node, import.meta.filename], {
      env: { ...env, TMPDIR: home, HOME: home, SLUICE_TEST_NESTED: '1' },
      timeoutMs: 110_000,
    });
    rmSync(home, { recursive: true, force: true });
    const said = /user-namespace: (.*)/.exec(result.stdout + result.stderr)?.[1];
    if (way.mayLack !== undefined && said?.includes(way.mayLack)) return t.skip(said);
    assert.equal(result.code, 0, result.stdout.slice(-6000) + result.stderr.slice(-2000));
    // A run that found nothing to do would end well too.
    assert.ok(Number(/# pass (\d+)/.exec(result.stdout)?.[1]) >= 15, result.stdout.slice(-500));
  });
}
