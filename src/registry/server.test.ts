import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { hashSync } from 'bcryptjs';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { imageOf, manifestOf, putBlob, putImage, type SampleImage, tarOf } from '../../tests/content.ts';
import { createHttpClient, type HttpClient, type HttpResponse } from '../http/client.ts';
import { silentLogger } from '../observe/log.ts';
import { createRegistryClient } from '../oci/client.ts';
import { type Digest, digestOf, hexOf } from '../oci/digest.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { openStore, type Store } from '../store/store.ts';
import { createAuthority, issue, type KeyPair } from '../trust/authority.ts';
import { type RegistryServer, type RegistryServerOptions, serveRegistry } from './server.ts';

const key = testKey('maker');
const apiInt = 'api-int.sluice.internal';
let dir: string;
let authority: KeyPair;
let store: Store;
let image: SampleImage;
let release: TestRelease;
let client: HttpClient;
const blob = randomBytes(5_000_000);
const big: Digest = digestOf(blob);
const files = (name: string) => join(dir, name);

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-registry-'));
  authority = await createAuthority('cluster');
  await writeFile(files('ca.crt'), authority.certPem);
  await writePair('server', {
    commonName: 'one',
    dnsNames: [apiInt],
    ipAddresses: ['127.0.0.1'],
    usage: 'both',
  });
  await writePair('client', {
    commonName: 'system:node:n',
    organizations: ['system:nodes'],
    usage: 'client',
  });
  await writeFile(files('htpasswd'), `openshift:${hashSync('right', 4)}\n`);
  await mkdir(files('keys'));
  await writeFile(files('keys/maker.pub'), key.pair.publicPem);
  store = await openStore(files('store'));
  image = imageOf([await tarOf([{ header: { name: 'a' }, data: 'x' }])]);
  await putImage(store, 'a/b', image, 'v1');
  await putBlob(store, big, blob);
  await store.linkLayer('a/b', big);
  release = await makeRelease({ version: '1.1.0', dir: files('release'), key: key.pair, blobBytes: 400_000 });
  client = createHttpClient({ ca: authority.certPem, servername: apiInt });
});

after(async () => {
  await client.close();
  await rm(dir, { recursive: true });
});

async function writePair(name: string, options: Parameters<typeof issue>[1]): Promise<void> {
  const pair = await issue(authority, options);
  await writeFile(files(`${name}.key`), pair.keyPem);
  await writeFile(files(`${name}.crt`), pair.certPem);
}

async function start(
  t: { after(act: () => Promise<void>): void },
  options: Partial<RegistryServerOptions> = {},
): Promise<RegistryServer & { url: string }> {
  const server = await serveRegistry({
    storePath: store.root,
    address: '127.0.0.1',
    port: 0,
    tls: { certFile: files('server.crt'), keyFile: files('server.key'), clientCaFile: files('ca.crt') },
    htpasswdFile: files('htpasswd'),
    peer: {
      certFile: files('client.crt'),
      keyFile: files('client.key'),
      caFile: files('ca.crt'),
      servername: apiInt,
    },
    trustedKeys: files('keys'),
    logger: silentLogger,
    pollMs: 100,
    ...options,
  });
  t.after(() => server.close(0));
  return { ...server, url: `https://127.0.0.1:${server.port}` };
}

const right = { authorization: `Basic ${Buffer.from('openshift:right').toString('base64')}` };

async function get(
  url: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'PATCH' = 'GET',
) {
  const answer = await client.request({ url, method, headers: { ...right, ...headers } });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  return { ...(answer as HttpResponse), body, code: errorCode(body) };
}

function errorCode(body: Buffer): string | undefined {
  try {
    return (JSON.parse(body.toString()) as { errors?: { code: string }[] }).errors?.[0]?.code;
  } catch {
    return undefined;
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await holds()) return;
    await sleep(50);
  }
  assert.fail(`waited in vain until ${what}`);
}

