import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { imageOf, manifestOf, type SampleImage } from '../../tests/content.ts';
import { imageClosure } from '../bundle/closure.ts';
import { SluiceError } from '../errors/error.ts';
import { serve } from '../http/server.ts';
import { type Digest, digestOf, referrersTag } from '../oci/digest.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import type { RawManifest } from '../oci/source.ts';
import { openStore } from '../store/store.ts';
import { inParallel } from './parallel.ts';
import { planImage } from './plan.ts';
import { createSourceOpener } from './source.ts';
import { transferImages } from './transfer.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-plan-'));
});
after(() => rm(directory, { recursive: true }));

/** What a scripted registry holds in its one repository. */
interface Shelf {
  readonly manifests: Map<string, RawManifest>;
  readonly blobs: Map<Digest, Buffer>;
  readonly referrers: Map<Digest, Descriptor[]>;
  /** Answers instead of the shelf; true where it has answered. */
  fault?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

const repository = 'a/b/c/d/e/f';

/** M20: a repository of any depth. */
async function registry(t: TestContext, shelf: Shelf) {
  const server = await serve({
    address: '127.0.0.1',
    port: 0,
    handler(request, response) {
      const url = new URL(request.url ?? '/', 'http://x');
      if (shelf.fault?.(request, response) === true) return;
      const [, kind = '', reference = ''] =
        new RegExp(`^/v2/${repository}/(manifests|blobs|referrers)/(.+)$`).exec(url.pathname) ?? [];
      if (kind === 'referrers') {
        const manifests = shelf.referrers.get(reference as Digest) ?? [];
        response.end(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests }));
        return;
      }
      const raw = shelf.manifests.get(reference);
      const bytes = kind === 'manifests' ? raw?.bytes : shelf.blobs.get(reference as Digest);
      if (bytes === undefined) {
        response.writeHead(404).end('{}');
        return;
      }
      const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      if (start > 0)
        response.writeHead(206, { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` });
      else
        response.writeHead(200, {
          'content-length': bytes.length,
          ...(raw === undefined ? {} : { 'content-type': raw.mediaType }),
        });
      response.end(bytes.subarray(start));
    },
  });
  const host = `127.0.0.1:${server.port}`;
  const opener = createSourceOpener(join(directory, 'scratch'), {
    env: { HOME: '/nonexistent' },
    insecure: [host],
  });
  t.after(async () => {
    await opener.close();
    await server.close(0);
  });
  const source = await opener.open(`docker://${host}/${repository}`);
  const plan = (digest: Digest, platforms?: string[]) =>
    planImage(source, { image: 'web', digest, repository: 'openshift/release', tag: 't', platforms });
  return { plan };
}

function shelfOf(...images: Pick<SampleImage, 'raw' | 'blobs'>[]): Shelf {
  const shelf: Shelf = { manifests: new Map(), blobs: new Map(), referrers: new Map() };
  for (const { raw, blobs } of images) {
    shelf.manifests.set(raw.digest, raw);
    for (const [digest, bytes] of blobs) shelf.blobs.set(digest, bytes);
  }
  return shelf;
}

const withoutBlobs = (raw: RawManifest) => ({ raw, blobs: new Map<Digest, Buffer>() });
const amd64 = imageOf([Buffer.from('amd64')], { architecture: 'amd64' });
const arm64 = imageOf([Buffer.from('arm64')], { architecture: 'arm64' });
const attestation = imageOf([Buffer.from('attestation')], { labels: { of: 'amd64' } });
const inner = manifestOf(
  {
    schemaVersion: 2,
    mediaType: mediaTypes.ociIndex,
    manifests: [{ ...arm64.descriptor, platform: { os: 'linux', architecture: 'arm64' } }],
  },
  mediaTypes.ociIndex,
);
const outer = manifestOf(
  {
    schemaVersion: 2,
    mediaType: mediaTypes.ociIndex,
    manifests: [
      { ...amd64.descriptor, platform: { os: 'linux', architecture: 'amd64' } },
      {
        ...attestation.descriptor,
        platform: { os: 'unknown', architecture: 'unknown' },
        annotations: { 'vnd.docker.reference.digest': amd64.descriptor.digest },
      },
      inner.descriptor,
    ],
  },
  mediaTypes.ociIndex,
);
const all = () => shelfOf(amd64, arm64, attestation, withoutBlobs(inner.raw), withoutBlobs(outer.raw));

test('M12 M20 indexes inside indexes are followed whole, attestations with them', async (t) => {
  const { plan } = await registry(t, all());
  const { items } = await plan(outer.raw.digest);
  assert.deepEqual(
    items.filter((item) => item.kind === 'manifest').map((item) => item.digest),
    [amd64, attestation, arm64].map((each) => each.raw.digest).concat(inner.raw.digest, outer.raw.digest),
  );
});

test('M12 --platform cuts an index, its bytes unchanged; what is cut is read as such again', async (t) => {
  const { plan } = await registry(t, all());
  const cut = await plan(outer.raw.digest, ['linux/amd64']);
  assert.deepEqual(
    cut.items.filter((item) => item.kind === 'manifest').map((item) => item.digest),
    [amd64.raw.digest, attestation.raw.digest, inner.raw.digest, outer.raw.digest],
  );
  const store = await openStore(join(directory, 'cut'));
  await transferImages(store, [cut]);
  assert.equal((await store.manifest('openshift/release', 't'))?.digest, outer.raw.digest);
  const items = [];
  const root = { image: 'web', repository: 'openshift/release', digest: outer.raw.digest, tags: ['t'] };
  for await (const item of imageClosure(store, root, new Set(), ['linux/amd64'])) items.push(item);
  assert.equal(items.length, cut.items.length);
  await assert.rejects(plan(inner.raw.digest, ['linux/s390x']), {
    code: 'ContentMissing',
    message: /linux\/s390x; it has linux\/arm64/,
  });
  // What an index inside has counts, and only that.
  const deep = await plan(outer.raw.digest, ['linux/arm64']);
  assert.ok(deep.items.some((item) => item.digest === arm64.raw.digest));
  const wrapped = manifestOf(
    { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [inner.descriptor] },
    mediaTypes.ociIndex,
  );
  const { plan: again } = await registry(
    t,
    shelfOf(arm64, withoutBlobs(inner.raw), withoutBlobs(wrapped.raw)),
  );
  await assert.rejects(again(wrapped.raw.digest, ['linux/s390x']), {
    code: 'ContentMissing',
    message: /linux\/s390x; it has linux\/arm64/,
  });
});

test('M14 a layer that only lies at its maker’s address ends the build, not the update', async (t) => {
  const foreign = {
    mediaType: 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
    digest: digestOf(Buffer.from('foreign')),
    size: 7,
    urls: ['https://maker.example/layer'],
  };
  const config = [...amd64.blobs].at(-1) as [Digest, Buffer];
  const value = {
    schemaVersion: 2,
    mediaType: mediaTypes.dockerManifest,
    config: { mediaType: mediaTypes.dockerConfig, digest: config[0], size: config[1].length },
    layers: [foreign],
  };
  const image = manifestOf(value, mediaTypes.dockerManifest);
  const shelf = shelfOf(withoutBlobs(image.raw));
  shelf.blobs.set(...config);
  const { plan } = await registry(t, shelf);
  await assert.rejects(plan(image.raw.digest), {
    code: 'ContentMissing',
    message: /web.*maker/,
    next: /without internet/,
  });
  // Where the registry has the bytes they are carried like any others.
  shelf.blobs.set(foreign.digest, Buffer.from('foreign'));
  assert.ok((await plan(image.raw.digest)).items.some((item) => item.digest === foreign.digest));
});

test('schema 1 is refused with what to do', async (t) => {
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 1,
      name: 'x',
      tag: 'y',
      architecture: 'amd64',
      fsLayers: [],
      history: [],
    }),
  );
  const raw = {
    digest: digestOf(bytes),
    mediaType: mediaTypes.dockerSchema1Signed,
    bytes,
  };
  const { plan } = await registry(t, shelfOf(withoutBlobs(raw)));
  await assert.rejects(plan(raw.digest), {
    code: 'InputInvalid',
    message: new RegExp(`${repository}@${raw.digest}.*schema 1`),
    next: /Push the image again/,
  });
  // Among the children of a list it is no manifest to whoever reads it, so that it would pass for a blob.
  const child = { mediaType: raw.mediaType, digest: raw.digest, size: bytes.length };
  const platform = { os: 'linux', architecture: 'arm64' };
  const list = manifestOf(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.dockerList,
      manifests: [
        { ...amd64.descriptor, platform: { os: 'linux', architecture: 'amd64' } },
        { ...child, platform },
      ],
    },
    mediaTypes.dockerList,
  );
  const mixed = shelfOf(amd64, withoutBlobs(raw), withoutBlobs(list.raw));
  mixed.blobs.set(raw.digest, bytes);
  const { plan: planMixed } = await registry(t, mixed);
  await assert.rejects(planMixed(list.raw.digest), {
    code: 'InputInvalid',
    message: new RegExp(`image web: the manifest ${raw.digest} is of schema 1`),
  });
  assert.ok(await planMixed(list.raw.digest, ['linux/amd64']));
});

