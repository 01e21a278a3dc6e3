import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer, connect as dial, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { labels, names } from '../../src/api/names.ts';
import { programIdOf } from '../../src/install/host.ts';
import { shippedManifests } from '../../src/install/manifests.ts';
import { applyObject } from '../../src/kube/apply.ts';
import { waitFor } from '../../src/kube/wait.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { digestOf } from '../../src/oci/digest.ts';
import { createAuthority, issue, type KeyPair } from '../../src/trust/authority.ts';
import { makeRelease, testKey } from '../bundles.ts';
import { startTestCluster, type TestCluster } from '../cluster.ts';
import { packageInto } from '../packaged.ts';
import { needs } from '../tier.ts';
import { systemdBase } from './base.ts';
import { type BootedHost, bootHost, until } from './host.ts';
import { v1 } from './seen.ts';

const where = names('standalone');
const nodeName = 'master-0';
const tier = needs('root', 'systemd');
/** By which the host finds the API: a name that its certificate has. */
const apiName = 'kubernetes.default.svc';
const apiPort = 6443;

/**
 * What the DaemonSet's container is given, built by hand: a root that nothing can be written to, the host's below /host,
 * its token and certificates, and no capability but the four of deploy/kubernetes/60-nodes.yaml.
 */
const pod = `set -e
mkdir -p /opt/pod /opt/layers
mount -t tmpfs tmpfs /opt/layers
mkdir /opt/layers/up /opt/layers/work
mount -t overlay overlay -o lowerdir=/opt/image,upperdir=/opt/layers/up,workdir=/opt/layers/work /opt/pod
mkdir -p /opt/pod/host /opt/pod/etc/sluice/registry
touch /opt/pod/usr/bin/sluice
mount --rbind / /opt/pod/host
mount -t proc proc /opt/pod/proc
mount --rbind /dev /opt/pod/dev
mount -t tmpfs tmpfs /opt/pod/run
mkdir -p /opt/pod/run/secrets/kubernetes.io/serviceaccount
mount --bind /opt/given/account /opt/pod/run/secrets/kubernetes.io/serviceaccount
mount --bind /opt/given/registry /opt/pod/etc/sluice/registry
mount --bind "$1" /opt/pod/usr/bin/sluice
mount -o remount,ro /opt/pod
shift
exec 2>&1
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+chown,+dac_override,+fowner,+sys_chroot \\
  chroot /opt/pod /usr/bin/sluice node install --root /host "$@"
`;

/** HTTP from the host itself, which has no client for it. */
const askLocally = 'exec 3<>"/dev/tcp/127.0.0.1/$1"; printf "GET %s HTTP/1.0\\r\\n\\r\\n" "$2" >&3; cat <&3';

/** As the kubelet ends the Pod. */
const endInstaller = `for each in /proc/[0-9]*; do
  if tr '\\0' ' ' <"$each/cmdline" | grep -q '^/usr/bin/sluice node install'; then kill "\${each#/proc/}"; fi
done`;