test('without password or certificate nothing is told', async (t) => {
  const { url } = await start(t);
  for (const authorization of [
    '',
    'Basic',
    `Basic ${Buffer.from('openshift:wrong').toString('base64')}`,
    `Basic ${Buffer.from('other:right').toString('base64')}`,
    'Bearer x',
  ]) {
    for (const path of ['/v2/', '/v2/a/b/manifests/v1', `/v2/a/b/blobs/${big}`, '/nothing']) {
      const answer = await get(`${url}${path}`, { authorization });
      assert.equal(answer.status, 401, `${authorization} ${path}`);
      assert.equal(answer.code, 'UNAUTHORIZED');
      assert.match(String(answer.headers['www-authenticate']), /^Basic realm=/);
    }
  }
  assert.equal((await get(`${url}/v2/`)).status, 200);
});

test('a client certificate of the cluster is proof enough; another, or none on a resumed session, is not', async (t) => {
  const { url, port } = await start(t);
  const { readFile } = await import('node:fs/promises');
  const pair = {
    cert: await readFile(files('client.crt'), 'utf8'),
    key: await readFile(files('client.key'), 'utf8'),
  };
  const withCertificate = createHttpClient({ ca: authority.certPem, servername: apiInt, ...pair });
  t.after(() => withCertificate.close());
  assert.equal((await withCertificate.request({ url: `${url}/v2/` })).status, 200);
  const foreign = await issue(await createAuthority('other'), { commonName: 'x', usage: 'client' });
  const stranger = createHttpClient({
    ca: authority.certPem,
    servername: apiInt,
    cert: foreign.certPem,
    key: foreign.keyPem,
  });
  t.after(() => stranger.close());
  assert.equal((await stranger.request({ url: `${url}/v2/` })).status, 401);

  const session = await new Promise<Buffer>((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca: authority.certPem, servername: apiInt });
    socket.once('session', (ticket) => {
      resolve(ticket);
      socket.destroy();
    });
    socket.once('error', reject);
    socket.write('GET /v2/ HTTP/1.1\r\nhost: x\r\n\r\n');
  });
  const resumed = await new Promise<{ status: number | undefined; reused: boolean }>((resolve, reject) => {
    const request = httpsRequest(
      { port, host: '127.0.0.1', path: '/v2/', ca: authority.certPem, servername: apiInt, ...{ session } },
      (answer) => {
        resolve({ status: answer.statusCode, reused: (answer.socket as TLSSocket).isSessionReused() });
        answer.resume();
      },
    );
    request.on('error', reject).end();
  });
  assert.deepEqual(resumed, { status: 401, reused: true });
});

test('manifests by tag and by digest, as they were stored', async (t) => {
  const { url } = await start(t);
  for (const reference of ['v1', image.raw.digest]) {
    const answer = await get(`${url}/v2/a/b/manifests/${reference}`, { accept: mediaTypes.ociManifest });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, Buffer.from(image.raw.bytes));
    assert.equal(answer.headers['content-type'], mediaTypes.ociManifest);
    assert.equal(answer.headers['docker-content-digest'], image.raw.digest);
    const head = await get(`${url}/v2/a/b/manifests/${reference}`, {}, 'HEAD');
    assert.equal(head.headers['content-length'], String(image.raw.bytes.length));
    assert.equal(head.body.length, 0);
    assert.equal(
      (await get(`${url}/v2/a/b/manifests/${reference}`, { 'if-none-match': `"${image.raw.digest}"` }))
        .status,
      304,
    );
  }
  assert.equal((await get(`${url}/v2/a/b/manifests/v1`, { accept: 'image/*' })).code, 'MANIFEST_UNKNOWN');
  assert.equal(
    (await get(`${url}/v2/a/b/manifests/v1`, { accept: 'text/html, application/*;q=0.1' })).status,
    200,
  );
  for (const [path, status, code] of [
    ['a/b/manifests/v2', 404, 'MANIFEST_UNKNOWN'],
    ['a/b/manifests/.bad', 404, 'MANIFEST_UNKNOWN'],
    [`a/b/manifests/${big}`, 404, 'MANIFEST_UNKNOWN'],
    [`a/manifests/${image.raw.digest}`, 404, 'MANIFEST_UNKNOWN'],
    ['A/manifests/v1', 400, 'NAME_INVALID'],
    ['a/../b/c', 404, 'NAME_UNKNOWN'],
    ['a/b/blobs/sha256:0', 400, 'DIGEST_INVALID'],
    [`a/b/blobs/${digestOf(Buffer.from('none'))}`, 404, 'BLOB_UNKNOWN'],
    [`a/c/blobs/${big}`, 404, 'BLOB_UNKNOWN'],
    ['none/tags/list', 404, 'NAME_UNKNOWN'],
    ['a/b/tags/list?n=x', 400, 'PAGINATION_NUMBER_INVALID'],
  ] as const) {
    const answer = await get(`${url}/v2/${path}`);
    assert.deepEqual([answer.status, answer.code], [status, code], path);
  }
});

