import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  describeKeys,
  generateSigningKey,
  loadTrustedKeys,
  parsePrivateKey,
  parseTrustedKey,
  publicKeyOf,
} from './keys.ts';

test('a new key pair is PKCS#8 and SPKI PEM, and its halves belong together', () => {
  const pair = generateSigningKey();
  assert.match(pair.privatePem, /^-----BEGIN PRIVATE KEY-----/);
  assert.match(pair.publicPem, /^-----BEGIN PUBLIC KEY-----/);
  const key = parseTrustedKey('release', pair.publicPem);
  assert.equal(publicKeyOf(pair.privatePem, 'other').fingerprint, key.fingerprint);
  assert.match(key.id, /^[0-9a-f]{16}$/);
  assert.ok(key.fingerprint.startsWith(key.id));
});

test('a private key, a certificate, another kind of key and rubbish are refused as trusted keys', () => {
  const pair = generateSigningKey();
  assert.throws(() => parseTrustedKey('sluice.key', pair.privatePem), {
    code: 'InputInvalid',
    message: 'key sluice.key is a private key, and a public one is needed here',
    next: /Give the public key beside it: sluice\.pub/,
  });
  assert.throws(() => parseTrustedKey('k', 'rubbish'), { code: 'InputInvalid' });
  const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  assert.throws(() => parseTrustedKey('k', ed25519), { code: 'InputInvalid', message: /ed25519/ });
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
  assert.throws(() => parseTrustedKey('k', p384.export({ type: 'spki', format: 'pem' }).toString()), {
    message: /secp384r1/,
  });
  assert.throws(() => parsePrivateKey(pair.publicPem, 'sluice.key'), {
    code: 'InputInvalid',
    message: 'sluice.key is a public key, and signing needs the private one',
    next: /Give the private key beside it: sluice\.key/,
  });
  assert.throws(() => parsePrivateKey('rubbish', 'sluice.key'), {
    message: 'sluice.key is not an unencrypted private key in PEM',
  });
});

test('trusted keys come from *.pub of a directory; a missing directory holds none', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-keys-'));
  t.after(() => rm(directory, { recursive: true }));
  const a = generateSigningKey();
  const b = generateSigningKey();
  await writeFile(join(directory, 'b.pub'), b.publicPem);
  await writeFile(join(directory, 'a.pub'), a.publicPem);
  await writeFile(join(directory, 'again.pub'), a.publicPem);
  await writeFile(join(directory, 'notes.txt'), 'no key');
  const keys = await loadTrustedKeys(directory);
  assert.deepEqual(
    keys.map((key) => key.name),
    ['a', 'b'],
  );
  assert.equal(describeKeys(keys), `a (${keys[0]?.id}), b (${keys[1]?.id})`);
  assert.deepEqual(await loadTrustedKeys(join(directory, 'absent')), []);
  assert.equal(describeKeys([]), 'none');
});

test('a damaged trusted key is an error, or is told and left out', async () => {
  const good = generateSigningKey().publicPem;
  const entries = { 'bad.pub': 'x', 'good.pub': good };
  await assert.rejects(loadTrustedKeys(entries), { code: 'InputInvalid', message: /bad/ });
  const invalid: string[] = [];
  const keys = await loadTrustedKeys(entries, (name) => invalid.push(name));
  assert.deepEqual([keys.map((key) => key.name), invalid], [['good'], ['bad.pub']]);
});
