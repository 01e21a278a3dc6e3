import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { inTotoPayloadType, openEnvelope, signEnvelope } from './dsse.ts';
import { generateSigningKey, parseTrustedKey } from './keys.ts';

const pair = generateSigningKey();
const key = parseTrustedKey('cluster', pair.publicPem);
const other = parseTrustedKey('other', generateSigningKey().publicPem);
const body = Buffer.from('{"a":1}');
const envelope = signEnvelope(inTotoPayloadType, body, pair.privatePem);
const changed = (change: (value: Record<string, unknown>) => void) => {
  const value = JSON.parse(envelope);
  change(value);
  return JSON.stringify(value);
};
const refuses = (
  text: string,
  code: 'InputInvalid' | 'InputTooLarge' | 'SignatureMissing' | 'SignatureUntrusted',
) =>
  assert.throws(
    () => openEnvelope(text, [other, key]),
    (error) => isSluiceError(error, code),
  );

test('what was signed comes back, with the key that signed it', () => {
  const opened = openEnvelope(envelope, [other, key]);
  assert.deepEqual([opened.payloadType, opened.body.toString()], [inTotoPayloadType, '{"a":1}']);
  assert.equal(opened.signedBy.fingerprint, key.fingerprint);
});

test('the bytes that are signed are those of the DSSE protocol', () => {
  const { signatures } = JSON.parse(envelope);
  const signed = Buffer.from(`DSSEv1 28 application/vnd.in-toto+json 7 {"a":1}`);
  const signature = Buffer.from(signatures[0].sig, 'base64');
  assert.ok(verify('sha256', signed, createPublicKey(pair.publicPem), signature));
});

test('a changed body, another type, another key: nobody signed it', () => {
  refuses(
    changed((value) => {
      value.payload = Buffer.from('{"a":2}').toString('base64');
    }),
    'SignatureUntrusted',
  );
  refuses(
    changed((value) => {
      value.payloadType = 'text/plain';
    }),
    'SignatureUntrusted',
  );
  assert.throws(
    () => openEnvelope(envelope, [other]),
    (error) => isSluiceError(error, 'SignatureUntrusted'),
  );
});

test('what is no envelope says so', () => {
  refuses('', 'InputInvalid');
  refuses('null', 'InputInvalid');
  refuses('{}', 'InputInvalid');
  refuses(
    changed((value) => {
      value.payload = `${value.payload}\n`;
    }),
    'InputInvalid',
  );
  refuses(
    changed((value) => {
      value.signatures = [null];
    }),
    'InputInvalid',
  );
  refuses(
    changed((value) => {
      value.signatures = [];
    }),
    'SignatureMissing',
  );
  refuses(
    changed((value) => {
      value.signatures = Array(17).fill({ sig: '' });
    }),
    'InputTooLarge',
  );
  refuses(' '.repeat(8 * 1024 * 1024 + 1), 'InputTooLarge');
});
