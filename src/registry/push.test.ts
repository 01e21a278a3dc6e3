import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { silentLogger } from '../observe/log.ts';
import { digestOf } from '../oci/digest.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { openStore } from '../store/store.ts';
import { type RegistryServer, serveRegistry } from './server.ts';

/** What the public conformance suite looks at, for hosts without Go (tests/conformance.test.ts runs the suite). */

let dir: string;
let server: RegistryServer;
let url: string;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-push-'));
  server = await serveRegistry({
    storePath: join(dir, 'store'),
    address: '127.0.0.1',
    port: 0,
    writable: true,
    stallMs: 300,
    peer: { servername: 'unused' },
    trustedKeys: join(dir, 'keys'),
    logger: silentLogger,
  });
  url = `http://127.0.0.1:${server.port}/v2`;
});

after(async () => {
  await server.close(0);
  await rm(dir, { recursive: true });
});

async function ask(
  method: string,
  path: string,
  body?: Uint8Array | string,
  headers?: Record<string, string>,
) {
  const answer = await fetch(path.startsWith('http') ? path : `${url}/${path}`, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : Buffer.from(body) }),
    ...(headers === undefined ? {} : { headers }),
  });
  const text = await answer.text();
  const code = text.includes('"errors"') ? JSON.parse(text).errors[0].code : undefined;
  const location = answer.headers.get('location');
  const next = location === null ? undefined : new URL(location, url).href;
  return { status: answer.status, headers: answer.headers, text, code, location: next ?? '' };
}

async function pushBlob(repository: string, bytes: Uint8Array) {
  const digest = digestOf(bytes);
  const answer = await ask('POST', `${repository}/blobs/uploads/?digest=${digest}`, bytes);
  assert.equal(answer.status, 201, answer.text);
  return { mediaType: 'application/octet-stream', digest, size: bytes.length };
}

const empty = Buffer.from('{}');

test('end-4a, 5, 6, 13: a blob in chunks; a chunk out of order is 416 and says where the upload stands', async () => {
  const bytes = Buffer.from('in two chunks');
  const begun = await ask('POST', 'a/b/blobs/uploads/');
  assert.equal(begun.status, 202);
  const first = await ask('PATCH', begun.location, bytes.subarray(0, 6), { 'content-range': '0-5' });
  assert.equal(first.status, 202);
  assert.equal(first.headers.get('range'), '0-5');
  const wrong = await ask('PATCH', first.location, bytes.subarray(0, 6), { 'content-range': '0-5' });
  assert.equal(wrong.status, 416);
  const asked = await ask('GET', first.location);
  assert.deepEqual([asked.status, asked.headers.get('range')], [204, '0-5']);
  const digest = digestOf(bytes);
  const last = await ask('PUT', `${first.location}?digest=${digest}`, bytes.subarray(6), {
    'content-range': '6-12',
  });
  assert.deepEqual([last.status, last.headers.get('docker-content-digest')], [201, digest]);
  assert.equal((await ask('GET', last.location)).text, bytes.toString());
  assert.equal((await ask('GET', first.location)).code, 'BLOB_UPLOAD_UNKNOWN');
});

test('end-4b: in one request; other bytes than the digest says are refused and leave nothing', async () => {
  const bytes = Buffer.from('monolithic');
  await pushBlob('a/b', bytes);
  const digest = digestOf(Buffer.from('something else'));
  const refused = await ask('POST', `a/b/blobs/uploads/?digest=${digest}`, bytes);
  assert.deepEqual([refused.status, refused.code], [400, 'DIGEST_INVALID']);
  assert.equal((await ask('HEAD', `a/b/blobs/${digest}`)).status, 404);
});

test('end-14: an upload is cancelled', async () => {
  const begun = await ask('POST', 'a/b/blobs/uploads/');
  assert.equal((await ask('DELETE', begun.location)).status, 204);
  assert.equal((await ask('PATCH', begun.location, 'x')).status, 404);
});

test('end-11: a blob is mounted from another repository, from anywhere, or is to be uploaded', async () => {
  const blob = await pushBlob('a/b', Buffer.from('to be mounted'));
  assert.equal((await ask('HEAD', `c/d/blobs/${blob.digest}`)).status, 404);
  const mounted = await ask('POST', `c/d/blobs/uploads/?mount=${blob.digest}&from=a/b`);
  assert.equal(mounted.status, 201);
  assert.equal((await ask('GET', `c/d/blobs/${blob.digest}`)).text, 'to be mounted');
  assert.equal((await ask('POST', `e/f/blobs/uploads/?mount=${blob.digest}`)).status, 201);
  const absent = digestOf(Buffer.from('nowhere'));
  assert.equal((await ask('POST', `c/d/blobs/uploads/?mount=${absent}&from=a/b`)).status, 202);
});

