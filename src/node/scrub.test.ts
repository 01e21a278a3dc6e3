import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { openBundle } from '../bundle/bundle.ts';
import { planCopy } from '../copy/plan.ts';
import { preload } from '../copy/preload.ts';
import { runCopy } from '../copy/run.ts';
import { readWholeRecords } from '../copy/whole.ts';
import { openMedia } from '../media/media.ts';
import { systemClock } from '../observe/clock.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import { openStore } from '../store/store.ts';
import { type Damage, scrubOnce } from './scrub.ts';

const key = testKey();
const signal = new AbortController().signal;
let dir: string;
let release: TestRelease;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-scrub-'));
  release = await makeRelease({
    version: '1.0.0',
    dir,
    key: key.pair,
    images: { web: {} },
    blobBytes: 200_000,
  });
});

after(() => rm(dir, { recursive: true, force: true }));

async function filled(t: TestContext): Promise<string> {
  const root = await mkdtemp(join(dir, 'store-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const media = await openMedia(release.path);
  await preload(media.content, release.name, root, { keys: [key.trusted] });
  await media.close();
  return root;
}

const dataOf = (root: string, digest: Digest) =>
  join(root, 'docker/registry/v2/blobs/sha256', hexOf(digest).slice(0, 2), hexOf(digest), 'data');

async function scrub(root: string): Promise<Damage[]> {
  return await scrubOnce({ store: await openStore(root), onDamage: () => {}, signal });
}

async function largestBlob(root: string): Promise<Digest> {
  const media = await openMedia(release.path);
  const bundle = await openBundle(media.content, { name: release.name }, [key.trusted]);
  const plan = await planCopy(media.content, await openStore(join(root, 'empty')), bundle);
  await media.close();
  const [largest] = plan.missing;
  assert.ok(largest !== undefined);
  return largest.digest;
}

test('a store that is right stays as it is', async (t) => {
  const root = await filled(t);
  assert.deepEqual(await scrub(root), []);
  assert.deepEqual([...(await readWholeRecords(root)).keys()], [release.name]);
});

for (const [what, damage] of [
  [
    'a flipped bit',
    async (path: string) => {
      const bytes = await readFile(path);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      await writeFile(path, bytes);
    },
  ],
  ['a file that was cut (C2)', (path: string) => truncate(path, 100)],
  ['a file that is gone (G2)', (path: string) => rm(path)],
] as const) {
  test(`${what} is found: its release is not called whole any more, and is mended from media`, async (t) => {
    const root = await filled(t);
    const digest = await largestBlob(root);
    await damage(dataOf(root, digest));
    assert.deepEqual(await scrub(root), [{ digest, releases: [release.name] }]);
    assert.equal((await readWholeRecords(root)).size, 0);
    const store = await openStore(root);
    if (what === 'a flipped bit') {
      assert.equal(
        (await readdir(join(root, 'sluice/quarantine'))).length,
        1,
        'the bytes are kept for whoever looks',
      );
      assert.equal(await store.hasBlob(digest), undefined);
    }
    const media = await openMedia(release.path);
    t.after(() => media.close());
    const bundle = await openBundle(media.content, { name: release.name }, [key.trusted]);
    const plan = await planCopy(media.content, store, bundle);
    assert.deepEqual(
      plan.missing.map((blob) => blob.digest),
      [digest],
      'only that one is fetched again',
    );
    const outcome = await runCopy(plan, { signal, clock: systemClock });
    assert.equal(outcome.outcome, 'Whole');
    assert.deepEqual(await scrub(root), []);
  });
}

test('a damaged manifest is found as well', async (t) => {
  const root = await filled(t);
  await writeFile(dataOf(root, release.payload), '{}');
  const [found] = await scrub(root);
  assert.deepEqual(found?.releases, [release.name]);
  assert.equal((await readWholeRecords(root)).size, 0);
});
