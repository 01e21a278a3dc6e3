import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SluiceError } from '../errors/error.ts';
import { type Digest, digestOf } from '../oci/digest.ts';
import { describeBase, formatDelta, parseDelta } from './delta.ts';
import { inventoryObject, parseInventory } from './inventory.ts';

const digests = fc.string().map((text): Digest => digestOf(Buffer.from(text)));
const bases = fc.array(fc.record({ name: fc.string({ minLength: 1 }), digest: digests }), { maxLength: 3 });

test('a delta is read as it was written, and the same delta always gives the same bytes', () => {
  fc.assert(
    fc.property(digests, bases, fc.array(fc.tuple(digests, fc.nat())), (bundle, since, entries) => {
      const lacks = new Map(entries);
      const bytes = formatDelta({ bundle, since, lacks });
      const read = parseDelta(bytes);
      assert.equal(read.bundle, bundle);
      assert.deepEqual(new Map([...read.lacks].sort()), new Map([...lacks].sort()));
      assert.deepEqual(
        formatDelta({ ...read, lacks: new Map([...read.lacks].reverse()) }),
        Buffer.from(bytes),
      );
    }),
  );
});

test('an inventory is read as it was written', () => {
  fc.assert(
    fc.property(bases, fc.option(fc.array(digests)), (list, blobs) => {
      const releases = list.map(({ name, digest }, index) => ({
        name,
        bundleDigest: digest,
        ...(blobs === null || index === 1 ? {} : { blobs: new Set(blobs.slice(index)) }),
      }));
      const inventory = { releases, ...(blobs === null ? {} : { blobs: new Set(blobs) }) };
      const object = inventoryObject(inventory);
      const read = parseInventory(Buffer.from(JSON.stringify(object)), 'x');
      assert.deepEqual(inventoryObject(read), object);
      assert.equal(read.blobs?.size, inventory.blobs?.size);
      const sizes = (of: typeof read) =>
        [...of.releases].sort((a, b) => (a.name < b.name ? -1 : 1)).map((each) => each.blobs?.size);
      assert.deepEqual(sizes(read), sizes(inventory));
    }),
  );
});

test('any other document is refused with an operating error', () => {
  const parsers = [
    (bytes: Uint8Array) => parseDelta(bytes),
    (bytes: Uint8Array) => parseInventory(bytes, 'x'),
  ];
  const refuses = (bytes: Uint8Array) => {
    for (const parse of parsers) {
      try {
        parse(bytes);
      } catch (error) {
        assert.ok(error instanceof SluiceError, String(error));
      }
    }
  };
  fc.assert(fc.property(fc.uint8Array(), refuses));
  fc.assert(fc.property(fc.json(), (text) => refuses(Buffer.from(text))));
  const bundle = digestOf(Buffer.from('x'));
  for (const changes of [
    { bundle: 5 },
    { since: {} },
    { lacks: [{}] },
    { lacks: [{ digest: bundle, size: '1' }] },
    { formatVersion: 2 },
  ]) {
    const document = { formatVersion: 1, bundle, since: [], lacks: [], ...changes };
    assert.throws(() => parseDelta(Buffer.from(JSON.stringify(document))), { code: 'InputInvalid' });
  }
});

test('people read which releases a delta needs', () => {
  const bundle = digestOf(Buffer.from('x'));
  const since = ['b', 'a'].map((name) => ({ name, digest: bundle }));
  assert.equal(describeBase({ bundle, since, lacks: new Map() }), 'b, a');
  assert.equal(describeBase({ bundle, since: [], lacks: new Map() }), 'a base without a name');
});
