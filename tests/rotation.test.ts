import assert from 'node:assert/strict';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { names } from '../src/api/names.ts';
import { createHttpClient } from '../src/http/client.ts';
import { systemClock } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { createRegistryClient } from '../src/oci/client.ts';
import { run } from '../src/process/run.ts';
import { readCredentials, rotateCredentials } from '../src/release/credentials.ts';
import { createAuthority, issue, type KeyPair } from '../src/trust/authority.ts';
import { keepAuthFile } from '../src/up/auth-file.ts';
import type { TestRelease } from './bundles.ts';
import { type ContentPlane, startRunningPlane, type TestNode, until } from './content-plane.ts';
import { needs } from './tier.ts';

const { registryPort, apiInt, registryUser } = names('standalone');
let plane: ContentPlane;
let one: TestRelease;
let authFile: string;
let certs: string;
const stop = new AbortController();

before(async () => {
  ({ plane, one } = await startRunningPlane(3));
  authFile = join(plane.dir, 'auth.json');
  certs = join(plane.dir, 'certs');
  await mkdir(certs);
  await writeFile(join(certs, 'ca.crt'), plane.cluster.caPem);
  const follow = { file: authFile, clock: systemClock, logger: silentLogger, signal: stop.signal };
  const registries = plane.nodes.map(hostOf);
  await keepAuthFile({ ...follow, client: plane.cluster.client, registries });
  await until('the password on every node', async () => {
    const { items } = await plane.cluster.client.list(plane.cluster.client.kinds.NodeUpdate);
    return items.length === 3 && items.every((each) => each.status?.registryCredentials !== undefined);
  });
});

after(async () => {
  stop.abort();
  await plane?.close();
});

function hostOf(node: TestNode): string {
  return `${node.address}:${registryPort}`;
}

interface Load {
  readonly pulls: number;
  readonly failures: readonly string[];
}

/** Pulls a whole image from each node in turn, again and again, while something happens; with nothing kept open. */
async function underLoad(change: () => Promise<void>): Promise<Load> {
  const image = one.document.images.find((each) => each.name === 'web');
  assert.ok(image !== undefined);
  const { repository, digest } = image;
  const failures: string[] = [];
  let pulls = 0;
  let working = true;
  const policy = join(plane.dir, 'policy.json');
  await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  const loop = async (pull: (node: TestNode, turn: number) => Promise<void>) => {
    for (let turn = 0; working; turn += 1) {
      const node = plane.nodes[turn % plane.nodes.length] as TestNode;
      try {
        await pull(node, turn);
        pulls += 1;
      } catch (error) {
        failures.push(`${node.name}: ${(error as Error).message}`);
      }
    }
  };
  const skopeo = async (node: TestNode, turn: number) => {
    const target = join(plane.dir, `pulled-${turn % 2}`);
    const access = ['--src-cert-dir', certs, '--src-authfile', authFile];
    const from = `docker://${hostOf(node)}/${repository}@${digest}`;
    const { code, stderr } = await run('skopeo', [
      '--policy',
      policy,
      'copy',
      ...access,
      from,
      `dir:${target}`,
    ]);
    if (code !== 0) throw new Error(`skopeo: ${stderr.slice(-500)}`);
  };
  const own = async (node: TestNode) => {
    const { auths } = JSON.parse(await readFile(authFile, 'utf8')) as {
      auths: Record<string, { auth: string }>;
    };
    const [username = '', password = ''] = Buffer.from(auths[hostOf(node)]?.auth ?? '', 'base64')
      .toString()
      .split(':');
    const http = createHttpClient({ ca: await readFile(join(certs, 'ca.crt'), 'utf8') });
    try {
      const client = createRegistryClient({
        baseUrl: `https://${hostOf(node)}`,
        http,
        auth: { username, password },
      });
      const raw = await client.manifest(repository, digest);
      if (raw === undefined) throw new Error('there is no manifest');
    } finally {
      await http.close();
    }
  };
  const loops = [loop(skopeo), loop(own), loop(own)];
  try {
    await change();
    await sleep(1_000);
  } finally {
    working = false;
    await Promise.all(loops);
  }
  return { pulls, failures };
}

async function settled(): Promise<void> {
  await until(
    'the new password on every node',
    async () => {
      const credentials = await readCredentials(plane.cluster.client);
      return credentials?.password !== undefined && credentials.next === undefined;
    },
    { timeoutMs: 120_000 },
  );
}

