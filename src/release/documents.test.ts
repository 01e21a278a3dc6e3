import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeRelease, testKey } from '../../tests/bundles.ts';
import { openMedia } from '../media/media.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { createDocuments } from './documents.ts';

test('a document is read once while it is asked for, and forgotten when it is not', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-documents-'));
  t.after(() => rm(dir, { recursive: true }));
  const key = testKey();
  const release = await makeRelease({ version: '1.0.0', dir, key: key.pair });
  const media = await openMedia(release.path);
  t.after(() => media.close());
  let reads = 0;
  const content: ContentSource = {
    ...media.content,
    blob: (...words) => {
      reads += 1;
      return media.content.blob(...words);
    },
  };
  const documents = createDocuments({
    content,
    keys: async () => [key.trusted],
    clock: systemClock,
    logger: silentLogger,
  });
  const digest: Digest = release.digest;
  const readsOf = async (digests: readonly Digest[]) => {
    const before = reads;
    const found = await documents.read(digests);
    assert.deepEqual([...found.keys()], digests);
    return reads - before;
  };
  const once = await readsOf([digest]);
  assert.ok(once > 0);
  assert.equal(await readsOf([digest]), 0);
  assert.equal(await readsOf([]), 0);
  assert.equal(await readsOf([digest]), once);
});