test('a client that takes this registry for a mirror gets a digest under the name that its source has', async (t) => {
  const { url } = await start(t);
  for (const [path, status] of [
    [`there/x/manifests/${image.raw.digest}?ns=quay.example`, 200],
    [`there/x/blobs/${big}?ns=quay.example`, 200],
    [`there/x/blobs/${digestOf(Buffer.from('none'))}?ns=quay.example`, 404],
    // What a tag means there, nobody here knows.
    ['there/x/manifests/v1?ns=quay.example', 404],
    [`there/x/manifests/${image.raw.digest}`, 404],
  ] as const) {
    assert.equal((await get(`${url}/v2/${path}`)).status, status, path);
  }
});

test('blobs whole and in parts; C10 at the end there is nothing to give', async (t) => {
  const { url } = await start(t);
  const at = `${url}/v2/a/b/blobs/${big}`;
  const whole = await get(at);
  assert.ok(whole.body.equals(blob));
  assert.equal(whole.headers['content-length'], String(blob.length));
  assert.equal(whole.headers['docker-content-digest'], big);
  const head = await get(at, {}, 'HEAD');
  assert.deepEqual(
    [head.status, head.headers['content-length'], head.body.length],
    [200, String(blob.length), 0],
  );
  const part = await get(at, { range: 'bytes=1500000-' });
  assert.equal(part.status, 206);
  assert.equal(part.headers['content-range'], `bytes 1500000-4999999/${blob.length}`);
  assert.ok(part.body.equals(blob.subarray(1_500_000)));
  const end = await get(at, { range: `bytes=${blob.length}-` });
  assert.deepEqual(
    [end.status, end.code, end.headers['content-range']],
    [416, 'RANGE_INVALID', `bytes */${blob.length}`],
  );
  const source = createRegistryClient({
    baseUrl: url,
    http: client,
    auth: { username: 'openshift', password: 'right' },
  });
  const rest = await source.blob('a/b', big, { offset: 4_999_990 });
  const got: Uint8Array[] = [];
  for await (const chunk of rest?.stream ?? []) got.push(chunk);
  assert.ok(Buffer.concat(got).equals(blob.subarray(4_999_990)));
});

test('a blob that no repository links yet is there for other nodes that copy, and for nobody else', async (t) => {
  const early = randomBytes(3_000);
  const digest = digestOf(early);
  await store.putBlob(digest, early);
  const { url } = await start(t);
  const path = `${url}/v2/a/b/blobs/${digest}`;
  assert.deepEqual((await get(path, { 'sluice-hop': 'store' })).body, early);
  const part = await get(path, { 'sluice-hop': 'store', range: 'bytes=2900-' });
  assert.deepEqual([part.status, part.body], [206, early.subarray(2900)]);
  const hidden: Record<string, string>[] = [{}, { 'sluice-hop': '1' }, { 'sluice-hop': 'other' }];
  for (const headers of hidden) {
    assert.deepEqual((await get(path, headers)).code, 'BLOB_UNKNOWN', JSON.stringify(headers));
    assert.equal((await get(`${path}?ns=quay.io`, headers)).code, 'BLOB_UNKNOWN');
  }
  const stranger = { 'sluice-hop': 'store', authorization: 'Basic b3BlbnNoaWZ0Ondyb25n' };
  assert.equal((await get(path, stranger)).status, 401);
});

