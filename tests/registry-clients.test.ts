import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { silentLogger } from '../src/observe/log.ts';
import { openLayout } from '../src/oci/layout.ts';
import { mediaTypes } from '../src/oci/manifest.ts';
import { run } from '../src/process/run.ts';
import { type RegistryServer, serveRegistry } from '../src/registry/server.ts';
import { treeContent } from '../src/store/content.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { directoryTree } from '../src/store/tree.ts';
import { createAuthority, issue } from '../src/trust/authority.ts';
import { freePort } from '../src/up/network.ts';
import { bytesOf, imageOf, manifestOf, putImage, type SampleImage, tarOf } from './content.ts';
import { needs } from './tier.ts';

const repository = 'openshift/release';
let dir: string;
let store: Store;
let image: SampleImage;
let index: ReturnType<typeof manifestOf>;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-clients-'));
  store = await openStore(join(dir, 'store'));
  const layers = [
    await tarOf([{ header: { name: 'bin/hello', mode: 0o755 }, data: 'hello' }]),
    await tarOf([{ header: { name: 'noise' }, data: randomBytes(3_000_000) }]),
  ];
  image = imageOf(layers);
  await putImage(store, repository, image, '1.1.0-web');
  const other = imageOf(layers, { architecture: 'arm64', compress: 'zstd' });
  await putImage(store, repository, other);
  const child = (of: SampleImage, architecture: string) => ({
    ...of.descriptor,
    platform: { os: 'linux', architecture },
  });
  const list = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociIndex,
    manifests: [child(image, 'amd64'), child(other, 'arm64')],
  };
  index = manifestOf(list, mediaTypes.ociIndex);
  await store.putManifest(repository, index.raw);
  await store.tag(repository, '1.1.0-multi', index.raw.digest);
});

after(() => rm(dir, { recursive: true, force: true }));

/** skopeo with no configuration of this machine's user. */
async function skopeo(...args: string[]) {
  const policy = join(dir, 'policy.json');
  await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  return await run('skopeo', ['--policy', policy, ...args], {
    env: { ...process.env, REGISTRY_AUTH_FILE: join(dir, 'none.json') },
  });
}

/** Every byte of an image in a layout is the one that was put into the store. */
async function assertSame(layoutDir: string, wanted: SampleImage): Promise<void> {
  const layout = await openLayout(layoutDir);
  assert.equal((await layout.resolve('')).digest, wanted.raw.digest);
  for (const [digest, bytes] of wanted.blobs) assert.ok((await bytesOf(layout, '', digest)).equals(bytes));
}

test(
  "skopeo copies by digest out of a node's registry over TLS with its password, and is refused without",
  needs('skopeo'),
  async (t) => {
    const authority = await createAuthority('cluster');
    const pair = await issue(authority, { commonName: 'node', ipAddresses: ['127.0.0.1'], usage: 'server' });
    const certs = join(dir, 'certs');
    await mkdir(certs);
    await writeFile(join(certs, 'ca.crt'), authority.certPem);
    await writeFile(join(dir, 'tls.crt'), pair.certPem);
    await writeFile(join(dir, 'tls.key'), pair.keyPem, { mode: 0o600 });
    await writeFile(join(dir, 'htpasswd'), `openshift:${hashSync('a test', 4)}\n`);
    const server: RegistryServer = await serveRegistry({
      storePath: store.root,
      address: '127.0.0.1',
      port: 0,
      tls: {
        certFile: join(dir, 'tls.crt'),
        keyFile: join(dir, 'tls.key'),
        clientCaFile: join(certs, 'ca.crt'),
      },
      htpasswdFile: join(dir, 'htpasswd'),
      peer: { servername: 'api-int.sluice.internal' },
      trustedKeys: join(dir, 'no-keys'),
      logger: silentLogger,
    });
    t.after(() => server.close(0));
    const from = `docker://127.0.0.1:${server.port}/${repository}`;
    const trust = ['--src-cert-dir', certs];

    const copied = await skopeo(
      'copy',
      ...trust,
      '--src-creds',
      'openshift:a test',
      `${from}@${image.raw.digest}`,
      `oci:${join(dir, 'by-digest')}`,
    );
    assert.equal(copied.code, 0, copied.stderr);
    await assertSame(join(dir, 'by-digest'), image);
    const all = await skopeo(
      'copy',
      '--all',
      ...trust,
      '--src-creds',
      'openshift:a test',
      `${from}:1.1.0-multi`,
      `oci:${join(dir, 'all')}`,
    );
    assert.equal(all.code, 0, all.stderr);
    assert.equal((await (await openLayout(join(dir, 'all'))).resolve('')).digest, index.raw.digest);
    const listed = await skopeo('list-tags', '--cert-dir', certs, '--creds', 'openshift:a test', from);
    assert.deepEqual((JSON.parse(listed.stdout) as { Tags: string[] }).Tags, ['1.1.0-multi', '1.1.0-web']);

    for (const [credentials, why] of [
      [[], /unauthorized|authentication required/i],
      [['--src-creds', 'openshift:wrong'], /unauthorized|authentication|invalid username/i],
    ] as const) {
      const refused = await skopeo(
        'copy',
        ...trust,
        ...credentials,
        `${from}@${image.raw.digest}`,
        `oci:${join(dir, 'refused')}`,
      );
      assert.notEqual(refused.code, 0);
      assert.match(refused.stderr, why);
    }
    const distrusting = await skopeo(
      'copy',
      '--src-creds',
      'openshift:a test',
      `${from}@${image.raw.digest}`,
      `oci:${join(dir, 'refused')}`,
    );
    assert.match(distrusting.stderr, /certificate/);
    const pushed = await skopeo(
      'copy',
      '--dest-cert-dir',
      certs,
      '--dest-creds',
      'openshift:a test',
      `oci:${join(dir, 'by-digest')}`,
      `${from}:pushed`,
    );
    assert.notEqual(pushed.code, 0);
  },
);