test(
  'P12 skopeo pulls by the name that the payload has, through the mirrors that are printed',
  needs('skopeo'),
  async () => {
    const image = one.document.images.find((each) => each.name === 'web');
    assert.ok(image !== undefined);
    const conf = join(plane.dir, 'registries.conf');
    await until('the mirrors of the image', async () => {
      const { stdout } = await plane.sluice('release', 'mirrors');
      await writeFile(conf, stdout);
      return stdout.includes(`location = "${image.source}"`);
    });
    const policy = join(plane.dir, 'policy.json');
    await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
    const access = ['--src-cert-dir', certs, '--src-authfile', authFile];
    const into = `dir:${join(plane.dir, 'by-name')}`;
    const pull = (reference: string) =>
      run('skopeo', ['--policy', policy, '--registries-conf', conf, 'copy', ...access, reference, into]);
    // Nobody resolves the name of the source: what comes, comes from a node.
    const pulled = await pull(`docker://${image.source}@${image.digest}`);
    assert.equal(pulled.code, 0, pulled.stderr);
    assert.notEqual((await pull(`docker://${image.source}:latest`)).code, 0, 'a tag is not asked of mirrors');
  },
);

test(
  'the password changes twice, and its Secret is deleted, without one failed pull',
  needs('skopeo'),
  async (t) => {
    const passwords = new Set<string | undefined>();
    const note = async () => passwords.add((await readCredentials(plane.cluster.client))?.password);
    const load = await underLoad(async () => {
      await note();
      for (let round = 0; round < 2; round += 1) {
        assert.ok(await rotateCredentials(plane.cluster.client));
        await settled();
        await note();
      }
      const { machineConfigNamespace: namespace, registrySecret } = names('standalone');
      await plane.cluster.client.delete(plane.cluster.client.kinds.Secret, registrySecret, { namespace });
      await until('a Secret again', async () => (await readCredentials(plane.cluster.client)) !== undefined);
      await settled();
      await note();
    });
    t.diagnostic(`${load.pulls} pulls`);
    assert.deepEqual(load.failures, []);
    assert.equal(passwords.size, 4);
    assert.ok(load.pulls > 50, `${load.pulls} pulls`);
    const { auths } = JSON.parse(await readFile(authFile, 'utf8')) as {
      auths: Record<string, { auth: string }>;
    };
    const { password } = (await readCredentials(plane.cluster.client)) ?? {};
    const auth = Buffer.from(`${registryUser}:${password}`).toString('base64');
    assert.deepEqual(
      Object.values(auths),
      plane.nodes.map(() => ({ auth })),
    );
  },
);

/** Renamed into place, as whoever renews certificates does it. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

test(
  'P6 the authority changes in stages (trust both, new certificates, trust the new one) without one failed pull',
  needs('skopeo'),
  async (t) => {
    const next: KeyPair = await createAuthority('sluice-next-ca');
    const both = `${plane.cluster.caPem}${next.certPem}`;
    const trust = async (pem: string) => {
      await replace(plane.caFile, pem);
      await replace(join(certs, 'ca.crt'), pem);
      // Each registry and node reads it again within its interval.
      await sleep(1_000);
    };
    const load = await underLoad(async () => {
      await trust(both);
      for (const node of plane.nodes) {
        const pair = await issue(next, {
          commonName: `system:node:${node.name}`,
          organizations: ['system:nodes'],
          dnsNames: [apiInt],
          ipAddresses: [node.address],
          usage: 'both',
        });
        // Not both at once: what stands in between is no pair.
        await replace(node.certFile, pair.certPem);
        await sleep(200);
        await replace(node.keyFile, pair.keyPem);
        await until('the new certificate', async () => await isIssuedBy(node, next.certPem));
      }
      await trust(next.certPem);
    });
    t.diagnostic(`${load.pulls} pulls`);
    assert.deepEqual(load.failures, []);
    assert.ok(load.pulls > 10, `${load.pulls} pulls`);
    for (const node of plane.nodes) assert.equal(await isIssuedBy(node, plane.cluster.caPem), false);
    // A node shows its new certificate to its peers; one of the old authority is nobody's any more.
    const [node] = plane.nodes;
    assert.ok(node !== undefined);
    const renewed = {
      cert: await readFile(node.certFile, 'utf8'),
      key: await readFile(node.keyFile, 'utf8'),
    };
    assert.equal(await statusWith(node, { ca: next.certPem, ...renewed }), 200);
    const old = await issue(plane.cluster.authority, { commonName: 'system:node:old', usage: 'client' });
    assert.equal(await statusWith(node, { ca: next.certPem, cert: old.certPem, key: old.keyPem }), 401);
  },
);

async function isIssuedBy(node: TestNode, ca: string): Promise<boolean> {
  return (await statusWith(node, { ca }).catch(() => undefined)) === 401;
}

async function statusWith(node: TestNode, tls: { ca: string; cert?: string; key?: string }): Promise<number> {
  const http = createHttpClient(tls);
  try {
    const answer = await http.request({ url: `https://${hostOf(node)}/v2/` });
    await answer.discard();
    return answer.status;
  } finally {
    await http.close();
  }
}
