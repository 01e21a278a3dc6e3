import assert from 'node:assert/strict';
import { statfsSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBundle } from '../src/bundle/bundle.ts';
import type { CopyProgress } from '../src/copy/meter.ts';
import { planCopy, requireSpace } from '../src/copy/plan.ts';
import { runCopy } from '../src/copy/run.ts';
import { readWholeRecords } from '../src/copy/whole.ts';
import { openMedia } from '../src/media/media.ts';
import { systemClock } from '../src/observe/clock.ts';
import { openStore } from '../src/store/store.ts';
import { makeRelease, type TestRelease, testKey } from './bundles.ts';
import { smallDisk } from './loop.ts';
import { needs } from './tier.ts';

const mib = 1024 * 1024;
const key = testKey();
let dir: string;
let release: TestRelease;

before(async () => {
  if (needs('loop', 'mkfs.ext4').skip !== undefined) return;
  dir = await mkdtemp(join(tmpdir(), 'sluice-full-'));
  release = await makeRelease({
    version: '1.0.0',
    dir,
    key: key.pair,
    images: { a: {}, b: {}, c: {}, d: {} },
    blobBytes: 4 * mib,
  });
});

after(async () => {
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
});

test(
  'C8 a real disk that fills up in mid-copy: paused and told, nothing half is visible, and it goes on with space',
  needs('loop', 'mkfs.ext4'),
  async (t) => {
    const disk = await smallDisk(dir, 64 * mib);
    t.after(disk.close);
    const root = join(disk.root, 'store');
    const media = await openMedia(release.path);
    t.after(() => media.close());
    const bundle = await openBundle(media.content, { name: release.name }, [key.trusted]);
    const copy = async (onProgress: (progress: CopyProgress) => void) => {
      const plan = await planCopy(media.content, await openStore(root), bundle);
      requireSpace(plan, await plan.store.space());
      const signal = new AbortController().signal;
      return await runCopy(plan, { signal, clock: systemClock, concurrency: 1, onProgress });
    };
    const filler = join(disk.root, 'of-somebody-else');
    let isFilled = false;
    // At once, so that the copy cannot be done before.
    const fill = () => {
      isFilled = true;
      const { bavail, bsize } = statfsSync(disk.root);
      try {
        writeFileSync(filler, Buffer.alloc(bavail * bsize));
      } catch {
        // What the copy was just writing took the rest.
      }
    };
    const outcome = await copy(({ bytesWritten }) => {
      if (bytesWritten > mib && !isFilled) fill();
    });
    assert.ok(outcome.outcome === 'Paused', JSON.stringify(outcome));
    assert.equal(outcome.code, 'DiskFull');
    const store = await openStore(root);
    assert.equal((await readWholeRecords(root)).size, 0);
    assert.deepEqual(await store.tags('openshift/release-bundles'), []);
    // What has come is right, byte for byte, and what had not come whole takes no space.
    const plan = await planCopy(media.content, store, bundle);
    for (const blob of plan.blobs) {
      const state = await store.blobState(blob.digest, blob.size);
      if (state !== 'absent') assert.ok(await store.verifyBlob(blob.digest, blob.size));
    }
    assert.throws(() => requireSpace(plan, { bytesFree: 0, bytesTotal: 64 * mib, inodesFree: 9 }), {
      code: 'DiskFull',
      message: /Cannot install release .*, out of disk space/,
    });
    await rm(filler);
    const again = await copy(() => {});
    assert.equal(again.outcome, 'Whole');
    assert.ok(again.bytesWritten < plan.bytesTotal, 'what was there is not written again');
    assert.deepEqual(await readdir(join(root, 'sluice/partial')), []);
  },
);
