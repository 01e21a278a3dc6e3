import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import {
  bytesOf,
  imageOf,
  manifestOf,
  putBlob,
  putImage,
  type SampleImage,
  tarOf,
} from '../../tests/content.ts';
import { type Digest, digestOf, hexOf, referrersTag } from '../oci/digest.ts';
import { type Manifest, mediaTypes } from '../oci/manifest.ts';
import { blobData } from './path.ts';
import { openStore, type StoreItem } from './store.ts';
import { type Inventory, sweep } from './sweep.ts';

const graceMs = 60_000;
const later = () => Date.now() + 2 * graceMs;
const layer = (text: string) => tarOf([{ header: { name: text }, data: text }]);
const item = (repository: string, image: Pick<SampleImage, 'raw'>, ...tags: string[]): StoreItem => ({
  repository,
  kind: 'manifest',
  digest: image.raw.digest,
  tags,
});

async function newStore(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'sluice-collect-'));
  t.after(() => rm(root, { recursive: true }));
  return await openStore(root);
}

/** Two images that share a layer, with a signature each. */
async function twoImages(t: TestContext) {
  const store = await newStore(t);
  const shared = await layer('shared');
  const one = imageOf([shared, await layer('one')]);
  const two = imageOf([shared, await layer('two')]);
  await putImage(store, 'release/x', one, '1.0.0');
  await putImage(store, 'release/x', two, '1.1.0');
  for (const image of [one, two]) {
    await putImage(
      store,
      'release/x',
      imageOf([await layer(`signature of ${image.raw.digest}`)]),
      `${referrersTag(image.raw.digest)}.sig`,
    );
  }
  return { store, one, two };
}

test('removing one release frees what it alone has, says so before, and leaves the other whole', async (t) => {
  const { store, one, two } = await twoImages(t);
  const keep = [item('release/x', two, '1.1.0')];
  const plan = await store.planCollection({
    keep,
    remove: [item('release/x', one, '1.0.0')],
    graceMs,
    now: later(),
  });
  assert.deepEqual(
    plan.tags.map(({ tag }) => tag).toSorted(),
    ['1.0.0', `${referrersTag(one.raw.digest)}.sig`].toSorted(),
  );
  assert.equal(plan.manifests.length, 2);
  assert.ok((await store.manifest('release/x', '1.0.0')) !== undefined); // A plan changes nothing.
  assert.equal(await store.applyCollection(plan), plan.bytes);
  assert.equal(await store.manifest('release/x', one.raw.digest), undefined);
  assert.deepEqual(
    await store.tags('release/x'),
    ['1.1.0', `${referrersTag(two.raw.digest)}.sig`].toSorted(),
  );
  for (const [digest, bytes] of two.blobs) assert.deepEqual(await bytesOf(store, 'release/x', digest), bytes);
  for (const digest of one.blobs.keys()) {
    assert.equal(existsSync(join(store.root, blobData(digest))), two.blobs.has(digest));
  }
  const again = await store.planCollection({ keep, graceMs, now: later() });
  assert.deepEqual([again.bytes, again.tags, again.layers], [0, [], []]);
});

test('nothing kept: all goes, and the repository is not listed any more', async (t) => {
  const { store } = await twoImages(t);
  const plan = await store.planCollection({ keep: [], graceMs, now: later() });
  await store.applyCollection(plan);
  assert.deepEqual(await store.repositories(), []);
  assert.deepEqual((await store.planCollection({ keep: [], graceMs, now: later() })).blobs, []);
  await store.applyCollection(plan); // G6: absent is what was wanted.
});

test('what nothing names stays until it is older than the grace; what is removed by name goes at once', async (t) => {
  const { store, one, two } = await twoImages(t);
  const now = Date.now();
  const keep = [item('release/x', two, '1.1.0')];
  const young = await store.planCollection({ keep, graceMs, now });
  assert.deepEqual([young.blobs, young.tags, young.manifests], [[], [], []]);
  const items: StoreItem[] = [item('release/x', one, '1.0.0')];
  for (const digest of one.blobs.keys())
    items.push({ repository: 'release/x', kind: 'blob', digest, tags: [] });
  const plan = await store.planCollection({ keep, remove: items, graceMs, now });
  await store.applyCollection(plan);
  assert.equal(await store.manifest('release/x', '1.0.0'), undefined);
  assert.ok((await store.manifest('release/x', '1.1.0')) !== undefined);
});

test('what was used since the plan stays', async (t) => {
  const { store, one, two } = await twoImages(t);
  const plan = await store.planCollection({ keep: [item('release/x', two, '1.1.0')], graceMs, now: later() });
  await putImage(store, 'other', one, 'v'); // A copy that relies on blobs that were to go.
  await store.applyCollection(plan);
  for (const [digest, bytes] of one.blobs) assert.deepEqual(await bytesOf(store, 'other', digest), bytes);
  assert.ok((await store.manifest('other', 'v')) !== undefined);
});

test('what was put there once more since the plan keeps its name', async (t) => {
  const { store, one, two } = await twoImages(t);
  const keep = [item('release/x', two, '1.1.0')];
  const plan = await store.planCollection({ keep, graceMs, now: later() });
  await putImage(store, 'release/x', one, '1.0.0'); // The release is asked for again.
  await store.applyCollection(plan);
  assert.equal((await store.manifest('release/x', '1.0.0'))?.digest, one.raw.digest);
  for (const [digest, bytes] of one.blobs) assert.deepEqual(await bytesOf(store, 'release/x', digest), bytes);
});