test('it is read-only', async (t) => {
  const { url } = await start(t);
  for (const [method, path] of [
    ['POST', 'a/b/blobs/uploads/'],
    ['PATCH', 'a/b/blobs/uploads/1'],
    ['PUT', 'a/b/manifests/v1'],
    ['DELETE', 'a/b/manifests/v1'],
    ['DELETE', `a/b/blobs/${big}`],
    ['GET', 'a/b/blobs/uploads/1'],
  ] as const) {
    const answer = await get(`${url}/v2/${path}`, {}, method);
    assert.ok(
      answer.status === 405 || (method === 'GET' && answer.status === 404),
      `${method} ${path}: ${answer.status}`,
    );
    if (method !== 'GET') assert.equal(answer.code, 'UNSUPPORTED');
  }
});

test('P2 tags come in pages, and the client follows them', async (t) => {
  const { url } = await start(t);
  for (const tag of ['v3', 'v10', 'V2', '_x']) await store.tag('a/b', tag, image.raw.digest);
  const first = await get(`${url}/v2/a/b/tags/list?n=2`);
  assert.deepEqual(JSON.parse(first.body.toString()), { name: 'a/b', tags: ['V2', '_x'] });
  assert.equal(first.headers.link, '</v2/a/b/tags/list?n=2&last=_x>; rel="next"');
  const none = await get(`${url}/v2/a/b/tags/list?n=0`);
  assert.deepEqual([JSON.parse(none.body.toString()).tags, none.headers.link], [[], undefined]);
  const source = createRegistryClient({
    baseUrl: url,
    http: client,
    auth: { username: 'openshift', password: 'right' },
  });
  assert.deepEqual(await source.tags('a/b'), ['V2', '_x', 'v1', 'v10', 'v3']);
});

test('P4 referrers are listed and filtered, and the filter is said', async (t) => {
  const { url } = await start(t);
  const empty = Buffer.from('{}');
  await putBlob(store, digestOf(empty), empty);
  await store.linkLayer('a/b', digestOf(empty));
  const config = { mediaType: mediaTypes.ociEmpty, digest: digestOf(empty), size: 2 };
  for (const artifactType of ['x/sig', 'x/sbom']) {
    const referrer = {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      artifactType,
      config,
      layers: [],
      subject: image.descriptor,
      annotations: { of: artifactType },
    };
    await store.putManifest('a/b', manifestOf(referrer, mediaTypes.ociManifest).raw);
  }
  const all = await get(`${url}/v2/a/b/referrers/${image.raw.digest}`);
  assert.equal(all.headers['content-type'], mediaTypes.ociIndex);
  assert.equal(JSON.parse(all.body.toString()).manifests.length, 2);
  const some = await get(`${url}/v2/a/b/referrers/${image.raw.digest}?artifactType=x%2Fsig`);
  assert.equal(some.headers['oci-filters-applied'], 'artifactType');
  assert.deepEqual(
    JSON.parse(some.body.toString()).manifests.map((entry: { annotations: object }) => entry.annotations),
    [{ of: 'x/sig' }],
  );
  const none = await get(`${url}/v2/unknown/referrers/${image.raw.digest}`);
  assert.deepEqual([none.status, JSON.parse(none.body.toString()).manifests], [200, []]);
});

