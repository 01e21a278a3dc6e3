import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { upLayout } from '../src/up/layout.ts';
import { isFree } from '../src/up/network.ts';
import { readState } from '../src/up/state.ts';
import { needs, repository } from './tier.ts';

interface Summary {
  readonly from: string;
  readonly to: string;
  readonly nodes: number;
  readonly state: string;
  readonly refusedBy: string[];
  readonly bytesCopied: number;
  readonly osDriver: string;
  readonly containers: string;
  readonly notIsolated: string[];
  readonly seconds: number;
  readonly kubeconfig: string;
  readonly registries: string[];
  readonly caFile: string;
  readonly authFile: string;
}

/** Runs ./quickstart and gives back its last line of standard output. */
async function quickstart(
  ...words: string[]
): Promise<{ code: number | null; summary: Summary; told: string }> {
  const child = spawn(join(repository, 'quickstart'), ['--json', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let told = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const line = stdout.trim().split('\n').at(-1) ?? '';
  assert.match(line, /^\{/, `exit code ${code}; it told:\n${told.slice(-4000)}`);
  return { code, summary: JSON.parse(line) as Summary, told };
}

const place = join(repository, '.quickstart');

/** Processes that run from the demo's directory, by their command line or their working directory. */
function processesLeft(): string[] {
  return readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return false;
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, 'utf8');
      return words.includes(place) || readlinkSync(`/proc/${entry}/cwd`).startsWith(place);
    } catch {
      return false;
    }
  });
}

async function nothingIsLeft(registries: readonly string[] = []): Promise<void> {
  assert.deepEqual(processesLeft(), [], 'no process');
  assert.ok(!readFileSync('/proc/self/mountinfo', 'utf8').includes(place), 'no mount');
  for (const registry of registries) {
    const [address = '', port = ''] = registry.split(':');
    assert.ok(await isFree(address, Number(port)), `no port: ${registry}`);
  }
  assert.ok(!existsSync(place), 'no file');
}

after(() => {
  spawnSync(join(repository, 'quickstart'), ['--stop'], { timeout: 120_000 });
});

