import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { isSluiceError } from '../src/errors/error.ts';
import type { Digest } from '../src/oci/digest.ts';
import { mountsBelow } from '../src/workload/mounts.ts';
import { endContainers, notIsolatedBy, openRunner, type RunnerProbe } from '../src/workload/probe.ts';
import type { ContainerSpec, Runner, RunnerContainer } from '../src/workload/runner.ts';
import { Closing } from './closing.ts';
import { busyboxFiles, type ImageRegistry, startImageRegistry } from './image-registry.ts';
import { needs } from './tier.ts';

/** What every runner must do, with real containers from a real registry. */
export function runnerSuite(probe: (dir: string) => Promise<RunnerProbe>): void {
  const needed = needs('docker-registry', 'skopeo', 'busybox');
  if (needed.skip !== undefined) {
    test('the runner suite', needed, () => {});
    return;
  }
  const dir = mkdtempSync(join(tmpdir(), 'sluice-runner-'));
  let registry: ImageRegistry;
  let runner: Runner;
  let image: Digest;
  let found: RunnerProbe;
  let containers = 0;
  let mountsBefore: string[];

  before(async () => {
    mountsBefore = await ownMounts();
    registry = await startImageRegistry(join(dir, 'registry'));
    image = await registry.push('test/busybox', busyboxFiles(), {
      cmd: ['/bin/sh'],
      env: ['PATH=/bin', 'FROM_IMAGE=yes'],
      workingDir: '/tmp',
      user: '1234',
    });
    found = await probe(join(dir, 'node'));
    runner = await openRunner(join(dir, 'node'), found);
  });

  // What a test that failed half-way left running would take its time from all others.
  afterEach(() => runner?.endAll(0));

  after(async () => {
    const closing = new Closing();
    closing.add('the directory', () => rmSync(dir, { recursive: true, force: true }));
    closing.add('the registry', () => registry?.close());
    closing.add('the runner', () => runner?.close());
    closing.add('the containers', () => endContainers(join(dir, 'node'), 0));
    await closing.close();
  });

  const trust = () => ({ caPem: registry.caPem, auth: registry.auth });
  const location = (digest = image) => ({ host: registry.host, repository: 'test/busybox', digest });

  function spec(argv: string[], more: Partial<ContainerSpec> = {}): ContainerSpec {
    containers += 1;
    return {
      podUid: `00000000-0000-0000-0000-${String(containers).padStart(12, '0')}`,
      podName: `pod-${containers}`,
      podNamespace: 'default',
      container: 'main',
      attempt: 0,
      image,
      argv,
      env: [{ name: 'PATH', value: '/bin' }],
      workingDir: '',
      readOnlyRoot: false,
      noNewPrivileges: true,
      capabilities: { add: [], drop: ['ALL'] },
      mounts: [],
      terminationPath: '/dev/termination-log',
      logPath: join(dir, 'logs', `${containers}.log`),
      logBytesMax: 1024 * 1024,
      ...more,
    };
  }

  async function ended(id: string, seconds = 30): Promise<RunnerContainer & { state: { phase: 'exited' } }> {
    for (let attempt = 0; attempt < seconds * 20; attempt += 1) {
      const container = (await runner.list()).find((one) => one.id === id);
      assert.ok(container, 'the container is known');
      if (container.state.phase === 'exited') return container as never;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`container ${id} did not end`);
  }

  async function runToEnd(wanted: ContainerSpec) {
    await runner.pull(location(), trust());
    const id = await runner.start(wanted);
    const container = await ended(id);
    const log = existsSync(wanted.logPath) ? readFileSync(wanted.logPath, 'utf8') : '';
    const said = log.replaceAll(/^\S+ (stdout|stderr) [FP] /gm, '');
    return { id, container, log, said };
  }

  test('what containers share with the host is known, before and after the runner is opened', () => {
    assert.deepEqual(runner.notIsolated, notIsolatedBy(found));
    assert.ok(runner.notIsolated.some((each) => each.startsWith('network:')));
  });

  test('pulls an image by digest with the password, and tells its configuration', async () => {
    assert.equal(await runner.image(image), undefined);
    const info = await runner.pull(location(), trust());
    assert.deepEqual(info.cmd, ['/bin/sh']);
    assert.equal(info.user, '1234');
    assert.equal(info.workingDir, '/tmp');
    assert.ok(info.env.includes('FROM_IMAGE=yes'));
    assert.deepEqual(await runner.image(image), info);
  });

  test('a pull without the password, of nothing, and of an unknown server each fail as what they are', async () => {
    const other = `sha256:${'0'.repeat(64)}` as Digest;
    await assert.rejects(runner.pull(location(other), { caPem: registry.caPem }), (error) =>
      isSluiceError(error, 'Unauthorized'),
    );
    await assert.rejects(runner.pull(location(other), trust()), (error) =>
      isSluiceError(error, 'NotFound', 'ContentMissing'),
    );
    await assert.rejects(runner.pull({ ...location(other), host: '127.0.0.1:1' }, trust()), (error) =>
      isSluiceError(error, 'Unreachable'),
    );
    await assert.rejects(runner.pull(location(other), { auth: registry.auth }), 'an unknown authority');
  });

  test('an exit code, a log in both streams and the last words come back', async () => {
    const { id, container, log } = await runToEnd(
      spec(['/bin/sh', '-c', 'echo out; echo err >&2; echo last words > /dev/termination-log; exit 3']),
    );
    assert.equal(container.state.exitCode, 3);
    assert.equal(container.state.oomKilled, false);
    assert.ok(container.state.finishedAt >= container.state.startedAt);
    assert.match(log, /^\d{4}-\d\d-\d\dT\S+ stdout F out$/m);
    assert.match(log, /^\S+ stderr F err$/m);
    assert.equal(await runner.terminationMessage(id, 4096), 'last words\n');
    assert.equal(await runner.terminationMessage(id, 4), 'last');
    await runner.remove(id);
    assert.equal(
      (await runner.list()).some((one) => one.id === id),
      false,
    );
  });

  test('the arguments and the environment arrive as they are, nothing of the host with them', async () => {
    process.env.SLUICE_TEST_HOST_SECRET = 'leaks';
    const odd = 'a b\n"c" $HOME `id` \\ é';
    const { said } = await runToEnd(
      spec(['/bin/sh', '-c', 'echo "$1"; echo "$ODD"; env', 'sh', odd], {
        env: [
          { name: 'PATH', value: '/bin' },
          { name: 'ODD', value: odd },
          { name: 'LD_LIBRARY_PATH', value: '/nowhere' },
        ],
        workingDir: '/etc',
      }),
    );
    assert.ok(said.startsWith(`${odd}\n${odd}\n`), said);
    assert.match(said, /^LD_LIBRARY_PATH=\/nowhere$/m);
    assert.match(said, /^PWD=\/etc$/m);
    assert.doesNotMatch(said, /SLUICE_TEST_HOST_SECRET/);
  });

  test('the values of the environment stand on no command line', async () => {
    await runner.pull(location(), trust());
    const secret = `hidden-${process.pid}`;
    let looking = true;
    let seen = 0;
    const look = async () => {
      while (looking) {
        for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
          const words = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
          if (words.includes(secret)) seen += 1;
        }
      }
    };
    const watching = look();
    const ran = runToEnd(
      spec(['/bin/sh', '-c', 'echo "$ONE"; echo "$TWO"'], {
        env: [
          { name: 'PATH', value: '/bin' },
          { name: 'ONE', value: `${secret} one` },
          { name: 'TWO', value: `${secret}\ntwo` },
        ],
      }),
    ).finally(() => {
      looking = false;
    });
    const [{ said }] = await Promise.all([ran, watching]);
    assert.equal(said, `${secret} one\n${secret}\ntwo\n`);
    assert.equal(seen, 0);
  });

  test('a program that is not there does not start, and says so', async () => {
    await runner.pull(location(), trust());
    const count = (await runner.list()).length;
    await assert.rejects(runner.start(spec(['/no/such/program'])), /no such file|not found/i);
    assert.equal((await runner.list()).length, count);
  });

  test('volumes: files of the kubelet are read-only, a shared one goes from one container to the next', async () => {
    const podUid = 'feedfeed-0000-0000-0000-000000000001';
    const files = join(dir, 'volumes', 'files');
    const shared = join(dir, 'volumes', 'shared');
    mkdirSync(join(files, 'deep'), { recursive: true });
    mkdirSync(shared, { recursive: true });
    chmodSync(shared, 0o777);
    writeFileSync(join(files, 'key'), 'value 1');
    writeFileSync(join(files, 'deep', 'secret'), 'shh', { mode: 0o400 });
    const mounts = [
      { volume: 'files', source: files, subPath: '', target: '/etc/files', shared: false, readOnly: true },
      { volume: 'shared', source: shared, subPath: '', target: '/work', shared: true, readOnly: false },
    ];
    const first = await runToEnd(
      spec(
        [
          '/bin/sh',
          '-c',
          'cat /etc/files/key > /work/copy; (echo x > /etc/files/key) 2>/dev/null || echo refused',
        ],
        {
          podUid,
          container: 'init',
          mounts,
          readOnlyRoot: true,
        },
      ),
    );
    assert.equal(first.said, 'refused\n');
    assert.equal(first.container.state.exitCode, 0);
    const second = await runToEnd(
      spec(['/bin/sh', '-c', 'cat /work/copy; echo 2 >> /work/copy'], { podUid, mounts }),
    );
    assert.equal(second.said.trim(), 'value 1');
    const third = await runToEnd(spec(['/bin/cat', '/work/copy'], { podUid, attempt: 1, mounts }));
    assert.equal(third.said.replaceAll('\n', ''), 'value 12');
  });

  test('rewritten files of a volume arrive in a running container', async () => {
    const files = join(dir, 'volumes', 'token');
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, 'token'), 'old');
    const mount = {
      volume: 'token',
      source: files,
      subPath: '',
      target: '/run/secrets/t',
      shared: false,
      readOnly: true,
    };
    await runner.pull(location(), trust());
    const wanted = spec(
      ['/bin/sh', '-c', 'while [ "$(cat /run/secrets/t/token)" != new ]; do sleep 0.1; done; echo seen'],
      { mounts: [mount] },
    );
    const id = await runner.start(wanted);
    writeFileSync(join(files, 'token'), 'new');
    await runner.refreshVolume(wanted.podUid, 'token');
    assert.equal((await ended(id)).state.exitCode, 0);
  });

  test('a read-only root cannot be written, a plain one can', async () => {
    const script = 'touch /x 2>/dev/null && echo root; touch /tmp/x 2>/dev/null && echo tmp; true';
    const readOnly = await runToEnd(spec(['/bin/sh', '-c', script], { readOnlyRoot: true }));
    assert.equal(readOnly.said, '');
    const plain = await runToEnd(
      spec(['/bin/sh', '-c', script], { user: 0, capabilities: { add: [], drop: [] } }),
    );
    assert.equal(plain.said, 'root\ntmp\n');
  });

  test('a container holds no capabilities and no way to new ones', async () => {
    const { said } = await runToEnd(
      spec(['/bin/sh', '-c', 'mkdir /tmp/r; /bin/busybox chroot /tmp/r /bin/sh; echo $?; id -u'], {
        user: 1000,
      }),
    );
    const [chroot, uid] = said.trim().split('\n').slice(-2);
    assert.notEqual(chroot, '0');
    assert.notEqual(uid, '0');
  });

  test('stop: SIGTERM first, SIGKILL after the grace', async () => {
    await runner.pull(location(), trust());
    const polite = await runner.start(
      spec(['/bin/sh', '-c', 'trap "exit 7" TERM; while :; do sleep 0.1; done']),
    );
    const stubborn = await runner.start(spec(['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 0.1; done']));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await Promise.all([runner.stop(polite, 10_000), runner.stop(stubborn, 1_000)]);
    assert.equal((await ended(polite)).state.exitCode, 7);
    assert.equal((await ended(stubborn)).state.exitCode, 137);
  });

  test('what a container leaves running ends with it', async () => {
    const { container } = await runToEnd(spec(['/bin/sh', '-c', '(while :; do sleep 0.2; done) & exit 0']));
    assert.equal(container.state.exitCode, 0);
  });

  test('more memory than the limit is an end by the kernel or the watch, and told as such', async () => {
    const { container } = await runToEnd(
      spec(['/bin/sh', '-c', 'x=aaaaaaaa; while :; do x=$x$x; sleep 0.02; done'], {
        memoryBytes: 32 * 2 ** 20,
      }),
    );
    assert.equal(container.state.exitCode, 137);
    assert.equal(container.state.oomKilled, true);
    assert.ok(!existsSync('oom'), 'a runner leaves nothing in the working directory');
  });

  test('a log is limited', async () => {
    const wanted = spec(
      ['/bin/sh', '-c', 'i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; echo the end'],
      { logBytesMax: 16 * 1024 },
    );
    const { log, container } = await runToEnd(wanted);
    assert.equal(container.state.exitCode, 0);
    assert.ok(log.length <= 20 * 1024, `${log.length} bytes`);
    assert.match(log, /the end/);
  });

  test('a command runs in a running container, and one that hangs is given up', async () => {
    await runner.pull(location(), trust());
    const id = await runner.start(
      spec(['/bin/sh', '-c', 'touch /tmp/ready; while :; do sleep 0.1; done'], { user: 0 }),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    const good = await runner.exec(id, ['/bin/sh', '-c', 'ls /tmp; exit 4'], 10_000);
    assert.equal(good.code, 4);
    assert.match(good.output, /ready/);
    assert.equal((await runner.exec(id, ['/bin/sleep', '30'], 500)).code, null);
    await runner.stop(id, 0);
  });

  test('an end is told without being asked for', async () => {
    await runner.pull(location(), trust());
    const told = new Promise<void>((resolve) => {
      const off = runner.onChange(() => {
        off();
        resolve();
      });
    });
    const kept = setInterval(() => {}, 1000);
    try {
      await runner.start(spec(['/bin/true']));
      await told;
    } finally {
      clearInterval(kept);
    }
  });

  test('containers survive the runner: another one finds them, and their exit codes', async () => {
    await runner.pull(location(), trust());
    const wanted = spec(['/bin/sh', '-c', 'sleep 1; echo still here; exit 5']);
    const id = await runner.start(wanted);
    await runner.close();
    runner = await openRunner(join(dir, 'node'), found);
    const again = (await runner.list()).find((one) => one.id === id);
    assert.equal(again?.podName, wanted.podName);
    assert.equal(again?.logPath, wanted.logPath);
    assert.equal((await ended(id)).state.exitCode, 5);
    assert.match(readFileSync(wanted.logPath, 'utf8'), /still here/);
  });

  test('a reboot ends everything, keeps the records, and leaves nothing mounted', async () => {
    await runner.pull(location(), trust());
    const id = await runner.start(spec(['/bin/sh', '-c', 'while :; do sleep 0.1; done']));
    await runner.endAll(200);
    const all = await runner.list();
    assert.ok(all.some((one) => one.id === id));
    assert.ok(all.every((one) => one.state.phase === 'exited'));
    assert.deepEqual(await mountsBelow(dir), []);
    assert.deepEqual(await ownMounts(), mountsBefore);
    for (const { id: other } of all) await runner.remove(other);
    assert.deepEqual(await runner.list(), []);
  });
}

/** Mounts of runners' runtime directories; what else comes and goes below /run belongs to others. */
async function ownMounts(): Promise<string[]> {
  return (await mountsBelow('/run')).filter((path) => path.startsWith('/run/sluice-'));
}
