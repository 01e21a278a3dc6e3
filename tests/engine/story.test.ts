import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildReleases, keysOf, mediaOf } from '../../demo/build.ts';
import { createShell, createTeller } from '../../demo/stage.ts';
import { type Demo, type Summary, tellStory } from '../../demo/story.ts';
import { names } from '../../src/api/names.ts';
import type { ClusterVersion } from '../../src/api/resources.ts';
import { shippedManifests } from '../../src/install/manifests.ts';
import { createKubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { waitFor } from '../../src/kube/wait.ts';
import { run } from '../../src/process/run.ts';
import { needs, repository } from '../tier.ts';
import {
  containerdHostsOf,
  type KubernetesCluster,
  startKubernetes,
  writeTokenConfig,
} from './kubernetes.ts';
import { assertOwnObjectsOnly } from './own-objects.ts';
import { needsRealEngine } from './real.ts';
import { grantedBy, usedBy } from './rights.ts';

/** The demo's releases as plain Kubernetes takes them: ClusterOperator is in our group there. */
function releasesForKubernetes(to: string): string {
  const from = join(repository, 'demo', 'releases');
  cpSync(from, to, { recursive: true });
  for (const file of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.yaml')) continue;
    const text = readFileSync(join(to, file), 'utf8');
    writeFileSync(
      join(to, file),
      text
        .replaceAll(' config.openshift.io', ' sluice.dev')
        .replaceAll('[config.openshift.io', '[sluice.dev')
        .replaceAll('"config.openshift.io', '"sluice.dev'),
    );
  }
  return to;
}

/** The roles of each ServiceAccount, but the one that applies whatever a release brings. */
const rolesOf: Readonly<Record<string, readonly string[]>> = {
  'sluice-controller': ['sluice-controller', 'sluice-updater'],
  'sluice-node': ['sluice-node', 'sluice-node-registry', 'sluice-node-keys'],
  'sluice-worker': ['sluice-worker'],
};

/** What every identity may: discovery, and what it is itself. */
const isPublic = (right: string) => /^get \/(api|apis|version|readyz)\b/.test(right);

/** What the controller does by the right to apply whatever a release brings: these are the kinds of the demo's. */
const payloadKinds =
  /^(get|create|update|patch) (core\/(namespaces|serviceaccounts|configmaps)|apps\/deployments|rbac\.authorization\.k8s\.io\/(clusterroles|clusterrolebindings)|sluice\.dev\/clusteroperators(\/status)?)$/;

/** What is granted though the story does not use it. */
const beyond: Readonly<Record<string, readonly { readonly rights: RegExp; readonly why: string }[]>> = {
  'sluice-controller': [
    {
      rights: /^(create|delete) rbac\S+\/(cluster)?role(binding)?s$/,
      why: 'a check that asks for further reads gets them, for one run',
    },
    {
      rights: /^create sluice\.dev\/internalreleaseimages$/,
      why: 'media appear before anybody has asked for a release',
    },
    {
      rights: /^create sluice\.dev\/updatepreflights$/,
      why: 'an update that is asked for with kubectl has no preflight yet',
    },
    {
      rights: /^create sluice\.dev\/nodeupdates$/,
      why: 'a node is given its image before its agent has come',
    },
    { rights: /^delete core\/configmaps$/, why: 'records of old updates go' },
    { rights: /^update core\/(configmaps|secrets)$/, why: 'certificates near their end are made anew' },
    { rights: /^patch core\/secrets$/, why: 'the password of the registries is rotated' },
    {
      rights: /^list (operators\.coreos\.com|core\/services$)/,
      why: 'looked at where a webhook or OLM is there',
    },
    { rights: /^(list|patch) core\/events$/, why: 'why a check does not start; the same event once more' },
  ],
};

describe('the story of ./quickstart on Kubernetes', {
  ...needsRealEngine(),
  ...needs('root', 'xorriso', 'busybox'),
}, () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-kubernetes-'));
  const abort = new AbortController();
  const facts: Partial<Summary>[] = [];
  let cluster: KubernetesCluster;
  let demo: Demo;

  before(async () => {
    const teller = createTeller(true);
    const environment = () => (cluster === undefined ? {} : { KUBECONFIG: cluster.kubeconfig });
    demo = {
      directory,
      teller,
      signal: abort.signal,
      tell: (told) => void facts.push(told),
      shell: createShell(teller, join(repository, 'sluice'), abort.signal, environment),
    };
    const manifests = releasesForKubernetes(join(directory, 'releases'));
    await buildReleases(directory, demo.shell, teller, manifests);
    const trustedKeys = { 'sluice.pub': readFileSync(join(keysOf(directory), 'sluice.pub'), 'utf8') };
    cluster = await startKubernetes({ trustedKeys, audit: true, workers: 1 });
  });
  after(async () => {
    abort.abort();
    await cluster?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('day one: the first release comes on a disk, is copied, asked for, and applied', async () => {
    const { shell } = demo;
    await untilNodes(4);
    await shell.sluice(['media', 'attach', mediaOf(directory, '1.0.0'), '--node', 'master-0']);
    await shell.sluice(['release', 'add', '1.0.0', '--wait']);
    await shell.sluice(['media', 'detach', mediaOf(directory, '1.0.0'), '--node', 'master-0']);
    await shell.sluice(['upgrade', '--to', '1.0.0', '--no-wait']);
    // The nodes come with an operating system of their own; the release's is the first that they reboot into.
    await shell.sluice(['window', 'open', '--until', '1h', '--nodes', 'all']);
    const { kinds } = cluster.client;
    const isDone = (version: ClusterVersion | undefined) =>
      version?.status?.history?.[0]?.state === 'Completed';
    await waitFor(cluster.client, kinds.ClusterVersion, names('kubernetes').clusterVersion, isDone, {
      timeoutMs: 120_000,
      describe: (object) => JSON.stringify((object as ClusterVersion | undefined)?.status?.conditions),
    });
    await shell.sluice(['window', 'close', '--nodes', 'all']);
    assert.equal(await completed(), '1.0.0');
  });

  test('the update, with a check that really blocks and reboots that really wait', async () => {
    await tellStory(demo, cluster.client, needs('kubectl').skip === undefined);
    const told = Object.assign({}, ...facts) as Summary;
    assert.deepEqual(told.refusedBy, ['EvictionPolicyRemoved']);
    assert.equal(told.state, 'Completed');
    assert.equal(told.osDriver, 'simulated');
    assert.equal(await completed(), '1.1.0');
  });

  test('a worker is taken along: it boots what the control plane serves, and keeps nothing of its own', async () => {
    const { client } = cluster;
    const node = cluster.nodes.find(({ name }) => name === 'worker-0');
    assert.ok(node !== undefined);
    const { status } = await client.get(client.kinds.NodeUpdate, node.name);
    assert.equal(status?.booted?.version, '1.1.0');
    const master = await client.get(client.kinds.NodeUpdate, 'master-0');
    assert.equal(status?.booted?.image, master.status?.booted?.image);
    assert.deepEqual([status?.store, status?.media, existsSync(node.store)], [undefined, undefined, false]);
    assert.equal(await client.tryGet(client.kinds.MachineConfigNode, node.name), undefined);
    const hosts = readdirSync(containerdHostsOf(node));
    assert.ok(hosts.length > 0, 'containerd finds the mirrors');
    for (const host of hosts) {
      const text = readFileSync(join(containerdHostsOf(node), host, 'hosts.toml'), 'utf8');
      assert.ok(!text.includes(`${node.address}:`), 'it is no mirror itself');
      for (const { address } of cluster.nodes.slice(0, 3)) assert.ok(text.includes(`${address}:22625`), text);
    }
    const attached = await run(join(repository, 'sluice'), [
      ...['media', 'attach', mediaOf(directory, '1.1.0'), '--socket', join(node.run, 'node.sock')],
    ]);
    assert.match(attached.stderr, /worker-0 is a worker and keeps no content/);
  });

  test('rights: what was used is granted, and what is granted beyond it has a reason', () => {
    const log = join(cluster.real.dir, 'audit.log');
    const roles = shippedManifests('kubernetes').filter(
      ({ kind }) => kind === 'ClusterRole' || kind === 'Role',
    );
    for (const [account, names] of Object.entries(rolesOf)) {
      const used = usedBy(log, `system:serviceaccount:sluice-system:${account}`);
      assert.deepEqual([...used.refused].sort(), [], `${account} asked for what it may not`);
      assert.ok(used.done.size >= 8, `only ${used.done.size} things were done by ${account}`);
      const all = new Set(
        roles.filter(({ metadata }) => names.includes(metadata.name)).flatMap((role) => [...grantedBy(role)]),
      );
      const applied = [...used.done].filter((right) => !all.has(right) && !isPublic(right));
      const foreign = applied.filter((right) => account !== 'sluice-controller' || !payloadKinds.test(right));
      assert.deepEqual(
        foreign.sort(),
        [],
        `${account}: used by the right to apply releases, and no part of one`,
      );
      const granted = roles.filter(({ metadata }) => names.includes(metadata.name)).map(grantedBy);
      assert.equal(granted.length, names.length);
      const unused = new Set(
        granted.flatMap((rights) => [...rights]).filter((right) => !used.done.has(right)),
      );
      const reasons = beyond[account] ?? [];
      const explained = (right: string) => reasons.some(({ rights }) => rights.test(right));
      assert.deepEqual(
        [...unused].filter((right) => !explained(right)).sort(),
        [],
        `${account}: granted, not used, no reason`,
      );
      const idle = reasons.filter(({ rights }) => ![...unused].some((right) => rights.test(right)));
      assert.deepEqual(
        idle.map(({ why }) => why),
        [],
        `${account}: reasons for what is used after all`,
      );
    }
  });

  // After the rights: what is tried here in its name is refused, and written down.
  test('an agent writes the objects of its own node alone, and a worker reads no Secret', async () => {
    const { real, client } = cluster;
    const {
      machineConfigNamespace: namespace,
      registrySecret,
      registryAuthoritySecret,
    } = names('kubernetes');
    await assertOwnObjectsOnly(real, client, { account: 'sluice-node', namespace, node: 'master-0' });
    await assertOwnObjectsOnly(real, client, { account: 'sluice-worker', namespace, node: 'worker-0' });
    const config = await writeTokenConfig(real, client, 'w', 'sluice-worker', 'worker-0');
    const worker = createKubeClient({ ...loadKubeconfig(config), platform: 'kubernetes' });
    try {
      for (const secret of [registrySecret, registryAuthoritySecret])
        await assert.rejects(worker.get(worker.kinds.Secret, secret, namespace), /forbidden/);
    } finally {
      await worker.close();
    }
  });

  async function untilNodes(count: number): Promise<void> {
    const { client } = cluster;
    for (const { name } of cluster.nodes.slice(0, count)) {
      await waitFor(client, client.kinds.NodeUpdate, name, (update) => update?.status?.driver !== undefined, {
        timeoutMs: 60_000,
      });
    }
  }

  async function completed(): Promise<string | undefined> {
    const { kinds } = cluster.client;
    const version = await cluster.client.get(kinds.ClusterVersion, names('kubernetes').clusterVersion);
    const [newest] = version.status?.history ?? [];
    return newest?.state === 'Completed' ? newest.version : undefined;
  }
});