test(
  'the whole way with containers, left running, looked at by kubectl and skopeo, ended',
  needs('root', 'containers', 'xorriso'),
  async (t) => {
    const { code, summary } = await quickstart('--keep', '--runner', 'podman');
    assert.equal(code, 0);
    const { seconds, kubeconfig, registries, caFile, authFile, ...rest } = summary;
    assert.ok(seconds > 0);
    assert.ok(rest.bytesCopied > 3 * 48 * 1024 * 1024, 'the bytes of all three nodes');
    assert.deepEqual(
      { ...rest, bytesCopied: 0 },
      {
        from: '1.0.0',
        to: '1.1.0',
        nodes: 3,
        state: 'Completed',
        refusedBy: ['EvictionPolicyRemoved'],
        bytesCopied: 0,
        osDriver: 'simulated',
        containers: 'podman',
        notIsolated: rest.notIsolated,
      },
    );
    assert.equal(registries.length, 3);

    const kubectl = (...words: string[]) =>
      spawnSync('kubectl', ['--kubeconfig', kubeconfig, ...words], { encoding: 'utf8', timeout: 60_000 });
    await t.test('kubectl shows useful columns and describes', needs('kubectl'), () => {
      const kinds = 'clusterversion,internalreleaseimage,machineconfignode,updatepreflight,nodeupdate';
      const got = kubectl('get', kinds, '-A');
      assert.equal(got.status, 0, got.stderr);
      assert.match(got.stdout, /clusterversion\S*\/version\s+1\.1\.0\s+True\s+False/);
      const well =
        /machineconfignode\S*\/master-0 +master +False +AllReleasesAvailable +\S+ +All the release/;
      assert.match(got.stdout, well);
      for (const name of ['internalreleaseimage', 'machineconfignode', 'updatepreflight', 'nodeupdate']) {
        assert.match(got.stdout, new RegExp(`^${name}|${name}\\S*/`, 'm'));
      }
      for (const kind of kinds.split(',')) {
        const described = kubectl('describe', kind, '-A');
        assert.equal(described.status, 0, described.stderr);
        assert.match(described.stdout, /Conditions:|Checks:|Holds|State:/, kind);
      }
    });
    await t.test(
      'skopeo copies by digest with the password, and is refused without',
      needs('skopeo', 'kubectl'),
      () => {
        const image = kubectl(
          'get',
          'clusterversion',
          'version',
          '-o',
          'jsonpath={.status.desired.image}',
        ).stdout;
        const digest = image.slice(image.indexOf('@'));
        const from = `docker://${registries[1]}/openshift/release-images${digest}`;
        const certificates = join(place, 'certs');
        spawnSync('sh', ['-c', 'mkdir -p "$1" && cp "$2" "$1/ca.crt"', 'sh', certificates, caFile]);
        const inspect = (...words: string[]) =>
          spawnSync('skopeo', ['inspect', '--raw', '--cert-dir', certificates, ...words, from], {
            encoding: 'utf8',
            timeout: 60_000,
          });
        const allowed = inspect('--authfile', authFile);
        assert.equal(allowed.status, 0, allowed.stderr);
        assert.match(allowed.stdout, /schemaVersion/);
        const refused = inspect('--no-creds');
        assert.notEqual(refused.status, 0);
        assert.match(refused.stderr, /unauthorized|authentication required/i);
      },
    );
    const stopped = spawnSync(join(repository, 'quickstart'), ['--stop'], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    assert.equal(stopped.status, 0, stopped.stderr);
    await nothingIsLeft(registries);
  },
);

test('the whole way in the sandbox, where containers cannot run', needs('root', 'xorriso'), async () => {
  const { code, summary } = await quickstart('--runner', 'sandbox');
  assert.equal(code, 0);
  assert.equal(summary.state, 'Completed');
  assert.equal(summary.containers, 'sandbox');
  assert.ok(summary.notIsolated.length > 0, 'it says what is not isolated');
  await nothingIsLeft(summary.registries);
});

/** A quickstart in the sandbox that goes on by itself. */
function begun(): {
  child: ChildProcess;
  told(): string;
  says(words: string): Promise<void>;
  code: Promise<number | null>;
} {
  const child = spawn(join(repository, 'quickstart'), ['--json', '--runner', 'sandbox'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  return {
    child,
    told: () => told,
    async says(words) {
      while (!told.includes(words)) {
        assert.equal(child.exitCode, null, told.slice(-4000));
        await sleep(100);
      }
    },
    code: ended,
  };
}

test(
  'a second one in the same place is refused, and the first goes on; Ctrl-C leaves nothing behind',
  needs('root', 'xorriso'),
  async () => {
    const first = begun();
    await first.says('three nodes at');
    const second = spawnSync(join(repository, 'quickstart'), ['--json'], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(second.status, 1);
    assert.match(
      second.stderr,
      /another \.\/quickstart runs in \.quickstart \(process \d+\)\n {2}next: .*--stop.*--dir/,
    );
    await first.says('EvictionPolicyRemoved');
    first.child.kill('SIGINT');
    assert.equal(await first.code, 130);
    await nothingIsLeft();
  },
);

test(
  'a cluster that dies in the midst of it: told with its last words, and its logs stay until --stop',
  needs('root', 'xorriso'),
  async () => {
    const { says, told, code } = begun();
    await says('three nodes at');
    const state = await readState(upLayout(join(place, 'cluster')));
    process.kill(state?.pid ?? 0, 'SIGKILL');
    assert.equal(await code, 1);
    assert.match(
      told(),
      /error: the cluster has ended in the midst of it: SIGKILL\n {2}next: .*\n {2}the cluster said last:\n(?: {4}.*\n)*? {4}ready: 1\.0\.0 on 3 nodes/,
    );
    assert.ok(existsSync(join(place, 'cluster', 'logs')));
    spawnSync(join(repository, 'quickstart'), ['--stop'], { timeout: 120_000 });
    await nothingIsLeft();
  },
);

test('--stop ends one that runs', needs('root', 'xorriso'), async () => {
  const { says, code } = begun();
  await says('payload 1.1.0 built');
  const stop = spawnSync(join(repository, 'quickstart'), ['--stop'], { encoding: 'utf8', timeout: 120_000 });
  assert.equal(stop.status, 0, stop.stderr);
  assert.match(stop.stdout, /ending the \.\/quickstart that runs \(process \d+\)[\s\S]*stopped/);
  assert.equal(await code, 130);
  await nothingIsLeft();
});
