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

const node = (name: string, hasMedium = false, bytesDone?: number): CopyingPeer => ({
  node: name,
  address: '127.0.0.1',
  hasMedium,
  bytesDone,
});

const still = { now: () => 0, monotonic: () => 0, sleep: async () => {} };

test('every blob has one owner, whoever asks; a node that leaves moves only its own share', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 6 }), (names) => {
      const nodes = names.map((name) => node(name));
      for (const { digest } of blobs.slice(0, 20)) {
        const one = owner(digest, nodes);
        assert.equal(owner(digest, [...nodes].reverse()), one);
        if (one !== nodes[0]) assert.equal(owner(digest, nodes.slice(1)), one);
      }
    }),
  );
  const nodes = ['a', 'b', 'c'].map((name) => node(name));
  const shares = nodes.map(
    (each) => blobs.filter((blob) => owner(blob.digest, nodes)?.node === each.node).length,
  );
  assert.ok(
    shares.every((share) => share > 70 && share < 130),
    String(shares),
  );
});

/** Lets nodes look for their blobs again and again: who read what from the medium, and who sent each how much. */
async function play(nodes: readonly CopyingPeer[]) {
  const disks = new Map(nodes.map((each) => [each.node, new Set<string>()]));
  const read = new Map<string, string[]>();
  const sent = new Map(nodes.map((each) => [each.node, 0]));
  const fanOuts = nodes.map((self) => ({
    self,
    fanOut: createFanOut({
      self: () => self,
      peers: () => nodes.filter((each) => each !== self),
      storeOf: (peer) => ({ label: peer.node }) as ContentSource,
      has: async (peer, blob) => disks.get(peer.node)?.has(blob.digest),
      clock: still,
    }),
  }));
  for (let turn = 0; turn < 4; turn += 1) {
    for (const { self, fanOut } of fanOuts) {
      const disk = disks.get(self.node);
      for (const blob of blobs) {
        if (disk?.has(blob.digest) === true) continue;
        const from = await fanOut.elsewhere(blob);
        if (from === 'later') continue;
        if (from === undefined) read.set(blob.digest, [...(read.get(blob.digest) ?? []), self.node]);
        else sent.set(from.label, (sent.get(from.label) ?? 0) + 1);
        disk?.add(blob.digest);
      }
    }
  }
  return { disks, readers: [...read.values()], sent };
}

test('each blob is read from media once, by a node that has them, and comes to every node', async () => {
  const nodesOf = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(nodesOf, async (media) => {
      const nodes = media.map((hasMedium, at) => node(`node-${at}`, hasMedium));
      const { disks, readers } = await play(nodes);
      for (const disk of disks.values()) assert.equal(disk.size, blobs.length);
      assert.equal(readers.length, blobs.length);
      for (const names of readers) {
        assert.equal(names.length, 1);
        const reader = nodes.find((each) => each.node === names[0]);
        assert.ok(reader?.hasMedium === true || !media.includes(true), names.join());
      }
    }),
    { numRuns: 30 },
  );
});

test('the node with the medium sends each byte once, and the others send their shares to each other', async () => {
  const { sent } = await play([node('a', true), node('b'), node('c')]);
  assert.equal(sent.get('a'), blobs.length);
  assert.equal((sent.get('b') ?? 0) + (sent.get('c') ?? 0), blobs.length);
  assert.ok(Math.min(sent.get('b') ?? 0, sent.get('c') ?? 0) > 100, JSON.stringify([...sent]));
});