test('P6 passwords and certificates change while a download runs, which ends well', async (t) => {
  const { url, port } = await start(t);
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', ca: authority.certPem, servername: apiInt }, () => {
        resolve(socket.getPeerCertificate().subject.CN as string);
        socket.destroy();
      });
      socket.once('error', reject);
    });
  assert.equal(await served(), 'one');
  const running = await client.request({ url: `${url}/v2/a/b/blobs/${big}`, headers: right });
  await writeFile(files('server.crt'), 'half a certificate');
  await sleep(400);
  assert.equal(await served(), 'one'); // What cannot be used changes nothing.
  await writePair('server', {
    commonName: 'two',
    dnsNames: [apiInt],
    ipAddresses: ['127.0.0.1'],
    usage: 'both',
  });
  await until('the new certificate is served', async () => (await served()) === 'two');
  await writeFile(
    files('htpasswd.new'),
    `openshift:${hashSync('right', 4)}\nopenshift:${hashSync('next', 4)}\n`,
  );
  await rename(files('htpasswd.new'), files('htpasswd'));
  const next = { authorization: `Basic ${Buffer.from('openshift:next').toString('base64')}` };
  await until('the new password is accepted', async () => (await get(`${url}/v2/`, next)).status === 200);
  assert.equal((await get(`${url}/v2/`)).status, 200); // Both generations.
  await writeFile(files('htpasswd'), `openshift:${hashSync('next', 4)}\n`);
  await until('the old password is refused', async () => (await get(`${url}/v2/`)).status === 401);
  let size = 0;
  for await (const chunk of running.body) size += chunk.length;
  assert.equal(size, blob.length);
  await writeFile(files('htpasswd'), `openshift:${hashSync('right', 4)}\n`);
});

test('media are served once their signature is verified, and only what belongs to the bundle', async (t) => {
  const trees = files('trees-media.json');
  const { url } = await start(t, { treesFile: trees });
  assert.equal((await get(`${url}/v2/a/b/tags/list`)).status, 200); // No file yet: the store.
  const other = await openStore(release.path);
  await putImage(other, 'not/signed', image, 'v1');
  const media = { kind: 'media', path: release.path, bundleDigest: release.digest };
  await writeFile(trees, JSON.stringify([{ kind: 'store', path: store.root }, media]));
  const payload = `${url}/v2/openshift/release-images/manifests/${release.payload}`;
  await until('the payload is served', async () => (await get(payload)).status === 200);
  assert.equal((await get(`${url}/v2/not/signed/manifests/v1`)).code, 'MANIFEST_UNKNOWN');
  assert.equal((await get(`${url}/v2/a/b/manifests/v1`)).status, 200);
  const tags = JSON.parse((await get(`${url}/v2/openshift/release-bundles/tags/list`)).body.toString())
    .tags as string[];
  assert.ok(tags.includes(release.name));
  assert.equal(tags.length, 2); // The bundle, and its signature.
  const signature = await get(`${url}/v2/openshift/release-bundles/referrers/${release.digest}`);
  assert.equal(JSON.parse(signature.body.toString()).manifests.length >= 0, true);
  await writeFile(trees, '{"half":');
  await sleep(300);
  assert.equal((await get(payload)).status, 200);
  await writeFile(trees, JSON.stringify([{ kind: 'store', path: store.root }]));
  await until('the payload is gone', async () => (await get(payload)).status === 404);
});

test('media whose signer is not trusted are not served; when the key comes they are, and when it goes they go', async (t) => {
  await mkdir(files('other-keys'));
  const trees = files('trees-untrusted.json');
  await writeFile(
    trees,
    JSON.stringify([{ kind: 'media', path: release.path, bundleDigest: release.digest }]),
  );
  const { url } = await start(t, { treesFile: trees, trustedKeys: files('other-keys') });
  const payload = `${url}/v2/openshift/release-images/manifests/${release.payload}`;
  await sleep(300);
  assert.equal((await get(payload)).status, 404);
  await writeFile(files('other-keys/maker.pub'), key.pair.publicPem);
  await until('the payload is served', async () => (await get(payload)).status === 200);
  await rm(files('other-keys/maker.pub'));
  await until('the payload is gone', async () => (await get(payload)).status === 404);
});