async function startStock(
  root: string,
  options: { readonly: boolean },
): Promise<{ host: string; stop(): Promise<void> }> {
  const host = `127.0.0.1:${await freePort()}`;
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: {
      filesystem: { rootdirectory: root },
      maintenance: { readonly: { enabled: options.readonly } },
    },
    http: { addr: host },
  };
  const file = join(dir, `stock-${host.replace(':', '-')}.yml`);
  await writeFile(file, JSON.stringify(config));
  const child = spawn('docker-registry', ['serve', file], { stdio: 'ignore' }); // It logs each blob that it lacks.
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let tries = 0; ; tries += 1) {
    assert.ok(tries < 200 && child.exitCode === null, 'docker-registry does not start');
    const answers = await fetch(`http://${host}/v2/`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (answers) break;
    await sleep(50);
  }
  return {
    host,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

test(
  "the stock docker-registry serves a node's store, and skopeo pulls from it",
  needs('docker-registry', 'skopeo'),
  async (t) => {
    const stock = await startStock(store.root, { readonly: true });
    t.after(() => stock.stop());
    const from = `docker://${stock.host}/${repository}`;
    for (const [reference, target] of [
      [`@${image.raw.digest}`, 'stock-digest'],
      [':1.1.0-web', 'stock-tag'],
    ] as const) {
      const copied = await skopeo(
        'copy',
        '--src-tls-verify=false',
        `${from}${reference}`,
        `oci:${join(dir, target)}`,
      );
      assert.equal(copied.code, 0, copied.stderr);
      await assertSame(join(dir, target), image);
    }
    const all = await skopeo(
      'copy',
      '--all',
      '--src-tls-verify=false',
      `${from}:1.1.0-multi`,
      `oci:${join(dir, 'stock-all')}`,
    );
    assert.equal(all.code, 0, all.stderr);
    const catalog = (await (await fetch(`http://${stock.host}/v2/_catalog`)).json()) as {
      repositories: string[];
    };
    assert.deepEqual(catalog.repositories, [repository]);
  },
);

test(
  'what the stock docker-registry wrote is read, served and adopted',
  needs('docker-registry', 'skopeo'),
  async (t) => {
    const root = join(dir, 'pushed');
    await mkdir(root);
    const stock = await startStock(root, { readonly: false });
    t.after(() => stock.stop());
    const layout = join(dir, 'to-push');
    const made = await skopeo(
      'copy',
      '--src-tls-verify=false',
      `docker://${await servedByStock(t)}/${repository}@${image.raw.digest}`,
      `oci:${layout}`,
    );
    assert.equal(made.code, 0, made.stderr);
    const pushed = await skopeo(
      'copy',
      '--dest-tls-verify=false',
      `oci:${layout}`,
      `docker://${stock.host}/a/b/c:v1`,
    );
    assert.equal(pushed.code, 0, pushed.stderr);
    const content = treeContent(directoryTree(root));
    assert.deepEqual(await content.repositories(), ['a/b/c']);
    assert.equal((await content.manifest('a/b/c', 'v1'))?.digest, image.raw.digest);
    for (const [digest, bytes] of image.blobs)
      assert.ok((await bytesOf(content, 'a/b/c', digest)).equals(bytes));
    const adopted = await openStore(root);
    for (const [digest, bytes] of image.blobs) {
      assert.equal(await adopted.blobState(digest, bytes.length), 'unverified');
      assert.equal(await adopted.begin(digest, bytes.length), undefined); // Hashed, not fetched again.
      assert.equal(await adopted.blobState(digest, bytes.length), 'verified');
    }
    assert.equal(
      await readFile(
        join(root, 'docker/registry/v2/repositories/a/b/c/_manifests/tags/v1/current/link'),
        'utf8',
      ),
      image.raw.digest,
    );
  },
);

async function servedByStock(t: { after(act: () => Promise<void>): void }): Promise<string> {
  const stock = await startStock(store.root, { readonly: true });
  t.after(() => stock.stop());
  return stock.host;
}
