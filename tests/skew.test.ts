import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { waitFor } from '../src/kube/wait.ts';
import { silentLogger } from '../src/observe/log.ts';
import { run } from '../src/process/run.ts';
import { runUp } from '../src/up/cluster.ts';
import { makeRelease, testKey } from './bundles.ts';
import { repository } from './tier.ts';

/** What counts as the version before, until there is a tag. */
const before = process.env.SLUICE_SKEW_COMMIT ?? 'bd282ccd72f61a281d575d620c37000046455905';

function historyMissing(): { skip?: string } {
  const known = spawnSync('git', ['-C', repository, 'cat-file', '-e', `${before}^{commit}`]);
  return known.status === 0
    ? {}
    : { skip: `git: this clone does not have the commit ${before.slice(0, 12)}` };
}

/** The version before, as it was, with its own packages. Undefined where they cannot be had. */
async function checkOut(t: TestContext, directory: string): Promise<string | undefined> {
  const place = join(directory, 'before');
  const git = (...words: string[]) => run('git', ['-C', repository, ...words]);
  const added = await git('worktree', 'add', '--detach', '--force', place, before);
  assert.equal(added.code, 0, added.stderr);
  t.after(() => git('worktree', 'remove', '--force', place));
  const words = ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  const installed = await run('npm', words, { cwd: place, timeoutMs: 300_000 });
  if (installed.code === 0) return join(place, 'sluice');
  t.skip(`npm: the packages of ${before.slice(0, 12)} cannot be had: ${installed.stderr.trim().slice(-200)}`);
  return undefined;
}

/** `sluice up` of the version before, whose options were the same. */
async function earlierUp(program: string): Promise<typeof runUp> {
  const module = (await import(join(program, '..', 'src/up/cluster.ts'))) as { runUp: typeof runUp };
  return module.runUp;
}

const key = testKey('maker');

/** What nodes boot: the node stages it and reboots into it. */
const osImage = (version: string) => ({
  'node-os': { config: { labels: { 'ostree.linux': '6.1.0', 'org.opencontainers.image.version': version } } },
});

/** The processes of a node. */
const nodeCommands = '"node run" | "registry serve"';

/**
 * A cluster of one node from 1.0.0 to 1.1.0, of which a part is of the version before. What is shipped (definitions,
 * rights, policies) is always the control plane's own, as `cluster install` of that version brings it.
 */
async function update(t: TestContext, before: 'nodes' | 'control plane'): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-skew-'));
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  t.after(async () => {
    stop.abort();
    await running?.catch(() => {});
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });
  const wrapper = join(directory, 'sluice');
  const earlier = await checkOut(t, directory);
  if (earlier === undefined) return;
  const now = join(repository, 'sluice');
  const [ofNodes, others] = before === 'nodes' ? [earlier, now] : [now, earlier];
  const script = `#!/bin/sh\ncase "$1 $2" in ${nodeCommands}) exec ${ofNodes} "$@" ;; *) exec ${others} "$@" ;; esac\n`;
  await writeFile(wrapper, script, { mode: 0o755 });
  const make = (version: string, previous: string[]) =>
    makeRelease({ version, previous, dir: directory, key: key.pair, images: osImage(version) });
  const [first, second] = [await make('1.0.0', []), await make('1.1.0', ['1.0.0'])];
  const keyFile = join(directory, 'maker.pub');
  await writeFile(keyFile, key.trusted.publicPem);
  const dir = join(directory, 'cluster');
  const said: string[] = [];
  const up = before === 'nodes' ? runUp : await earlierUp(earlier);
  running = up({
    dir,
    release: first.path,
    keyFiles: [keyFile],
    nodes: 1,
    workload: 'none',
    program: [wrapper],
    logger: silentLogger,
    personReads: false,
    say: (text) => void said.push(text),
    signal: stop.signal,
  });
  const failed = running.then(
    () => assert.fail(`it ended: ${said.join('\n')}`),
    (error) => Promise.reject(error),
  );
  failed.catch(() => {});
  const kubeconfig = join(dir, 'kubeconfig');
  const sluice = async (...words: string[]) => {
    const result = await run(now, words, {
      timeoutMs: 180_000,
      env: { ...process.env, KUBECONFIG: kubeconfig },
    });
    const logs = await Promise.all(
      ['controller', 'master-0'].map((name) =>
        readFile(join(dir, 'logs', `${name}.log`), 'utf8').catch(() => ''),
      ),
    );
    assert.equal(
      result.code,
      0,
      `sluice ${words.join(' ')}: ${result.stdout}${result.stderr}\n${logs.map((log) => log.slice(-1500)).join('\n')}`,
    );
    return result.stdout;
  };
  const end = Date.now() + 180_000;
  while (!said.some((text) => text.startsWith('ready:'))) {
    assert.ok(Date.now() < end, said.join('\n'));
    await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 500))]);
  }
  const client = createKubeClient({
    ...loadKubeconfig(kubeconfig),
    platform: 'standalone',
    userAgent: 'test',
  });
  t.after(() => client.close());
  const { kinds } = client;
  const bootBefore = (await client.tryGet(kinds.Node, 'master-0'))?.status?.nodeInfo?.bootID;
  await sluice(
    'media',
    'attach',
    second.path,
    '--node',
    'master-0',
    '--socket',
    join(dir, 'nodes/master-0/run/node.sock'),
  );
  await sluice('release', 'add', '1.1.0', '--wait', '--timeout', '90s');
  await sluice('window', 'open', '--until', '1h', '--nodes', 'all');
  await sluice('upgrade', '--to', '1.1.0', '--no-wait');
  const done = await waitFor(
    client,
    kinds.ClusterVersion,
    'version',
    (object) =>
      object?.status?.history?.[0]?.version === '1.1.0' && object.status.history[0].state === 'Completed',
    { timeoutMs: 90_000 },
  ).catch(async (error: unknown) => {
    // What it waits for is what a person would ask.
    const why = await run(now, ['node', 'why'], { env: { ...process.env, KUBECONFIG: kubeconfig } });
    const log = await readFile(join(dir, 'logs', 'controller.log'), 'utf8').catch(() => '');
    throw new Error(`${why.stdout}${why.stderr}\n${log.slice(-2000)}`, { cause: error });
  });
  assert.equal(done?.status?.history?.[0]?.state, 'Completed');
  assert.notEqual((await client.tryGet(kinds.Node, 'master-0'))?.status?.nodeInfo?.bootID, bootBefore);
  assert.match(await sluice('release', 'ls'), /1\.1\.0 +Available +1\/1/);
}

test('agents and registries of the version before, with controllers and API of now', historyMissing(), (t) =>
  update(t, 'nodes'),
);

test(
  'and back: controllers and API of the version before, with agents and registries of now',
  historyMissing(),
  (t) => update(t, 'control plane'),
);
