import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { decryptKey, encryptKey, isEncryptedKey } from './encrypted-key.ts';
import { generateSigningKey } from './keys.ts';
import { openSecretbox, sealSecretbox } from './secretbox.ts';

test('secretbox gives the bytes of the vector in "Cryptography in NaCl", section 10', () => {
  const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex');
  const key = hex('1b27556473e985d462cd51197a9a46c7 6009549eac6474f206c4ee0844f68389');
  const nonce = hex('69696ee955b62b73cd62bda875fc73d6 8219e0036b7a0b37');
  const text = hex(`
    be075fc53c81f2d5cf141316ebeb0c7b 5228c52a4c62cbd44b66849b64244ffc
    e5ecbaaf33bd751a1ac728d45e6c6129 6cdc3c01233561f41db66cce314adb31
    0e3be8250c46f06dceea3a7fa1348057 e2f6556ad6b1318a024a838f21af1fde
    048977eb48f59ffd4924ca1c60902e52 f0a089bc76897040e082f93776384864
    5e0705`);
  const box = hex(`
    f3ffc7703f9400e52a7dfb4b3d3305d9
    8e993b9f48681273c29650ba32fc76ce 48332ea7164d96a4476fb8c531a1186a
    c0dfc17c98dce87b4da7f011ec48c972 71d2c20f9b928fe2270d6fb863d51738
    b48eeee314a7cc8ab932164548e526ae 90224368517acfeabd6bb3732bc0e9da
    99832b61ca01b6de56244a9e88d5f9b3 7973f622a43d14a6599b1f654cb45a74
    e355a5`);
  assert.deepEqual(Buffer.from(sealSecretbox(text, nonce, key)), box);
  assert.deepEqual(Buffer.from(openSecretbox(box, nonce, key) ?? []), text);
  for (const at of [0, 15, 16, box.length - 1]) {
    const changed = Buffer.from(box);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(openSecretbox(changed, nonce, key), undefined);
  }
  assert.equal(openSecretbox(box, nonce, randomBytes(32)), undefined);
  assert.equal(openSecretbox(box.subarray(0, 15), nonce, key), undefined);
});

test('a key is encrypted and decrypted; another password is told', () => {
  const { privatePem } = generateSigningKey();
  const pem = encryptKey(privatePem, 'a word');
  assert.ok(isEncryptedKey(pem));
  assert.ok(!isEncryptedKey(privatePem));
  assert.equal(decryptKey(pem, 'a word', 'cosign.key'), privatePem);
  const old = pem.replaceAll('SIGSTORE', 'COSIGN');
  assert.equal(decryptKey(old, 'a word', 'cosign.key'), privatePem);
  assert.throws(() => decryptKey(pem, 'another', 'cosign.key'), {
    code: 'Unauthorized',
    message: /cosign\.key/,
    next: /COSIGN_PASSWORD/,
  });
});

test('a damaged key file, or one that asks for all the memory, is refused', () => {
  const wrap = (document: unknown) =>
    `-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n${Buffer.from(JSON.stringify(document)).toString('base64')}\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n`;
  const salt = 'AAAA';
  const cipher = { name: 'nacl/secretbox', nonce: 'AAAA' };
  const kdf = (N: number, r = 8, p = 1) => ({ name: 'scrypt', params: { N, r, p }, salt });
  const cases: [unknown, RegExp][] = [
    [null, /scrypt|encrypted with/],
    [{ kdf: { name: 'argon2' }, cipher, ciphertext: '' }, /argon2/],
    [{ kdf: kdf(2 ** 30), cipher, ciphertext: '' }, /asks scrypt for/],
    [{ kdf: kdf(1000), cipher, ciphertext: '' }, /asks scrypt for/],
    [{ kdf: kdf(1024, 8, 1000), cipher, ciphertext: '' }, /asks scrypt for/],
    [{ kdf: { ...kdf(1024), params: undefined }, cipher, ciphertext: '' }, /asks scrypt for/],
    [{ kdf: kdf(1024), cipher, ciphertext: 7 }, /missing/],
  ];
  for (const [document, message] of cases) {
    assert.throws(() => decryptKey(wrap(document), '', 'k'), { code: 'InputInvalid', message });
  }
  assert.throws(() => decryptKey('-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nx', '', 'k'), {
    code: 'InputInvalid',
  });
});