test('end-7, 8, 9, 10: manifests by tag and digest, tags in pages, deletion of tag, manifest and blob', async () => {
  const config = await pushBlob('x/y', empty);
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config,
    layers: [],
  });
  const type = { 'content-type': mediaTypes.ociManifest };
  for (const tag of ['two', 'one', 'Three']) {
    assert.equal((await ask('PUT', `x/y/manifests/${tag}`, manifest, type)).status, 201);
  }
  const digest = digestOf(Buffer.from(manifest));
  const both = await ask('PUT', `x/y/manifests/${digest}?tag=four&tag=five`, manifest, type);
  assert.deepEqual([both.status, both.headers.get('oci-tag')], [201, 'four, five']);
  const page = await ask('GET', 'x/y/tags/list?n=2');
  assert.deepEqual(JSON.parse(page.text).tags, ['Three', 'five']);
  assert.match(page.headers.get('link') ?? '', /last=five.*rel="next"/);
  assert.equal((await ask('DELETE', 'x/y/manifests/one')).status, 202);
  assert.equal((await ask('GET', 'x/y/manifests/one')).code, 'MANIFEST_UNKNOWN');
  assert.equal((await ask('GET', `x/y/manifests/${digest}`)).status, 200, 'the manifest outlives its tag');
  assert.equal((await ask('DELETE', `x/y/manifests/${digest}`)).status, 202);
  assert.equal((await ask('GET', 'x/y/manifests/two')).status, 404, 'its tags go with it');
  assert.equal((await ask('GET', `x/y/manifests/${digest}`)).status, 404);
  assert.equal((await ask('DELETE', `x/y/manifests/${digest}`)).code, 'MANIFEST_UNKNOWN');
  assert.equal((await ask('DELETE', `x/y/blobs/${config.digest}`)).status, 202);
  assert.equal((await ask('GET', `x/y/blobs/${config.digest}`)).code, 'BLOB_UNKNOWN');
});

test('end-7: what a manifest names must be there, except what may not be distributed; schema 1 is refused', async () => {
  const config = await pushBlob('x/y', empty);
  const absent = { ...config, digest: digestOf(Buffer.from('absent')), size: 6 };
  const foreign = { ...absent, mediaType: 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip' };
  const put = async (layers: object[]) =>
    await ask(
      'PUT',
      'x/y/manifests/v',
      JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers }),
      { 'content-type': mediaTypes.ociManifest },
    );
  assert.equal((await put([absent])).code, 'MANIFEST_BLOB_UNKNOWN');
  assert.equal((await put([foreign])).status, 201);
  const old = await ask('PUT', 'x/y/manifests/old', '{"schemaVersion":1,"fsLayers":[]}');
  assert.deepEqual([old.status, old.code], [400, 'MANIFEST_INVALID']);
  const large = await ask('PUT', 'x/y/manifests/large', Buffer.alloc(5 * 1024 * 1024, 32));
  assert.equal(large.status, 413);
  const other = await ask('PUT', `x/y/manifests/${absent.digest}`, '{}');
  assert.equal(other.code, 'DIGEST_INVALID');
});

test('end-12: a subject may come later; the answer says that the referrers API lists it', async () => {
  const config = await pushBlob('r/s', empty);
  const subject = digestOf(Buffer.from('not here yet'));
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    artifactType: 'application/example',
    config,
    layers: [],
    subject: { mediaType: mediaTypes.ociManifest, digest: subject, size: 12 },
  });
  const put = await ask('PUT', 'r/s/manifests/signature', manifest);
  assert.equal(put.headers.get('oci-subject'), subject);
  const listed = JSON.parse(
    (await ask('GET', `r/s/referrers/${subject}?artifactType=application/example`)).text,
  );
  assert.deepEqual(listed.manifests[0].digest, digestOf(Buffer.from(manifest)));
});

test('sha512: pushed, read, named by a manifest, and collected like any other', async () => {
  const bytes = Buffer.from('under another algorithm');
  const digest = `sha512:${createHash('sha512').update(bytes).digest('hex')}` as const;
  assert.equal((await ask('POST', `h/i/blobs/uploads/?digest=${digest}`, bytes)).status, 201);
  assert.equal((await ask('GET', `h/i/blobs/${digest}`)).text, bytes.toString());
  const config = { mediaType: 'application/octet-stream', digest, size: bytes.length };
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config,
    layers: [],
  });
  assert.equal((await ask('PUT', 'h/i/manifests/v1', manifest)).status, 201);
  const store = await openStore(join(dir, 'store'));
  const manifestDigest = digestOf(Buffer.from(manifest));
  const keep = [{ repository: 'h/i', kind: 'manifest' as const, digest: manifestDigest, tags: ['v1'] }];
  await store.applyCollection(await store.planCollection({ keep, graceMs: 0, now: Date.now() + 60_000 }));
  assert.equal((await ask('GET', `h/i/blobs/${digest}`)).text, bytes.toString());
  await store.applyCollection(await store.planCollection({ keep: [], graceMs: 0, now: Date.now() + 60_000 }));
  assert.equal((await ask('GET', `h/i/blobs/${digest}`)).code, 'BLOB_UNKNOWN');
  assert.equal(await store.hasBlob(digest), undefined);
});

/** Sends a head and a part of a body, then nothing; answers what comes until the server ends the connection. */
async function fallSilent(method: string, path: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\npart`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

test('C16 a push that falls silent is given up, and the upload stands where it stood', async () => {
  const scratch = join(dir, 'store/sluice/scratch');
  const before = await readdir(scratch);
  const begun = await ask('POST', 'a/b/blobs/uploads/');
  const { pathname } = new URL(begun.location);
  const answer = await fallSilent('PATCH', pathname);
  assert.match(answer, /^HTTP\/1.1 400 .*BLOB_UPLOAD_INVALID.*the client sent nothing for 0.3 seconds/s);
  assert.equal((await ask('GET', begun.location)).headers.get('range'), '0-0');
  const manifest = await fallSilent('PUT', '/v2/a/b/manifests/silent');
  assert.match(manifest, /^HTTP\/1.1 400 /);
  const single = await fallSilent('POST', `/v2/a/b/blobs/uploads/?digest=${digestOf(empty)}`);
  assert.match(single, /^HTTP\/1.1 400 /);
  // The client begins again where it was told; of the broken one nothing is left.
  const bytes = Buffer.from('after the silence');
  const digest = digestOf(bytes);
  assert.equal((await ask('PUT', `${begun.location}?digest=${digest}`, bytes)).status, 201);
  assert.deepEqual(await readdir(scratch), before);
});
