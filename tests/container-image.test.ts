import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { shippedManifests } from '../src/install/manifests.ts';
import { applyObject } from '../src/kube/apply.ts';
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { programVersion } from '../src/program/build.ts';
import { freePort } from '../src/up/network.ts';
import { packageInto } from './packaged.ts';
import { buildProgramImage, makeImageBase } from './program-image.ts';
import { until } from './systemd/host.ts';
import { needs } from './tier.ts';

const tier = needs('root', 'containers', 'buildah', 'systemd');
const user = 1001;
let directory: string;
let dist: string;
let image: string;
let store: string[];
let containers = 0;

before(async () => {
  if (tier.skip !== undefined) return;
  directory = await mkdtemp(join(tmpdir(), 'sluice-image-test-'));
  dist = join(directory, 'dist');
  const places = ['--root', join(directory, 'store'), '--runroot', join(directory, 'run')];
  store = [...places, '--storage-driver', 'vfs'];
  await packageInto(dist);
});
after(async () => {
  if (tier.skip !== undefined) return;
  await run('podman', [...store, 'rm', '--all', '--force', '--time', '0']);
  await run('umount', ['-l', join(directory, 'store', 'vfs')]);
  await rm(directory, { recursive: true, force: true });
});

test('the same base and the same program give the same image', tier, async () => {
  const base = await makeImageBase(directory, store);
  const archive = await buildProgramImage(dist, base);
  const first = await readFile(archive);
  const second = await readFile(await buildProgramImage(dist, base));
  assert.ok(first.equals(second), 'two builds differ');
  image = (await runOrThrow('podman', [...store, 'pull', '--quiet', `oci-archive:${archive}`])).stdout.trim();
  const [config] = JSON.parse((await runOrThrow('podman', [...store, 'image', 'inspect', image])).stdout);
  assert.equal(config.User, `${user}:${user}`);
  assert.equal(config.Labels['org.opencontainers.image.version'], programVersion());
});

/** A command of the image, as a careful cluster runs it: nobody, no rights, nothing to write but what it is given. */
function start(words: readonly string[], volumes: readonly string[] = []) {
  containers += 1;
  const name = `sluice-test-${process.pid}-${containers}`;
  const limits = ['--ulimit', 'nofile=1024:20000', '--ulimit', 'nproc=1000:1000', '--network', 'host'];
  const careful = ['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL'];
  const child: ChildProcess = spawn(
    'podman',
    [
      ...[...store, '--runtime', 'runc', 'run', '--rm', '--name', name, ...limits, ...careful],
      ...['--security-opt', 'no-new-privileges', ...volumes.flatMap((volume) => ['--volume', volume])],
      ...[image, ...words],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return {
    said: () => said,
    async process(): Promise<string> {
      const format = ['--format', '{{.State.Pid}}'];
      const { stdout } = await runOrThrow('podman', [...store, 'inspect', ...format, name]);
      return await readFile(`/proc/${stdout.trim()}/status`, 'utf8');
    },
    async stop(): Promise<number | null> {
      await runOrThrow('podman', [...store, 'stop', '--time', '20', name]);
      return await ended;
    },
  };
}

/** Whether the health of a command says so; what it said where it does not come. */
async function ready(port: number, container: { said(): string }): Promise<string> {
  let text = '';
  const ask = async () => {
    text = await fetch(`http://127.0.0.1:${port}/readyz?verbose`)
      .then((answer) => answer.text())
      .catch(() => '');
  };
  const asking = setInterval(() => void ask(), 200);
  try {
    await until(
      () => text.includes('readyz check passed'),
      () => `${text}\n${container.said()}`,
    );
  } finally {
    clearInterval(asking);
  }
  return text;
}

test(
  'registry, API server and controller run as nobody on a root that nothing can write to',
  tier,
  async () => {
    const data = join(directory, 'data');
    await mkdir(data);
    await chown(data, user, user);
    const [api, registryPort, registryStatus, controllerStatus] = await Promise.all(
      Array.from({ length: 4 }, () => freePort()),
    );

    const registry = start(
      [
        ...['registry', 'serve', '--store', '/store', '--listen', `127.0.0.1:${registryPort}`],
        ...['--status-listen', `127.0.0.1:${registryStatus}`],
      ],
      [`${data}:/store:ro`],
    );
    await ready(registryStatus ?? 0, registry);
    assert.equal((await fetch(`http://127.0.0.1:${registryPort}/v2/`)).status, 200);
    const status = await registry.process();
    assert.match(status, new RegExp(`^Uid:\\s+${user}\\s`, 'm'));
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.equal(await registry.stop(), 0, registry.said());

    const server = start(['apiserver', '--dir', '/data', '--listen', `127.0.0.1:${api}`], [`${data}:/data`]);
    await until(
      () => server.said().includes('export KUBECONFIG='),
      () => server.said(),
    );
    const client = createKubeClient({
      ...loadKubeconfig(join(data, 'pki', 'admin.kubeconfig')),
      platform: 'standalone',
      userAgent: 'test',
    });
    for (const object of shippedManifests('standalone')) await applyObject(client, object);
    const controller = start(
      [
        ...['controller', '--kubeconfig', '/data/pki/admin.kubeconfig', '--ca', '/data/pki/ca.crt'],
        ...['--status-listen', `127.0.0.1:${controllerStatus}`],
      ],
      [`${data}/pki:/data/pki:ro`],
    );
    await ready(controllerStatus ?? 0, controller);
    let metrics = '';
    await until(
      () => {
        void fetch(`http://127.0.0.1:${controllerStatus}/metrics`).then(async (answer) => {
          metrics = await answer.text();
        });
        return /^sluice_leader 1$/m.test(metrics);
      },
      () => metrics + controller.said(),
    );
    assert.equal(await controller.stop(), 0, controller.said());
    const lease = await client.list(client.kinds.Lease);
    assert.deepEqual(
      lease.items.map((each) => each.spec?.holderIdentity),
      [''],
      'the lease was not given back',
    );
    await client.close();
    assert.equal(await server.stop(), 0, server.said());
  },
);