/** The largest blob of the release's component, and where it lies on the medium. */
async function componentBlob() {
  const medium = await openStore(release.path);
  const [repository] = (await medium.repositories()).filter((name) => name === 'openshift/release');
  assert.ok(repository !== undefined);
  const sizes = await Promise.all(
    (await medium.links(repository, 'blob')).map(async (digest) => ({
      digest,
      size: (await medium.hasBlob(digest)) ?? 0,
    })),
  );
  const largest = sizes.toSorted((a, b) => b.size - a.size)[0];
  assert.ok(largest !== undefined && largest.size > 300_000);
  const path = join(
    release.path,
    'docker/registry/v2/blobs/sha256',
    hexOf(largest.digest).slice(0, 2),
    hexOf(largest.digest),
    'data',
  );
  return { repository, path, ...largest };
}

test('a peer serves what another node has attached; no byte of a damaged blob looks whole', async (t) => {
  const mediumTrees = files('trees-medium.json');
  await writeFile(
    mediumTrees,
    JSON.stringify([{ kind: 'media', path: release.path, bundleDigest: release.digest }]),
  );
  const holder = await start(t, { treesFile: mediumTrees });
  const peerTrees = files('trees-peer.json');
  await writeFile(
    peerTrees,
    JSON.stringify([
      { kind: 'store', path: store.root },
      { kind: 'peer', url: holder.url, bundleDigest: release.digest },
    ]),
  );
  const asker = await start(t, { treesFile: peerTrees });
  const payload = `/v2/openshift/release-images/manifests/${release.payload}`;
  await until(
    'the peer serves the payload',
    async () => (await get(`${asker.url}${payload}`)).status === 200,
  );
  assert.equal((await get(`${asker.url}${payload}`, { 'sluice-hop': '1' })).status, 404); // No question goes in circles.

  const { repository, path, digest, size } = await componentBlob();
  const at = `/v2/${repository}/blobs/${digest}`;
  for (const { url } of [holder, asker]) {
    const whole = await get(`${url}${at}`);
    assert.equal(digestOf(whole.body), digest);
    const part = await get(`${url}${at}`, { range: 'bytes=100-199' });
    assert.deepEqual([part.status, part.body], [206, whole.body.subarray(100, 200)]);
  }
  const { readFile } = await import('node:fs/promises');
  const good = await readFile(path);
  const spoiled = Buffer.from(good);
  spoiled[1000] = (spoiled[1000] ?? 0) ^ 1;
  await writeFile(path, spoiled);
  t.after(() => writeFile(path, good));
  const fresh = await start(t, { treesFile: mediumTrees });
  await until('the medium is served', async () => (await get(`${fresh.url}${payload}`)).status === 200);
  await assert.rejects(get(`${fresh.url}${at}`)); // The connection ends before the body does.
  assert.equal((await get(`${fresh.url}${at}`)).code, 'BLOB_UNKNOWN'); // From then on it is not there.
  await writeFile(path, good.subarray(0, size - 1));
  const short = await start(t, { treesFile: mediumTrees });
  await until('the medium is served', async () => (await get(`${short.url}${payload}`)).status === 200);
  assert.equal((await get(`${short.url}${at}`, {}, 'HEAD')).status, 404); // M8
});

test('media that are gone: what they held is unavailable, not absent, and the store still answers', async (t) => {
  const copy = files('removable');
  await cp(release.path, copy, { recursive: true });
  const trees = files('trees-removable.json');
  await writeFile(
    trees,
    JSON.stringify([
      { kind: 'media', path: copy, bundleDigest: release.digest },
      { kind: 'store', path: store.root },
    ]),
  );
  const { url } = await start(t, { treesFile: trees });
  const { repository, digest } = await componentBlob();
  const at = `${url}/v2/${repository}/blobs/${digest}`;
  await until('the medium is served', async () => (await get(at)).status === 200);
  await rename(copy, `${copy}-away`);
  const lost = await get(at);
  assert.deepEqual([lost.status, lost.code, lost.headers['retry-after']], [503, 'UNAVAILABLE', '5']);
  assert.equal((await get(`${url}/v2/a/b/manifests/v1`)).status, 200);
  await rename(`${copy}-away`, copy);
  await until('it answers again', async () => (await get(at)).status === 200);
});
