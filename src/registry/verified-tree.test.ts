import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSluiceError } from '../errors/error.ts';
import { digestOf } from '../oci/digest.ts';
import { withheld } from './verified-tree.ts';

async function* chunksOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(sent: Buffer, signed: Buffer, range: { offset: number; end: number }, chunk: number) {
  const got: Uint8Array[] = [];
  let failure: unknown;
  try {
    for await (const part of withheld(
      chunksOf(sent, chunk),
      { digest: digestOf(signed), size: signed.length },
      range,
      'test',
    ))
      got.push(part);
  } catch (error) {
    failure = error;
  }
  return { bytes: Buffer.concat(got), failure };
}

test('the part that is asked for comes whole where the blob is right', async () => {
  const blob = randomBytes(300_000);
  const sizes = fc.tuple(fc.nat(300_000), fc.nat(300_000), fc.integer({ min: 1_000, max: 400_000 }));
  await fc.assert(
    fc.asyncProperty(sizes, async ([a, b, chunk]) => {
      const range = { offset: Math.min(a, b), end: Math.max(a, b) };
      const { bytes, failure } = await read(blob, blob, range, chunk);
      assert.equal(failure, undefined);
      assert.ok(bytes.equals(blob.subarray(range.offset, range.end)));
    }),
    { numRuns: 50 },
  );
});

test('a flipped bit anywhere, a missing end, a byte too many: the last part never leaves', async () => {
  const blob = randomBytes(300_000);
  const flipped = (at: number) => {
    const copy = Buffer.from(blob);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };
  const wrong = [
    flipped(0),
    flipped(150_000),
    flipped(299_999),
    blob.subarray(0, -1),
    Buffer.concat([blob, Buffer.from('x')]),
  ];
  for (const sent of wrong) {
    for (const range of [
      { offset: 0, end: 300_000 },
      { offset: 100_000, end: 200_000 },
      { offset: 299_999, end: 300_000 },
    ]) {
      const { bytes, failure } = await read(sent, blob, range, 7_000);
      assert.ok(isSluiceError(failure, 'DigestMismatch'));
      assert.ok(bytes.length < range.end - range.offset);
    }
  }
});
