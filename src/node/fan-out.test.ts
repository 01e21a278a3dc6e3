import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PlannedBlob } from '../copy/plan.ts';
import { digestOf } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { type CopyingPeer, createFanOut, owner } from './fan-out.ts';

const blobs: PlannedBlob[] = Array.from({ length: 300 }, (_, index) => {
  const digest = digestOf(Buffer.from(String(index)));
  return { digest, size: 1, repository: 'a/b', image: 'web' };
});

const peer = (node: string, bytesDone?: number): CopyingPeer => ({ node, address: '127.0.0.1', bytesDone });

test('every blob has one owner, whoever asks; a node that leaves moves only its own share', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 6 }), (nodes) => {
      for (const { digest } of blobs.slice(0, 20)) {
        const one = owner(digest, nodes);
        assert.equal(owner(digest, [...nodes].reverse()), one);
        const left = nodes.filter((node) => node !== nodes[0]);
        if (one !== nodes[0]) assert.equal(owner(digest, left), one);
      }
    }),
  );
  const shares = ['a', 'b', 'c'].map(
    (node) => blobs.filter((blob) => owner(blob.digest, ['a', 'b', 'c']) === node).length,
  );
  assert.ok(
    shares.every((share) => share > 70 && share < 130),
    String(shares),
  );
});

test('a node begins with its own share, takes others’ from their disks, and stops waiting for one that stands still', async () => {
  let now = 0;
  const clock = { now: () => now, monotonic: () => now, sleep: async () => {} };
  const held = new Set<string>();
  let moved = 0;
  let peers: CopyingPeer[] = [];
  const source = { label: 'the disk of b' } as ContentSource;
  const fanOut = createFanOut({
    self: 'a',
    peers: () => peers,
    storeOf: () => source,
    has: async (_, blob) => held.has(blob.digest),
    clock,
  });
  assert.deepEqual(fanOut.order(blobs), blobs, 'alone, everything is its own');
  peers = [peer('b', moved)];
  const own = blobs.filter((blob) => owner(blob.digest, ['a', 'b']) === 'a');
  assert.deepEqual(fanOut.order(blobs).slice(0, own.length), own);
  const [first] = own;
  const other = blobs.find((blob) => !own.includes(blob));
  assert.ok(first !== undefined && other !== undefined);
  assert.equal(await fanOut.elsewhere(first), undefined);
  assert.equal(await fanOut.elsewhere(other), 'later');
  held.add(other.digest);
  assert.equal(await fanOut.elsewhere(other), source);
  held.clear();
  for (let turn = 0; turn < 5; turn += 1) {
    now += 10_000;
    moved += 1;
    peers = [peer('b', moved)];
    assert.equal(await fanOut.elsewhere(other), 'later', 'it moves, so it is waited for');
  }
  now += 16_000;
  assert.equal(await fanOut.elsewhere(other), undefined, 'it stands still');
  peers = [];
  assert.equal(await fanOut.elsewhere(other), undefined, 'it is gone');
});