describe('the installer of the DaemonSet on a host with its own systemd', tier, () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-installer-'));
  const key = testKey('maker');
  let cluster: TestCluster;
  let authority: KeyPair;
  let client: KeyPair;
  let programs: { readonly path: string; readonly id: string }[];
  let release: Awaited<ReturnType<typeof makeRelease>>;

  before(async () => {
    const first = await packageInto(join(dir, 'dist'));
    const second = join(dir, 'second');
    copyFileSync(first, second);
    // Another build is another content; what follows the program's last section is not looked at.
    appendFileSync(second, '\0');
    programs = await Promise.all(
      [first, second].map(async (path) => ({ path, id: await programIdOf(path) })),
    );
    release = await makeRelease({ version: '1.0.0', dir, key: key.pair, blobBytes: 32 * 1024 * 1024 });
    authority = await createAuthority('registries');
    client = await issue(authority, { commonName: 'puller', usage: 'client' });
    cluster = await startTestCluster();
    const { kinds } = cluster.client;
    for (const object of shippedManifests('standalone')) await applyObject(cluster.client, object);
    // The kubelet's to make.
    await cluster.client.create(kinds.Node, {
      metadata: { name: nodeName, labels: { [labels.controlPlane]: '' } },
    });
    await cluster.client.create(kinds.ConfigMap, {
      metadata: { name: where.trustedKeys, namespace: where.configNamespace },
      data: { 'maker.pub': key.trusted.publicPem },
    });
  });
  after(async () => {
    await cluster?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** A host with nothing of Sluice on it, and what its Pod would be given. */
  async function boot(t: TestContext): Promise<{ host: BootedHost; api: Server }> {
    const host = await bootHost(t, {
      config: '',
      booted: v1,
      versions: {},
      medium: release.path,
      devices: [`${systemdBase()}:/opt/image`],
      async prepare(root, address) {
        const given = join(root, 'opt/given');
        for (const name of ['account', 'registry']) mkdirSync(join(given, name), { recursive: true });
        programs.forEach(({ path }, index) => {
          copyFileSync(path, join(root, `opt/program-${index}`));
        });
        const pair = await issue(authority, {
          commonName: 'registry',
          dnsNames: [where.apiInt],
          ipAddresses: [address, '127.0.0.1'],
          usage: 'both',
        });
        const put = (name: string, text: string) => writeFileSync(join(given, name), text);
        put('registry/ca-bundle.crt', authority.certPem);
        put('registry/tls.crt', pair.certPem);
        put('registry/tls.key', pair.keyPem);
        put('account/ca.crt', cluster.caPem);
        put('account/token', await token());
        writeFileSync(join(root, 'etc/hosts'), `${address.replace(/\d+$/, '1')} ${apiName}\n`);
      },
    });
    const api = createServer((socket) => {
      const upstream = dial(cluster.port, '127.0.0.1');
      for (const each of [socket, upstream]) each.on('error', () => {});
      socket.on('close', () => upstream.destroy());
      upstream.on('close', () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
    await new Promise<void>((resolve) => api.listen(apiPort, host.gateway, resolve));
    t.after(() => api.close());
    return { host, api };
  }

  /** As the API server gives one to the Pod: it says of which node it is. */
  async function token(): Promise<string> {
    const { uid } = (await cluster.client.get(cluster.client.kinds.Node, nodeName)).metadata;
    const answer = (await cluster.client.raw({
      method: 'POST',
      path: `/api/v1/namespaces/${where.machineConfigNamespace}/serviceaccounts/sluice-node/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          audiences: [],
          expirationSeconds: 7200,
          boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: nodeName, uid },
        },
      },
    })) as { status: { token: string } };
    return answer.status.token;
  }

  test('program and units are put there and kept; an update of the program cuts no pull', async (t) => {
    const { host } = await boot(t);
    const environment = [
      `NODE_NAME=${nodeName}`,
      `NODE_ADDRESS=${host.address}`,
      `KUBERNETES_SERVICE_HOST=${apiName}`,
      `KUBERNETES_SERVICE_PORT=${apiPort}`,
    ];
    const daemon = shippedManifests('kubernetes').find(({ kind }) => kind === 'DaemonSet') as unknown as {
      spec: { template: { spec: { hostPID?: boolean } } };
    };
    const ownProcesses = daemon.spec.template.spec.hostPID === true ? [] : ['-p', '--fork'];
    const install = (program: number, ...words: string[]) =>
      host.insideMeanwhile([
        ...[
          'env',
          ...environment,
          'unshare',
          '-m',
          ...ownProcesses,
          '--propagation',
          'private',
          'sh',
          '-c',
          pod,
          'sh',
        ],
        ...[`/opt/program-${program}`, ...words],
      ]);
    const state = (unit: string) => host.inside(['systemctl', 'is-active', unit], { check: false }).trim();
    const pid = (unit: string) => host.inside(['systemctl', 'show', '-p', 'MainPID', '--value', unit]).trim();
    const unit = (program: number) => `sluice-registry@${programs[program]?.id}.service`;
    const words = () =>
      host.inside(['journalctl', '-u', 'sluice-*', '-n', '40', '--no-pager'], { check: false });
    const tells = (port: number, path: string) =>
      host.inside(['bash', '-c', askLocally, 'bash', String(port), path], { check: false });
    const active = (name: string) => until(() => state(name) === 'active', words);

    await t.test('from nothing: the registry answers, the agent speaks for its node', async () => {
      assert.match(await install(0, '--once'), /the host is as it should be/);
      assert.equal(state(unit(0)), 'active', 'it answered before the installer went on');
      assert.equal(await status(host, '/v2/', client), 200);
      await active('sluice-node.service');
      const { kinds } = cluster.client;
      const said = await waitFor(
        cluster.client,
        kinds.NodeUpdate,
        nodeName,
        (update) => update?.status?.driver !== undefined,
        { timeoutMs: 60_000, describe: words },
      );
      assert.equal(said?.status?.driver, 'none', 'a Debian takes no OS image, and the rest goes on');
      assert.ok(await cluster.client.tryGet(kinds.MachineConfigNode, nodeName));
      assert.match(tells(22626, '/readyz?verbose'), /\[\+\]trees ok/);
      assert.match(tells(22626, '/metrics'), /^sluice_registry_trees\{state="open"\} \d+$/m);
      assert.match(tells(22627, '/metrics'), /^sluice_agent_last_look_timestamp_seconds /m);
      for (const name of [unit(0), 'sluice-node.service'])
        assert.equal(host.inside(['systemctl', 'is-enabled', name]).trim(), 'enabled');
    });

    await t.test(
      'again, nothing is changed; a new token is put there, and nothing is restarted',
      async () => {
        const before = [pid(unit(0)), pid('sluice-node.service')];
        assert.equal((await install(0, '--once')).trim(), '');
        const next = await token();
        host.write('/opt/given/account/token', next);
        assert.match(await install(0, '--once'), /"changed":\["\/etc\/sluice\/cluster\/token"\]/);
        assert.equal(host.read('etc/sluice/cluster/token').trim(), next);
        assert.deepEqual([pid(unit(0)), pid('sluice-node.service')], before);
      },
    );

    await t.test('a person finds the command, and the command the agent', async () => {
      const attached = await host.insideMeanwhile(['sluice', 'media', 'attach', '/mnt']);
      assert.match(attached, /1\.0\.0/);
    });

    await t.test('while a slow client pulls, a new program takes over, and the pull is whole', async () => {
      const layer = release.document.images
        .flatMap((image) => ({ ...image }))
        .sort((a, b) => b.size - a.size)[0];
      assert.ok(layer !== undefined);
      const blob = await largest(host, client, layer.repository, layer.digest);
      const pull = await begin(host, client, `/v2/${layer.repository}/blobs/${blob}`);
      assert.match(await install(1, '--once'), new RegExp(`sluice-registry@${programs[1]?.id}`));
      assert.equal(state(unit(1)), 'active');
      assert.equal(state(unit(0)), 'deactivating', 'it ends when its pull has');
      const starts = Array.from(
        { length: 8 },
        () => /^process_start_time_seconds \d+/m.exec(tells(22626, '/metrics'))?.[0],
      );
      assert.deepEqual(
        [new Set(starts).size, typeof starts[0]],
        [1, 'string'],
        'the new one alone is told of',
      );
      for (let asked = 0; asked < 20; asked += 1) assert.equal(await status(host, '/v2/', client), 200);
      assert.equal(digestOf(await pull.rest()), blob);
      await until(() => state(unit(0)) === 'inactive', words);
      await active('sluice-node.service');
      assert.equal(host.inside(['readlink', '/var/lib/sluice/program/current']).trim(), programs[1]?.id);
      assert.equal(await status(host, '/v2/', client), 200);
    });

    await t.test('its Pod is ready while the host is as it should be, and says what is not', async () => {
      let ended = false;
      const keeping = install(1, '--status-listen', '0.0.0.0:8080').finally(() => {
        ended = true;
      });
      let said = '';
      const ready = async () => {
        const answer = await fetch(`http://${host.address}:8080/readyz`).catch(() => undefined);
        said = (await answer?.text()) ?? '';
        return answer?.status;
      };
      const untilReady = async (status: number) => {
        for (const end = Date.now() + 60_000; (await ready()) !== status; await systemClock.sleep(200))
          assert.ok(Date.now() < end && !ended, `${said}\n${words()}`);
      };
      await untilReady(200);
      host.inside(['systemctl', 'stop', 'sluice-node.service']);
      await untilReady(500);
      assert.match(said, /\[-\]host: sluice-node\.service is inactive \(dead\)/);
      await host.insideMeanwhile(['systemctl', 'start', 'sluice-node.service']);
      await untilReady(200);
      host.inside(['sh', '-c', endInstaller]);
      await keeping;
    });

    await t.test('after a reboot all of it is there again, and only of the new program', async () => {
      host.inside(['systemctl', 'reboot'], { check: false });
      await host.booted(2);
      await active('sluice-node.service');
      await active(unit(1));
      assert.equal(state(unit(0)), 'inactive');
      assert.equal(await status(host, '/v2/', client), 200);
    });

    await t.test('taken away, units and program are gone, and the state stays', async () => {
      // As the command line says it, by a person on the host.
      await host.insideMeanwhile(['sluice', 'node', 'install', '--remove', '--root', '/']);
      assert.notEqual(state(unit(1)), 'active');
      assert.notEqual(state('sluice-node.service'), 'active');
      const left = host.inside(['sh', '-c', 'ls /etc/systemd/system | grep sluice-[nr]; ls /usr/local/bin'], {
        check: false,
      });
      assert.equal(left.trim(), '');
      assert.match(host.inside(['ls', '/var/lib/sluice']), /store/);
    });
  });
});

interface Pull {
  /** Everything, the beginning too. */
  rest(): Promise<Buffer>;
}

/** Begins to read, and reads on only when it is told. */
function begin(host: BootedHost, pair: KeyPair, path: string): Promise<Pull> {
  return new Promise((resolve, reject) => {
    const outgoing = request(optionsOf(host, path, pair), (answer) => {
      answer.pause();
      if (answer.statusCode !== 200) return reject(new Error(`${path}: ${answer.statusCode}`));
      resolve({
        rest: () =>
          new Promise((done, failed) => {
            const chunks: Buffer[] = [];
            answer.on('data', (chunk: Buffer) => chunks.push(chunk));
            answer.on('end', () => done(Buffer.concat(chunks)));
            answer.on('error', failed);
            answer.resume();
          }),
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function optionsOf(host: BootedHost, path: string, pair: KeyPair) {
  return {
    ...{ host: host.address, port: where.registryPort, path, agent: false },
    ...{ cert: pair.certPem, key: pair.keyPem, rejectUnauthorized: false },
    headers: { accept: '*/*' },
  };
}

async function status(host: BootedHost, path: string, pair: KeyPair): Promise<number> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(optionsOf(host, path, pair), (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** The digest of the largest layer of an image that the node serves from its media. */
async function largest(host: BootedHost, pair: KeyPair, repository: string, digest: string): Promise<string> {
  const path = `/v2/${repository}/manifests/${digest}`;
  for (const end = Date.now() + 30_000; (await status(host, path, pair)) !== 200; )
    if (Date.now() < end) await systemClock.sleep(200);
    else throw new Error(`${path} is not served`);
  const text = (await (await begin(host, pair, path)).rest()).toString('utf8');
  const { layers } = JSON.parse(text) as { layers: { digest: string; size: number }[] };
  const [first] = layers.sort((a, b) => b.size - a.size);
  if (first === undefined) throw new Error(`${path} has no layer`);
  return first.digest;
}
