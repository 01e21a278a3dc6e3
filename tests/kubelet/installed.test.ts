import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/api/core.ts';
import { buildImage } from '../../src/build/image.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { run, runOrThrow } from '../../src/process/run.ts';
import { programVersion } from '../../src/program/build.ts';
import { busyboxFiles } from '../image-registry.ts';
import { packageInto } from '../packaged.ts';
import { buildProgramImage, makeImageBase } from '../program-image.ts';
import { needs, repository } from '../tier.ts';
import { type KubeletHost, startKubeletHost } from './host.ts';

const namespace = 'sluice-system';
const imageName = 'registry.test/sluice';
const sandbox = 'registry.test/pause';
const agentLabel = 'sluice.dev/agent';

/** Everything as a user of a Kubernetes cluster does it: the image, `cluster install`, and what then runs in Pods. */
describe('Sluice installed on a real kubelet', needs('kubelet', 'buildah', 'systemd'), () => {
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-installed-'));
  let host: KubeletHost;
  let client: KubeClient;

  const sluice = (...args: string[]) =>
    run(join(repository, 'sluice'), [...args, '--kubeconfig', host.cluster.kubeconfig], {
      timeoutMs: 120_000,
    });
  const image = `${imageName}:${programVersion()}`;

  before(async () => {
    const dist = join(scratch, 'dist');
    const store = [
      '--root',
      join(scratch, 'store'),
      '--runroot',
      join(scratch, 'run'),
      '--storage-driver',
      'vfs',
    ];
    mkdirSync(dist);
    await packageInto(dist);
    const archive = await buildProgramImage(dist, await makeImageBase(scratch, store));
    host = await startKubeletHost({ sandboxImage: `${sandbox}:1`, empty: true });
    client = createKubeClient({ ...loadKubeconfig(host.cluster.kubeconfig), platform: 'kubernetes' });
    host.containerd.load(archive, imageName);
    host.containerd.load(await pauseArchive(), sandbox);
    // The node's host is this machine: nothing is put on it.
    await client.patch(client.kinds.Node, host.nodeName, {
      metadata: { labels: { 'node-role.kubernetes.io/control-plane': '', [agentLabel]: 'none' } },
    });
  });

  after(async () => {
    await client?.close();
    await host?.close();
    await run('umount', ['-l', join(scratch, 'store', 'vfs')]);
    rmSync(scratch, { recursive: true, force: true });
  });

  async function pauseArchive(): Promise<string> {
    const directory = join(scratch, 'pause');
    await buildImage({
      out: { directory, reference: '1' },
      files: busyboxFiles(),
      config: {
        env: ['PATH=/bin'],
        entrypoint: ['/bin/sh', '-c', "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait; done"],
      },
    });
    const archive = join(scratch, 'pause.tar');
    await runOrThrow('tar', ['-C', directory, '-cf', archive, '.']);
    return archive;
  }

  const controllers = async (): Promise<Pod[]> => {
    const labelSelector = 'app.kubernetes.io/component=controller';
    const { items } = await client.list(client.kinds.Pod, { namespace, labelSelector });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const leader = async () =>
    (await client.tryGet(client.kinds.Lease, 'sluice-controller', namespace))?.spec?.holderIdentity ?? '';

  test('it is installed, twice, and the second time nothing is changed', async () => {
    const first = await sluice('cluster', 'install', '--image', image);
    assert.equal(first.code, 0, first.stderr);
    const second = await sluice('cluster', 'install', '--image', image, '--dry-run');
    assert.equal(second.code, 0, second.stderr);
    const check = await sluice('cluster', 'check', '--image', image);
    assert.equal(check.code, 0, check.stdout + check.stderr);
  });

  test('two controllers run as nobody on a root that nothing writes to, and one leads', async () => {
    await until(
      'two replicas run',
      async () => (await controllers()).filter(isReady).length === 2,
      describePods,
    );
    await until(
      'one leads',
      async () => {
        const holder = led(await leader());
        return (await controllers()).some(({ metadata }) => metadata.name === holder);
      },
      describePods,
    );
  });

  test('a leader that is stopped is replaced at once', async () => {
    const before = await leader();
    const pod = (await controllers()).find(({ metadata }) => metadata.name === led(before));
    assert.ok(pod !== undefined, before);
    const begun = Date.now();
    await client.delete(client.kinds.Pod, pod.metadata.name, { namespace });
    await until('another leads', async () => {
      const now = await leader();
      return now !== '' && led(now) !== led(before);
    });
    assert.ok(Date.now() - begun <= 5_000, `it took ${Date.now() - begun} ms`);
    await until(
      'two replicas run again',
      async () => (await controllers()).filter(isReady).length === 2,
      describePods,
    );
  });

  test('every replica answers for the fleet lock whom its Secret lets in, and no other Pod', async () => {
    const shown = await client.get(client.kinds.Secret, 'sluice-fleet-lock', namespace);
    const secret = Buffer.from(shown.data?.secret ?? '', 'base64').toString('utf8');
    await client.create(client.kinds.FleetLockGroup, { metadata: { name: 'fleet' }, spec: { slots: 1 } });
    const http = createHttpClient();
    const ask = async (pod: Pod, path: string, id: string, authorization = `Bearer ${secret}`) => {
      const answer = await http.request({
        method: 'POST',
        url: `http://${pod.status?.podIP}:3333/v1/${path}`,
        headers: {
          'fleet-lock-protocol': 'true',
          'content-type': 'application/json',
          ...(authorization === '' ? {} : { authorization }),
        },
        body: JSON.stringify({ client_params: { group: 'fleet', id } }),
      });
      await answer.discard();
      return answer.status;
    };
    try {
      // Ready is what the kubelet saw last: a replica counts from when it answers us, at the address that it has by then.
      const answering = async (): Promise<Pod[]> => {
        const pods = (await controllers()).filter(isReady);
        const answers = await Promise.all(
          pods.map(({ status }) =>
            http.request({ url: `http://${status?.podIP}:3333/readyz` }).then(
              async (answer) => {
                await answer.discard();
                return answer.status === 200;
              },
              () => false,
            ),
          ),
        );
        return pods.filter((_, index) => answers[index]);
      };
      await until('two replicas answer', async () => (await answering()).length === 2, describePods);
      const [one, two] = await answering();
      assert.ok(one !== undefined && two !== undefined);
      for (const pod of [one, two]) {
        assert.equal(await ask(pod, 'pre-reboot', 'c'.repeat(32), ''), 401);
        assert.equal(await ask(pod, 'pre-reboot', 'c'.repeat(32), 'Bearer something-else-altogether'), 401);
      }
      // No such node is known, so nothing is drained; the slot is one, whoever is asked.
      assert.equal(await ask(one, 'pre-reboot', 'a'.repeat(32)), 200);
      assert.equal(await ask(two, 'pre-reboot', 'b'.repeat(32)), 423);
      assert.equal(await ask(two, 'steady-state', 'a'.repeat(32)), 200);
      assert.equal(await ask(one, 'pre-reboot', 'b'.repeat(32)), 200);
      assert.equal(await ask(one, 'steady-state', 'b'.repeat(32)), 200);
    } finally {
      await http.close();
    }
  });

  test('a node that is labelled to be left alone gets no installer', async () => {
    const { items } = await client.list(client.kinds.Pod, { namespace });
    const names = items.map(({ metadata }) => metadata.name);
    assert.ok(names.length >= 3, names.join());
    assert.deepEqual(
      names.filter((name) => /^sluice-(node|worker)-/.test(name)),
      [],
    );
  });

  test('the installer, as the Pod that it is shipped as, puts program, units and credentials on the host', async () => {
    const machine = playedHost(join(scratch, 'machine'));
    const hostPath = { name: 'host', hostPath: { path: machine, type: 'Directory' } };
    await client.raw({
      method: 'PATCH',
      path: `/apis/apps/v1/namespaces/${namespace}/daemonsets/sluice-node`,
      contentType: 'application/strategic-merge-patch+json',
      body: { spec: { template: { spec: { volumes: [hostPath] } } } },
    });
    await client.patch(client.kinds.Node, host.nodeName, { metadata: { labels: { [agentLabel]: null } } });
    const calls = () =>
      existsSync(join(machine, 'calls'))
        ? readFileSync(join(machine, 'calls'), 'utf8').trim().split('\n')
        : [];
    const installer = async () => {
      const labelSelector = 'app.kubernetes.io/component=sluice-node';
      return (await client.list(client.kinds.Pod, { namespace, labelSelector })).items[0];
    };
    const tell = async () => {
      const pod = await installer();
      const log =
        pod === undefined ? 'no Pod' : await client.podLog(namespace, pod.metadata.name).catch(String);
      return `${calls().join('; ')}\n${Buffer.from(log).toString()}\n${await describePods()}`;
    };
    await until('the agent is started', async () => calls().some((call) => call.startsWith('restart')), tell);
    const id = readlinkSync(join(machine, 'var/lib/sluice/program/current'));
    assert.deepEqual(
      calls().filter((call) => !/^(list-units|show) /.test(call)),
      [
        'daemon-reload',
        `enable --now sluice-registry@${id}.service`,
        'enable sluice-node.service',
        'restart --no-block sluice-node.service',
      ],
    );
    const program = await run(join(machine, 'var/lib/sluice/program', id, 'sluice'), ['--version']);
    assert.match(program.stdout, new RegExp(programVersion().replaceAll('.', '\\.')));
    const text = (path: string) => readFileSync(join(machine, 'etc/sluice', path), 'utf8');
    assert.equal(
      text('cluster/node.env'),
      `SLUICE_NODE_NAME=${host.nodeName}\nSLUICE_NODE_ADDRESS=${host.address}\n`,
    );
    assert.ok(new X509Certificate(text('registry/tls.crt')).checkIP(host.address), 'of this node');
    // The token says of which node it is: another's objects are not its own to write.
    const own = createKubeClient({
      server: host.cluster.url,
      tls: { ca: host.cluster.caPem },
      token: text('cluster/token').trim(),
      platform: 'kubernetes',
    });
    try {
      const make = (name: string) => own.create(own.kinds.NodeUpdate, { metadata: { name }, spec: {} });
      await make(host.nodeName);
      await assert.rejects(make('another'), /may only write the objects of its own node/);
    } finally {
      await own.close();
    }
    const isKept = async () => {
      const pod = await installer();
      return pod !== undefined && isReady(pod);
    };
    await until('its Pod says why it is not ready', async () => {
      const { items } = await client.list(client.kinds.Event, { namespace });
      return items.some(({ message = '' }) => /Readiness probe failed[\s\S]*500/.test(message));
    });
    assert.equal(await isKept(), false, 'the agent is not up, so no rollout goes on');
    writeFileSync(join(machine, 'agent'), 'ActiveState=active\nSubState=running\n');
    await until('the Pod is ready when the agent is up', isKept, tell);
    const restarts = (await installer())?.status?.containerStatuses?.[0]?.restartCount;
    assert.equal(restarts, 0, 'it keeps the host current, and does not end');
  });

  test('the console answers, and lets in who has a token', async () => {
    const labelSelector = 'app.kubernetes.io/component=console';
    const consolePod = async () =>
      (await client.list(client.kinds.Pod, { namespace, labelSelector })).items.find(isReady);
    await until('the console is ready', async () => (await consolePod()) !== undefined, describePods);
    const url = `http://${(await consolePod())?.status?.podIP}:8080/`;
    const page = await (await fetch(url)).text();
    assert.match(page, /<title>.*Sluice.*<\/title>/);
    assert.equal((await fetch(`${url}api/session`)).status, 401);
    await client.create(client.kinds.ServiceAccount, { metadata: { name: 'anna', namespace: 'default' } });
    const token = await runOrThrow('kubectl', [
      ...['--kubeconfig', host.cluster.kubeconfig, 'create', 'token', 'anna', '-n', 'default'],
    ]);
    const login = await fetch(`${url}api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url.slice(0, -1) },
      body: JSON.stringify({ token: token.stdout.trim() }),
    });
    assert.equal(login.status, 200, await login.clone().text());
    const { user } = (await login.json()) as { user: string };
    assert.equal(user, 'system:serviceaccount:default:anna');
  });

  test('it is taken away, and leaves nothing behind', async () => {
    const gone = await sluice('cluster', 'uninstall');
    assert.equal(gone.code, 0, gone.stderr);
    assert.equal(await client.tryGet(client.kinds.Namespace, namespace), undefined);
    const { items } = await client.list(client.kinds.CustomResourceDefinition);
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name).filter((name) => name.endsWith('sluice.dev')),
      [],
    );
    const again = await sluice('cluster', 'uninstall');
    assert.equal(again.code, 0, again.stderr);
  });

  async function describePods(): Promise<string> {
    const events = (await client.list(client.kinds.Event, { namespace })).items.map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
    const logs = await Promise.all(
      (await controllers()).map(async ({ metadata }) =>
        client.podLog(namespace, metadata.name).then(
          (log) => Buffer.from(log).toString().slice(-2_000),
          (error: Error) => error.message,
        ),
      ),
    );
    return [...events, ...logs].join('\n').slice(-6_000);
  }
});

/** Remembers what it was asked, and which instances it was told to run. */
const playedSystemctl = `#!/bin/sh
echo "$*" >>/calls
case "$1 $2" in
list-units*) [ ! -e /units ] || cat /units;;
"enable --now") echo "$3 loaded active running x" >>/units;;
show*) cat /agent;;
esac
`;

/** A root directory whose systemd only writes down what it is asked. */
function playedHost(root: string): string {
  for (const name of ['bin', 'run/systemd/system']) mkdirSync(join(root, name), { recursive: true });
  copyFileSync('/bin/busybox', join(root, 'bin/busybox'));
  for (const applet of ['sh', 'cat']) symlinkSync('busybox', join(root, 'bin', applet));
  writeFileSync(join(root, 'bin/systemctl'), playedSystemctl, { mode: 0o755 });
  writeFileSync(join(root, 'agent'), 'ActiveState=activating\nSubState=auto-restart\n');
  return root;
}

/** The Pod of an identity, which is its name and what makes it unique. */
function led(identity: string): string {
  return identity.replace(/_.*$/, '');
}

function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

const waitMs = 60_000;

async function until(
  what: string,
  holds: () => Promise<boolean>,
  tell?: () => Promise<string>,
): Promise<void> {
  for (const end = Date.now() + waitMs; !(await holds()); await systemClock.sleep(250)) {
    if (Date.now() > end) assert.fail(`waited in vain until ${what}\n${(await tell?.()) ?? ''}`);
  }
}
