import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Gpg, startGpg } from '../../tests/gpg.ts';
import { needs } from '../../tests/tier.ts';
import { keyringsOf, type ReleaseKeyring, readClaim, verifyRelease } from './release-signature.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const other = `sha256:${'b'.repeat(64)}`;
let gpg: Gpg | undefined;
let redhat: ReleaseKeyring;
let second: ReleaseKeyring;

const claim = (changes: { critical?: object; optional?: object; more?: object } = {}) =>
  JSON.stringify({
    critical: {
      type: 'atomic container signature',
      image: { 'docker-manifest-digest': digest },
      identity: { 'docker-reference': 'quay.io/openshift-release-dev/ocp-release:4.21.1-x86_64' },
      ...changes.critical,
    },
    optional: { creator: 'Red Hat Build', timestamp: 1_700_000_000, ...changes.optional },
    ...changes.more,
  });

before(async () => {
  if (needs('gpg').skip !== undefined) return;
  gpg = await startGpg();
  redhat = await gpg.makeKey('redhat');
  second = await gpg.makeKey('second');
});

after(() => gpg?.close());

const sign = (name: string, text: string, how?: string[]) => {
  assert.ok(gpg !== undefined);
  return gpg.sign(name, text, how);
};

const verify = (signatures: readonly Uint8Array[], keyrings: readonly ReleaseKeyring[], now = Date.now()) =>
  verifyRelease(signatures, keyrings, digest, now);

test('S8 what gpg signs is verified, packed or not, and says who and as what', needs('gpg'), async () => {
  for (const how of [
    ['--sign'],
    ['--compress-algo', 'none', '--sign'],
    ['--digest-algo', 'SHA512', '--sign'],
  ]) {
    const [found] = await verify([await sign('redhat', claim(), how)], [redhat]);
    assert.equal(found?.keyring, 'verifier-public-key-redhat');
    assert.match(found?.keyId ?? '', /^[0-9A-F]{16}$/);
    assert.equal(found?.dockerReference, 'quay.io/openshift-release-dev/ocp-release:4.21.1-x86_64');
  }
});

test('S8 each keyring must be satisfied; the message names keyrings and key ids', needs('gpg'), async () => {
  const one = await sign('redhat', claim());
  const two = await sign('second', claim());
  assert.equal((await verify([one, two], [redhat, second])).length, 2);
  await assert.rejects(verify([one], [redhat, second]), {
    code: 'SignatureUntrusted',
    message: /^unable to verify sha256:a+ against keyrings: verifier-public-key-second \(key [0-9A-F]{16}: /,
  });
  await assert.rejects(verify([], [redhat]), { code: 'SignatureMissing' });
  await assert.rejects(verify([one], []), { code: 'SignatureMissing', message: /no keyring/ });
});

test(
  'S8 a signature of another release, of another kind, or with more fields does not count',
  needs('gpg'),
  async () => {
    const wrong: [string, RegExp][] = [
      [claim({ critical: { image: { 'docker-manifest-digest': other } } }), /for sha256:b/],
      [claim({ critical: { type: 'cosign container image signature' } }), /of the type/],
      [claim({ critical: { identity: { 'docker-reference': '' } } }), /signed as/],
      [claim({ critical: { extra: 1 } }), /unknown field critical\.extra/],
      [claim({ optional: { extra: 1 } }), /unknown field optional\.extra/],
      [claim({ more: { extra: 1 } }), /unknown field the message\.extra/],
      ['not json', /not JSON/],
      [`${claim()}${claim()}`, /not JSON/],
    ];
    for (const [text, message] of wrong) {
      await assert.rejects(verify([await sign('redhat', text)], [redhat]), {
        code: 'SignatureUntrusted',
        message,
      });
    }
  },
);

test('S8 detached, clear-text, unsigned, cut and changed messages do not count', needs('gpg'), async () => {
  const good = await sign('redhat', claim());
  const plain = await sign('redhat', claim(), ['--compress-algo', 'none', '--sign']);
  const changed = Buffer.from(plain);
  const at = changed.indexOf('Red Hat');
  changed.write('Bad Hat', at);
  const literal = await sign('redhat', claim(), ['--store']);
  const cases: [string, Uint8Array][] = [
    ['detached', await sign('redhat', claim(), ['--detach-sign'])],
    ['clear', await sign('redhat', claim(), ['--clear-sign'])],
    ['unsigned', literal],
    ['cut', good.subarray(0, good.length - 20)],
    ['changed', changed],
    ['nothing', new Uint8Array(0)],
    ['too large', new Uint8Array(65 * 1024)],
  ];
  for (const [name, bytes] of cases) {
    await assert.rejects(verify([bytes], [redhat]), { code: 'SignatureUntrusted' }, name);
    assert.equal(
      (await verify([bytes, good], [redhat])).length,
      1,
      `${name} beside a good one changes nothing`,
    );
  }
});

test('S8 expired signatures and signatures of the future do not count', needs('gpg'), async () => {
  const day = 24 * 60 * 60 * 1000;
  const short = await sign('redhat', claim(), ['--default-sig-expire', '1d', '--sign']);
  assert.equal((await verify([short], [redhat])).length, 1);
  await assert.rejects(verify([short], [redhat], Date.now() + 2 * day), { message: /expired/i });
  await assert.rejects(verify([short], [redhat], Date.now() - 2 * day), { code: 'SignatureUntrusted' });
});

test('S8 signatures that do not hold hide none that does, however many there are', needs('gpg'), async () => {
  const good = await sign('redhat', claim());
  const bad = await sign('second', claim());
  const twenty = Array.from({ length: 20 }, () => bad);
  const [found] = await verify([...twenty, good], [redhat]);
  assert.equal(found?.signature, good);
  // More than anybody signs is an attempt to keep us busy.
  const many = Array.from({ length: 256 }, () => new Uint8Array(0));
  await assert.rejects(verify([...many, good], [redhat]), { code: 'SignatureUntrusted' });
  const sized = Array.from({ length: 30 }, (_, index) => new Uint8Array(65 * 1024 + index));
  await assert.rejects(verify(sized, [redhat]), {
    message: /(?:a signature has \d+ bytes; ){9}and 21 more\)$/,
  });
});

test('a keyring that cannot be read is named, not passed over', needs('gpg'), async () => {
  const good = await sign('redhat', claim());
  await assert.rejects(
    verify([good], [{ name: 'broken', keys: '-----BEGIN PGP PUBLIC KEY BLOCK-----\nx' }]),
    {
      message: /the keyring broken cannot be read/,
    },
  );
});

test('keyrings come out of the payload’s ConfigMap; stores beside them do not count', () => {
  const data = {
    'verifier-public-key-redhat': 'a',
    'store-openshift-official': 'https://x',
    'verifier-public-key-ci': 'b',
  };
  assert.deepEqual(
    keyringsOf(data).map((each) => each.name),
    ['verifier-public-key-ci', 'verifier-public-key-redhat'],
  );
});

test('a claim is read as it was signed, or refused', () => {
  assert.equal(
    readClaim(Buffer.from(claim()), digest),
    'quay.io/openshift-release-dev/ocp-release:4.21.1-x86_64',
  );
  for (const bad of ['[]', 'null', '{}', '{"critical":null}', '{"critical":{"image":[]}}']) {
    assert.throws(() => readClaim(Buffer.from(bad), digest), { code: 'InputInvalid' });
  }
});