test('G2 a blob that is missing does not stop it, and a damaged manifest that is kept keeps all beside it', async (t) => {
  const { store, one, two } = await twoImages(t);
  const [missing] = one.blobs.keys();
  await rm(join(store.root, blobData(missing as Digest)));
  const first = await store.planCollection({
    keep: [item('release/x', two, '1.1.0')],
    graceMs,
    now: later(),
  });
  assert.equal(first.tags.length, 2);
  const path = join(store.root, blobData(two.raw.digest));
  await writeFile(path, 'damaged');
  const fresh = await openStore(store.root);
  const plan = await fresh.planCollection({ keep: [item('release/x', two, '1.1.0')], graceMs, now: later() });
  assert.deepEqual([plan.tags, plan.manifests, plan.layers], [[], [], []]);
  assert.equal(plan.problems.length, 1);
  assert.match(plan.problems[0] ?? '', new RegExp(hexOf(two.raw.digest)));
});

test('indexes keep their children, and go before them', async (t) => {
  const { store, one, two } = await twoImages(t);
  const index = manifestOf(
    { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [one.descriptor, two.descriptor] },
    mediaTypes.ociIndex,
  );
  await store.putManifest('release/x', index.raw);
  await store.tag('release/x', 'multi', index.raw.digest);
  const kept = await store.planCollection({
    keep: [item('release/x', index, 'multi')],
    graceMs,
    now: later(),
  });
  assert.deepEqual([kept.manifests, kept.blobs], [[], []]);
  const gone = await store.planCollection({ keep: [], graceMs, now: later() });
  assert.equal(gone.manifests[0]?.digest, index.raw.digest);
});

test('a blob without any link is kept by an item without a repository', async (t) => {
  const store = await newStore(t);
  const bytes = Buffer.from('lonely');
  await putBlob(store, digestOf(bytes), bytes);
  const keep: StoreItem[] = [{ repository: '', kind: 'blob', digest: digestOf(bytes), tags: [] }];
  assert.deepEqual((await store.planCollection({ keep, graceMs, now: later() })).blobs, []);
  assert.equal((await store.planCollection({ keep: [], graceMs, now: later() })).blobs.length, 1);
});

test('whatever stands in a store: what is kept stays reachable, and a second sweep finds nothing', () => {
  const digest = (at: number) => digestOf(Buffer.from(`${at}`));
  const shape = fc.record({
    images: fc.array(fc.array(fc.nat(9), { maxLength: 4 }), { minLength: 1, maxLength: 6 }),
    subjects: fc.array(fc.nat(5), { maxLength: 3 }),
    kept: fc.array(fc.nat(5), { maxLength: 4 }),
  });
  fc.assert(
    fc.property(shape, ({ images, subjects, kept }) => {
      const manifests = new Map<Digest, Manifest>();
      const blobs = new Map<Digest, number>();
      const layers = new Set<Digest>();
      const descriptorOf = (of: Digest) => ({ mediaType: mediaTypes.ociLayerTar, digest: of, size: 1 });
      images.forEach((parts, at) => {
        const subject =
          subjects[at] === undefined || at === 0
            ? {}
            : { subject: descriptorOf(digest(100 + ((subjects[at] ?? 0) % at))) };
        manifests.set(digest(100 + at), {
          kind: 'image',
          mediaType: mediaTypes.ociManifest,
          config: descriptorOf(digest(50)),
          layers: parts.map((part) => descriptorOf(digest(part))),
          ...subject,
        });
        for (const part of [50, ...parts]) layers.add(digest(part));
      });
      for (const each of [...manifests.keys(), ...layers]) blobs.set(each, 1);
      const tags = new Map(images.map((_, at) => [`t${at}`, digest(100 + at)]));
      const inventory: Inventory = {
        repositories: new Map([['r', { tags, manifests: [...manifests.keys()], layers: [...layers] }]]),
        manifests,
        blobs,
        problems: [],
      };
      const keep: StoreItem[] = kept.map((at) => ({
        repository: 'r',
        kind: 'manifest',
        digest: digest(100 + at),
        tags: [`t${at}`],
      }));
      const swept = sweep(inventory, keep);
      const gone = new Set([...swept.manifests, ...swept.layers, ...swept.blobs].map((each) => each.digest));
      for (const { digest: root } of keep) {
        const manifest = manifests.get(root);
        if (manifest?.kind !== 'image') continue;
        for (const each of [root, manifest.config.digest, ...manifest.layers.map((part) => part.digest)])
          assert.ok(!gone.has(each));
      }
      for (const { tag } of swept.tags) assert.ok(!keep.some((each) => each.tags.includes(tag)));
      const left: Inventory = {
        repositories: new Map([
          [
            'r',
            {
              tags: new Map([...tags].filter(([tag]) => !swept.tags.some((each) => each.tag === tag))),
              manifests: [...manifests.keys()].filter((each) => !gone.has(each)),
              layers: [...layers].filter((each) => !gone.has(each)),
            },
          ],
        ]),
        manifests,
        blobs: new Map([...blobs].filter(([each]) => !gone.has(each))),
        problems: [],
      };
      const again = sweep(left, keep);
      assert.deepEqual([again.tags, again.manifests, again.layers, again.blobs], [[], [], [], []]);
    }),
  );
});
