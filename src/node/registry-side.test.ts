import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { testKey } from '../../tests/bundles.ts';
import type { HttpClient } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock } from '../observe/clock.ts';
import type { Digest } from '../oci/digest.ts';
import { createRegistrySide, keysFolder } from './registry-side.ts';
import type { TreeEntry } from './trees.ts';

test('who attaches and the node itself write the files of the registry at once: the last word stands, whole', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-side-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const side = createRegistrySide({
    client: {} as KubeClient,
    http: {} as HttpClient,
    host: '127.0.0.1:1',
    runDir: dir,
    stateDir: dir,
    clock: systemClock,
    signal: new AbortController().signal,
    onChange: () => {},
  });
  const keys = Array.from({ length: 6 }, (_, index) => testKey(`k${index}`).trusted);
  const medium = (path: string): TreeEntry => ({
    kind: 'media',
    path,
    bundleDigest: `sha256:${'b'.repeat(64)}` as Digest,
  });
  for (let round = 0; round < 20; round += 1) {
    const some = keys.slice(round % 3);
    const [before, last] = [medium(`/media/${round}`), medium(`/media/${round}-last`)];
    await Promise.all([
      side.writeKeys(keys),
      side.writeTrees([before]),
      side.writeKeys(some.slice(1)),
      side.writeKeys(some),
      side.writeTrees([before, last]),
    ]);
    assert.deepEqual(
      (await readdir(join(dir, keysFolder))).sort(),
      some.map((key) => `${key.id}.pub`).sort(),
    );
    assert.deepEqual(JSON.parse(await readFile(join(dir, 'trees.json'), 'utf8')), [before, last]);
  }
});
