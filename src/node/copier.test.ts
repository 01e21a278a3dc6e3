import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { readWholeRecords, type WholeRecord } from '../copy/whole.ts';
import { openMedia } from '../media/media.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import type { ContentSource } from '../oci/source.ts';
import { openStore } from '../store/store.ts';
import { type Choose, createCopier } from './copier.ts';

const key = testKey();
let dir: string;
let release: TestRelease;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-copier-'));
  release = await makeRelease({ version: '1.0.0', dir, key: key.pair, images: { web: {} } });
});

after(() => rm(dir, { recursive: true, force: true }));

test('what a copy counts on cannot be told while it plans: nothing is removed then', async (t) => {
  const root = await mkdtemp(join(dir, 'store-'));
  const media = await openMedia(release.path);
  t.after(() => media.close());
  const planning = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const slow: ContentSource = {
    ...media.content,
    async manifest(repository, reference) {
      if (repository !== 'openshift/release-bundles') {
        asked.resolve();
        await planning.promise;
      }
      return await media.content.manifest(repository, reference);
    },
  };
  const ended = Promise.withResolvers<WholeRecord | undefined>();
  const copier = createCopier({
    store: await openStore(root),
    keys: async () => [key.trusted],
    contentOf: () => slow,
    fanOut: () => undefined,
    logger: silentLogger,
    clock: systemClock,
    signal: new AbortController().signal,
    onProgress: () => {},
    onEnd: (_, record) => ended.resolve(record),
    onGivenUp: () => {},
  });
  const choose: Choose = () => ({
    choice: 'Ready',
    source: { kind: 'store', key: 'store', bundleDigest: release.digest },
  });
  assert.deepEqual(copier.items(), []);
  copier.pursue(new Map([[release.name, choose]]), new Set());
  await asked.promise;
  assert.equal(copier.items(), undefined);
  assert.ok(copier.isBusy());
  planning.resolve();
  const record = await ended.promise;
  assert.equal(record?.bundle.digest, release.digest);
  assert.deepEqual(copier.items(), []);
  assert.ok(!copier.isBusy());
  assert.ok((await readWholeRecords(root)).has(release.name));
});
