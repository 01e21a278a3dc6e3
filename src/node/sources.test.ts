import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedBlob } from '../copy/plan.ts';
import type { HttpClient } from '../http/client.ts';
import { digestOf } from '../oci/digest.ts';
import type { Store } from '../store/store.ts';
import type { CopyingPeer } from './fan-out.ts';
import type { PeerBundle } from './peers.ts';
import { createSources } from './sources.ts';

const bundleDigest = digestOf(Buffer.from('bundle'));
const blobs: PlannedBlob[] = Array.from({ length: 60 }, (_, index) => {
  const digest = digestOf(Buffer.from(String(index)));
  return { digest, size: 1, repository: 'a/b', image: 'web' };
});
const media = (node: string): PeerBundle => ({
  node,
  address: '127.0.0.1',
  name: 'one',
  bundleDigest,
  from: 'media',
});
const reader = (node: string): CopyingPeer => ({ node, address: '127.0.0.1', hasMedium: true, bytesDone: 0 });

/** The fan-out of a node that copies from another node's medium; nobody has a blob on its disk yet. */
function fanOutOf(self: string, peer: string, status: () => number, copying = [reader(peer)]) {
  const sources = createSources({
    nodeName: self,
    store: {} as Store,
    http: {
      request: async () => ({ status: status(), discard: async () => {} }),
    } as unknown as HttpClient,
    registryPort: 1,
    copying: () => copying,
    hasMedium: () => true,
    clock: { now: () => 0, monotonic: () => 0, sleep: async () => {} },
  });
  const source = { kind: 'peer', key: peer, bundleDigest, peer: media(peer) } as const;
  const fanOut = sources.fanOut('one', source);
  assert.ok(fanOut !== undefined);
  return fanOut;
}

test('a node whose own medium is bad still reads the share that others wait for, from the medium of another', async () => {
  const [a, b] = [fanOutOf('a', 'b', () => 404), fanOutOf('b', 'a', () => 404)];
  for (const blob of blobs) {
    const answers = [await a.elsewhere(blob), await b.elsewhere(blob)];
    assert.deepEqual(answers.sort(), ['later', undefined], 'one of them reads it');
  }
});

test('what a node does not have yet is waited for; what it cannot say is not', async () => {
  let status = 404;
  const fanOut = fanOutOf('a', 'b', () => status);
  const answers = async () => new Set(await Promise.all(blobs.map((blob) => fanOut.elsewhere(blob))));
  assert.deepEqual(await answers(), new Set([undefined, 'later']));
  status = 503;
  assert.deepEqual(await answers(), new Set([undefined]));
});

test('what the node with the medium has on its disk is not read from its medium, though its copy stands still', async () => {
  let status = 200;
  const fanOut = fanOutOf('a', 'b', () => status, []);
  const [blob] = blobs;
  assert.ok(blob !== undefined);
  const from = await fanOut.elsewhere(blob);
  assert.equal(typeof from === 'object' ? from.label : from, 'the registry https://127.0.0.1:1');
  status = 404;
  assert.equal(await fanOut.elsewhere(blob), undefined);
});
