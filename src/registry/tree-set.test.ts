import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../observe/log.ts';
import { emptyDigest } from '../oci/digest.ts';
import type { ServedTree } from './tree.ts';
import type { TreeEntry } from './tree-file.ts';
import { createTreeSet } from './tree-set.ts';

const store: TreeEntry = { kind: 'store', path: '/store' };
const medium: TreeEntry = { kind: 'media', path: '/medium', bundleDigest: emptyDigest };
const peer: TreeEntry = { kind: 'peer', url: 'https://127.0.0.1:1', bundleDigest: emptyDigest };

function newSet() {
  const world = {
    wanted: [store] as TreeEntry[],
    failing: new Set<TreeEntry['kind']>(),
    now: 0,
    log: [] as string[],
  };
  const set = createTreeSet({
    read: async () => {
      if (world.wanted.length === 0) throw new Error('half a file');
      return world.wanted;
    },
    open: async (entry) => {
      world.log.push(`open ${entry.kind}`);
      if (world.failing.has(entry.kind)) throw new Error('no');
      return {
        label: entry.kind,
        kind: entry.kind,
        close: async () => world.log.push(`close ${entry.kind}`),
      } as unknown as ServedTree;
    },
    logger: silentLogger,
    clock: { now: () => world.now, monotonic: () => world.now, sleep: async () => {} },
  });
  return { world, set, labels: () => set.current().map((tree) => tree.label) };
}

test('trees come and go in the order of the file, and those that stay are not touched', async () => {
  const { world, set, labels } = newSet();
  await set.reload();
  assert.deepEqual(labels(), ['store']);
  world.wanted = [medium, store];
  await set.reload();
  assert.deepEqual(labels(), ['media', 'store']);
  world.wanted = [store];
  await set.reload();
  assert.deepEqual(labels(), ['store']);
  assert.deepEqual(world.log, ['open store', 'open media', 'close media']);
  await set.close();
  assert.deepEqual(labels(), []);
});

test('a tree that cannot be opened is left out, tried again later, and then takes its place', async () => {
  const { world, set, labels } = newSet();
  world.failing.add('media');
  world.wanted = [medium, store];
  await set.reload();
  assert.deepEqual(labels(), ['store']);
  world.failing.clear();
  await set.retry();
  assert.deepEqual(labels(), ['store']); // Not due yet.
  world.now = 1_000;
  await set.retry();
  assert.deepEqual(labels(), ['media', 'store']);
});

test('a file that cannot be read changes nothing; new keys open foreign trees anew', async () => {
  const { world, set, labels } = newSet();
  world.wanted = [store, medium, peer];
  await set.reload();
  world.wanted = [];
  await set.reload();
  assert.deepEqual(labels(), ['store', 'media', 'peer']);
  world.wanted = [store, medium, peer];
  world.failing.add('media');
  await set.reload((entry) => entry.kind !== 'store');
  assert.deepEqual(labels(), ['store', 'peer']);
});