test('nodes never wait for each other, wherever media go and whoever comes, leaves or has a part already', async () => {
  const few = blobs.slice(0, 60);
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(250), async (seed, eventsEnd) => {
      let random = seed;
      const chance = () => {
        random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
        return random / 2 ** 31;
      };
      const nodes = ['a', 'b', 'c', 'd'].map((name) => {
        const disk = new Set<string>(few.filter(() => chance() < 0.3).map((blob) => blob.digest));
        const copies = chance() < 0.7;
        return {
          ...node(name),
          hasMedium: chance() < 0.5,
          copies,
          disk,
          queue: [...few],
          work: [...few].slice(0, 0),
        };
      });
      const fanOuts = nodes.map((self) =>
        createFanOut({
          self: () => self,
          peers: () => nodes.filter((each) => each !== self && each.copies),
          storeOf: (peer) => ({ label: peer.node }) as ContentSource,
          has: async (peer, blob) => nodes.find((each) => each.node === peer.node)?.disk.has(blob.digest),
          clock: still,
        }),
      );
      let waited = 0;
      for (let turn = 0; nodes.some((each) => each.copies); turn += 1) {
        const at = Math.floor(chance() * nodes.length);
        const one = nodes[at] ?? assert.fail();
        const event = turn < eventsEnd ? chance() : 1;
        if (event < 0.02) one.hasMedium = !one.hasMedium;
        else if (event < 0.04) {
          Object.assign(one, { copies: !one.copies, queue: [...few], work: [] });
        }
        if (!one.copies) continue;
        one.queue = one.queue.filter((blob) => !one.disk.has(blob.digest));
        one.work.push(...one.queue.splice(0, 3 - one.work.length));
        const blob = one.work[Math.floor(chance() * one.work.length)];
        if (blob === undefined) one.copies = false;
        else if ((await fanOuts[at]?.elsewhere(blob)) === 'later') waited += 1;
        else {
          one.disk.add(blob.digest);
          one.work = one.work.filter((each) => each !== blob);
          waited = 0;
        }
        assert.ok(waited < 400, 'each waits for another');
      }
    }),
    { numRuns: 60 },
  );
});

test('a node that stands still is not waited for, nor one that does not answer: the next on the way is asked', async () => {
  let now = 0;
  const [self, reader] = [node('a'), node('m', true)];
  const state = { bytes: 0, relay: undefined as boolean | undefined, reader: false as boolean | undefined };
  let peers: CopyingPeer[] = [];
  const fanOut = createFanOut({
    self: () => self,
    peers: () => peers,
    storeOf: (peer) => ({ label: peer.node }) as ContentSource,
    has: async (peer) => (peer.node === 'b' ? state.relay : state.reader),
    clock: { ...still, monotonic: () => now },
  });
  const others = [node('b', false, 0), { ...reader, bytesDone: 0 }];
  peers = others;
  const blob = blobs.find((each) => owner(each.digest, [self, node('b')])?.node === 'b');
  assert.ok(blob !== undefined);
  const answer = async () => {
    const from = await fanOut.elsewhere(blob);
    return typeof from === 'object' ? from.label : from;
  };
  assert.equal(await answer(), 'later', 'b is silent, and the reader has not got it yet');
  state.reader = true;
  assert.equal(await answer(), 'm');
  state.relay = false;
  assert.equal(await answer(), 'later', 'b says that it will have it');
  state.relay = true;
  assert.equal(await answer(), 'b');
  state.relay = false;
  assert.equal(await answer(), 'later');
  now += 9_000;
  assert.equal(await answer(), 'later');
  now += 2_000;
  assert.equal(await answer(), 'm', 'b has begun later than the others');
  assert.equal(await answer(), 'm', 'and is not waited for again at once');
  now += 61_000;
  assert.equal(await answer(), 'later', 'it may have caught up');
  state.relay = undefined;
  state.reader = false;
  for (let turn = 0; turn < 5; turn += 1) {
    now += 100_000;
    peers = others.map((peer) => ({ ...peer, bytesDone: turn + 1 }));
    assert.equal(await answer(), 'later', 'the reader moves, so it is waited for');
  }
  now += 121_000;
  assert.equal(await answer(), undefined, 'it stands still');
  peers = [];
  assert.equal(await answer(), undefined, 'they are gone');
});
