import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { digestOf, emptyDigest, hexOf, parseDigest } from './digest.ts';

test('digests follow the grammar of the image specification', () => {
  const digest = digestOf(Buffer.from('sluice'));
  assert.equal(parseDigest(digest), digest);
  assert.equal(digestOf(new Uint8Array()), emptyDigest);
  assert.equal(hexOf(emptyDigest).length, 64);
  for (const wrong of [
    digest.toUpperCase(),
    digest.slice(0, -1),
    `${digest}0`,
    'sha256:',
    'md5:00',
    '',
    `${digest}\n`,
  ]) {
    assert.throws(
      () => parseDigest(wrong),
      (error) => isSluiceError(error, 'DigestInvalid'),
      wrong,
    );
  }
  assert.throws(() => parseDigest(`sha512:${'0'.repeat(128)}`), /sha512/);
});
