import assert from 'node:assert/strict';
import { createPrivateKey, sign } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { signatureTag, signManifest, verifyClaim, verifySignature } from './cosign.ts';
import { generateSigningKey, parseTrustedKey } from './keys.ts';

const digest = `sha256:${'ab'.repeat(32)}`;
const mine = generateSigningKey();
const other = generateSigningKey();
const trusted = [parseTrustedKey('mine', mine.publicPem)];

function signText(text: string): string {
  return sign('sha256', Buffer.from(text), createPrivateKey(mine.privatePem)).toString('base64');
}

test('a signature verifies with its own key and names it', () => {
  const signed = signManifest({ privatePem: mine.privatePem, dockerReference: 'a/b', digest });
  const claim = verifyClaim(signed.payload, signed.signatureBase64, trusted, digest);
  assert.equal(claim?.key.name, 'mine');
  assert.equal(claim?.dockerReference, 'a/b');
  assert.equal(signatureTag(digest), `sha256-${'ab'.repeat(32)}.sig`);
});

test('S8 a foreign key proves nothing', () => {
  const signed = signManifest({ privatePem: other.privatePem, dockerReference: 'a/b', digest });
  assert.equal(verifyClaim(signed.payload, signed.signatureBase64, trusted, digest), undefined);
  assert.equal(verifySignature(signed.payload, signed.signatureBase64, []), undefined);
});

test('S8 a good signature of another release is refused', () => {
  const signed = signManifest({ privatePem: mine.privatePem, dockerReference: 'a/b', digest });
  const wanted = `sha256:${'cd'.repeat(32)}`;
  assert.throws(() => verifyClaim(signed.payload, signed.signatureBase64, trusted, wanted), {
    code: 'DigestMismatch',
    message: /abab.*cdcd/,
  });
});

test('a trusted key that signed another kind of document proves nothing about an image', () => {
  const documents = [
    'not json',
    'null',
    '[]',
    '{"critical":null}',
    JSON.stringify({
      critical: {
        type: 'atomic container signature',
        image: { 'docker-manifest-digest': digest },
        identity: { 'docker-reference': 'a/b' },
      },
    }),
    JSON.stringify({
      critical: {
        type: 'cosign container image signature',
        image: { 'docker-manifest-digest': digest },
        identity: { 'docker-reference': '' },
      },
    }),
  ];
  for (const text of documents) {
    assert.throws(() => verifyClaim(Buffer.from(text), signText(text), trusted, digest), {
      code: 'InputInvalid',
    });
  }
});

test('any changed bit of the document or of the signature is noticed', () => {
  const signed = signManifest({ privatePem: mine.privatePem, dockerReference: 'a/b', digest });
  fc.assert(
    fc.property(fc.nat(signed.payload.length * 8 - 1), (bit) => {
      const payload = Buffer.from(signed.payload);
      payload[bit >> 3] = (payload[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(verifySignature(payload, signed.signatureBase64, trusted), undefined);
    }),
    { numRuns: 200 },
  );
  fc.assert(
    fc.property(fc.nat(signed.signatureBase64.length * 8 - 1), (bit) => {
      const text = Buffer.from(signed.signatureBase64);
      text[bit >> 3] = (text[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(verifySignature(signed.payload, text.toString('latin1'), trusted), undefined);
    }),
    { numRuns: 200 },
  );
});

test('one signature is one text: what decodes to the same bytes in another spelling is none', () => {
  // Only with as many bytes does the last sign hold bits that decoding leaves out.
  let text = '';
  while (!text.endsWith('==')) text = signText('x');
  assert.equal(verifySignature(Buffer.from('x'), text, trusted)?.name, 'mine');
  const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const next = signs[signs.indexOf(text.at(-3) ?? '') + 1];
  for (const other of [`${text.slice(0, -3)}${next}==`, text.slice(0, -2), text.slice(0, -1)]) {
    assert.deepEqual(Buffer.from(other, 'base64'), Buffer.from(text, 'base64'));
    assert.equal(verifySignature(Buffer.from('x'), other, trusted), undefined, other);
  }
});

test('any text as a signature is refused without an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.string({ maxLength: 200 }), (payload, text) => {
      assert.equal(verifySignature(payload, text, trusted), undefined);
    }),
  );
});