test('S2 S4 S6 signatures of an index and of each child travel; only "not there" counts as none', async (t) => {
  const signature = (of: string) => imageOf([Buffer.from(`signature of ${of}`)]);
  const [ofIndex, ofChild, referrer, ofReferrer] = ['index', 'child', 'referrer', 'nested'].map(
    signature,
  ) as [SampleImage, SampleImage, SampleImage, SampleImage];
  const shelf = all();
  for (const each of [ofIndex, ofChild, referrer, ofReferrer]) {
    shelf.manifests.set(each.raw.digest, each.raw);
    for (const [digest, bytes] of each.blobs) shelf.blobs.set(digest, bytes);
  }
  shelf.manifests.set(`${referrersTag(outer.raw.digest)}.sig`, ofIndex.raw);
  shelf.manifests.set(`${referrersTag(arm64.raw.digest)}.att`, ofChild.raw);
  shelf.referrers.set(amd64.raw.digest, [referrer.descriptor]);
  shelf.referrers.set(referrer.raw.digest, [ofReferrer.descriptor]);
  // S6: a list that names its own subject, and what is not there, is read for what it holds.
  shelf.referrers.set(outer.raw.digest, [
    outer.descriptor,
    { ...amd64.descriptor, digest: digestOf(Buffer.from('gone')) },
  ]);
  const { plan } = await registry(t, shelf);
  const { attached } = await plan(outer.raw.digest);
  const expected = [
    { digest: ofIndex.raw.digest, tag: `${referrersTag(outer.raw.digest)}.sig` },
    { digest: ofChild.raw.digest, tag: `${referrersTag(arm64.raw.digest)}.att` },
    { digest: referrer.raw.digest },
    { digest: ofReferrer.raw.digest },
  ].sort((a, b) => (a.digest < b.digest ? -1 : 1));
  assert.deepEqual(attached, expected);
  for (const path of [/\/referrers\//, /\.sig$/]) {
    shelf.fault = (request, response) => {
      if (!path.test(request.url ?? '')) return false;
      response.writeHead(403).end('{}');
      return true;
    };
    await assert.rejects(plan(outer.raw.digest), { code: 'Forbidden' });
  }
});

test('C10 C16 a source that breaks off is gone on with, and one that lies about its size is not believed', async (t) => {
  const big = imageOf([Buffer.alloc(3_000_000, 'x')], { compress: 'none' });
  const shelf = shelfOf(big);
  const ranges: (string | undefined)[] = [];
  let cuts = 2;
  shelf.fault = (request, response) => {
    if (!/\/blobs\//.test(request.url ?? '')) return false;
    const bytes = shelf.blobs.get((request.url ?? '').split('/').at(-1) as Digest) ?? Buffer.alloc(0);
    if (bytes.length < 1_000_000) return false;
    ranges.push(request.headers.range);
    if (cuts === 0) return false;
    cuts -= 1;
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (start > 0)
      response.writeHead(206, { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` });
    else response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(start, start + 1_000_000), () => response.destroy());
    return true;
  };
  const { plan } = await registry(t, shelf);
  const planned = await plan(big.raw.digest);
  const store = await openStore(join(directory, 'resumed'));
  let done = 0;
  await transferImages(store, [planned], {
    onProgress: ({ bytesDone, bytesTotal }) => {
      assert.ok(bytesDone <= bytesTotal);
      done = bytesDone;
    },
  });
  assert.equal(done, planned.closureBytes);
  assert.equal(ranges[0], undefined);
  assert.ok(
    ranges.slice(1).every((range) => /^bytes=[1-9]\d*-$/.test(range ?? '')),
    String(ranges),
  );
  // M10: a manifest that tells of another size.
  const wrong = manifestOf(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config: JSON.parse(Buffer.from(amd64.raw.bytes).toString()).config,
      layers: [{ ...JSON.parse(Buffer.from(amd64.raw.bytes).toString()).layers[0], size: 5 }],
    },
    mediaTypes.ociManifest,
  );
  const lying = await registry(t, shelfOf(amd64, withoutBlobs(wrong.raw)));
  const other = await openStore(join(directory, 'lying'));
  const refused = { code: 'DigestMismatch', message: /web/ };
  const planOfWrong = await lying.plan(wrong.raw.digest);
  await assert.rejects(transferImages(other, [planOfWrong]), refused);
  // Nor by a build that goes on behind what one before it had left.
  const [layer] = planOfWrong.items.filter(({ size }) => size === 5);
  assert.ok(layer);
  const left = await other.begin(layer.digest, 5);
  await left?.write(Buffer.from('ab'));
  await left?.suspend();
  await assert.rejects(transferImages(other, [planOfWrong]), refused);
});

test('C18 images that share a layer fetch it once, at the same time or not', async (t) => {
  const shared = Buffer.alloc(500_000, 's');
  const images = ['1', '2', '3'].map((each) => imageOf([shared, Buffer.from(each)], { compress: 'none' }));
  const shelf = shelfOf(...images);
  const asked = new Map<string, number>();
  shelf.fault = (request) => {
    if (/\/blobs\//.test(request.url ?? ''))
      asked.set(request.url ?? '', (asked.get(request.url ?? '') ?? 0) + 1);
    return false;
  };
  const { plan } = await registry(t, shelf);
  const store = await openStore(join(directory, 'shared'));
  await transferImages(store, await Promise.all(images.map((each) => plan(each.raw.digest))));
  assert.ok(
    [...asked.values()].every((count) => count === 1),
    [...asked].join(' '),
  );
});

test('C14 all that failed is told, and it is a failure; what is no fault of an item ends it', async () => {
  const fail = (code: 'ContentMissing' | 'DiskFull', message: string) =>
    Promise.reject(new SluiceError(code, message));
  const done: number[] = [];
  await assert.rejects(
    inParallel([1, 2, 3, 4, 5], 2, async (each) => {
      if (each % 2 === 0) return await fail('ContentMissing', `image ${each} is missing`);
      done.push(each);
    }),
    { code: 'ContentMissing', message: 'image 2 is missing; image 4 is missing' },
  );
  assert.deepEqual(done, [1, 3, 5]);
  let begun = 0;
  await assert.rejects(
    inParallel([1, 2, 3, 4, 5], 1, async () => {
      begun += 1;
      return await fail('DiskFull', 'full');
    }),
    { code: 'DiskFull' },
  );
  assert.equal(begun, 1);
});

test('M22 a manifest travels as the bytes that it is: order, white space and escapes are nobody’s to change', async (t) => {
  const parsed = JSON.parse(Buffer.from(amd64.raw.bytes).toString());
  const text = `{\n\t"layers" : ${JSON.stringify(parsed.layers)},\r\n "annotations":{"b":"\\u00e4\\/","a":"1e400"}, "config":${JSON.stringify(parsed.config)} ,"schemaVersion":2.0 ,"big": 123456789012345678901234567890\n}\n\n`;
  const bytes = Buffer.from(text);
  const raw = { digest: digestOf(bytes), mediaType: mediaTypes.ociManifest, bytes };
  const { plan } = await registry(t, shelfOf(amd64, withoutBlobs(raw)));
  const store = await openStore(join(directory, 'verbatim'));
  await transferImages(store, [await plan(raw.digest)]);
  assert.equal(
    Buffer.compare((await store.manifest('openshift/release', 't'))?.bytes ?? Buffer.alloc(0), bytes),
    0,
  );
});
