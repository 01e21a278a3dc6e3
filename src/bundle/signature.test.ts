import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { putBlob } from '../build/sign.ts';
import { openMedia } from '../media/media.ts';
import { digestOf } from '../oci/digest.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { openStore } from '../store/store.ts';
import { signatureAnnotation, signatureTag, signManifest, simpleSigningMediaType } from '../trust/cosign.ts';
import { parsePrivateKey, type SigningKeyPair } from '../trust/keys.ts';
import { sigstoreBundleType } from '../trust/sigstore-bundle.ts';
import { openBundle } from './bundle.ts';
import { bundleRepository } from './document.ts';

const maker = testKey('maker');
const third = testKey('third');
const stranger = testKey('stranger');
let dir: string;
let release: TestRelease;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-signature-'));
  release = await makeRelease({ version: '1.0.0', dir, key: maker.pair });
});

after(() => rm(dir, { recursive: true, force: true }));

interface Changes {
  readonly key?: SigningKeyPair;
  readonly digest?: string;
  readonly predicateType?: string;
  readonly type?: string;
  readonly payloadType?: string;
  readonly spoil?: boolean;
}

/** A signature as cosign 3 writes it. */
function sigstoreDocument(changes: Changes = {}): Uint8Array {
  const payloadType = changes.payloadType ?? 'application/vnd.in-toto+json';
  const statement = {
    _type: changes.type ?? 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256: (changes.digest ?? release.digest).replace('sha256:', '') } }],
    predicateType: changes.predicateType ?? 'https://sigstore.dev/cosign/sign/v1',
    predicate: {},
  };
  const body = Buffer.from(JSON.stringify(statement));
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `),
    body,
  ]);
  const { privatePem } = changes.key ?? third.pair;
  const signature = sign('sha256', signed, parsePrivateKey(privatePem, 'the key'));
  if (changes.spoil === true) signature[10] = (signature[10] ?? 0) ^ 1;
  return Buffer.from(
    JSON.stringify({
      mediaType: sigstoreBundleType,
      verificationMaterial: { publicKey: { hint: 'x' } },
      dsseEnvelope: {
        payload: body.toString('base64'),
        payloadType,
        signatures: [{ sig: signature.toString('base64') }],
      },
    }),
  );
}

/** Media whose own signature stands under no tag, with one more among the referrers. */
async function mediaWith(t: TestContext, document: Uint8Array): Promise<string> {
  const root = await mkdtemp(join(dir, 'media-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  await cp(release.path, root, { recursive: true });
  const store = await openStore(root);
  const layer = await putBlob(store, bundleRepository, document, sigstoreBundleType);
  const config = await putBlob(store, bundleRepository, Buffer.from('{}'), mediaTypes.ociEmpty);
  const subject = await store.manifest(bundleRepository, release.digest);
  assert.ok(subject !== undefined);
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      artifactType: sigstoreBundleType,
      config,
      layers: [layer],
      subject: { mediaType: subject.mediaType, digest: release.digest, size: subject.bytes.length },
    }),
  );
  await store.putManifest(bundleRepository, {
    digest: digestOf(bytes),
    mediaType: mediaTypes.ociManifest,
    bytes,
  });
  return root;
}

async function openWith(path: string, keys = [third.trusted]) {
  const media = await openMedia(path);
  try {
    return await openBundle(media.content, { name: release.name }, keys);
  } finally {
    await media.close();
  }
}

test('a signature in sigstore’s form counts beside cosign’s own', async (t) => {
  const path = await mediaWith(t, sigstoreDocument());
  const bundle = await openWith(path);
  assert.equal(bundle.signedBy.id, third.trusted.id);
  assert.equal(bundle.signatures.length, 1);
  assert.equal((await openWith(path, [maker.trusted])).signedBy.id, maker.trusted.id);
  const both = await openWith(path, [maker.trusted, third.trusted]);
  assert.equal(both.signatures.length, 2);
  assert.equal(both.signatures.filter((each) => each.tag === signatureTag(release.digest)).length, 1);
});

test('S8 of another release, of nobody known, changed, or an attestation: it does not count', async (t) => {
  const other = `sha256:${'b'.repeat(64)}`;
  const cases: [string, Changes, string][] = [
    ['another release', { digest: other }, 'DigestMismatch'],
    ['a stranger', { key: stranger.pair }, 'SignatureUntrusted'],
    ['changed', { spoil: true }, 'SignatureUntrusted'],
    ['an attestation', { predicateType: 'https://spdx.dev/Document' }, 'SignatureUntrusted'],
    ['another envelope', { payloadType: 'text/plain' }, 'SignatureUntrusted'],
    ['another statement', { type: 'https://in-toto.io/Statement/v9' }, 'InputInvalid'],
  ];
  for (const [name, changes, code] of cases) {
    await assert.rejects(openWith(await mediaWith(t, sigstoreDocument(changes))), { code }, name);
  }
  for (const document of ['x', '{}', '{"dsseEnvelope":{"payload":"","signatures":{}}}', '[]']) {
    await assert.rejects(openWith(await mediaWith(t, Buffer.from(document))), { code: 'InputInvalid' });
  }
});

test('S8 what a trusted key signed as another image is no bundle', async (t) => {
  const signedAs = async (dockerReference: string) => {
    const root = await mkdtemp(join(dir, 'media-'));
    t.after(() => rm(root, { recursive: true, force: true }));
    await cp(release.path, root, { recursive: true });
    const store = await openStore(root);
    const { payload, signatureBase64 } = signManifest({
      privatePem: third.pair.privatePem,
      dockerReference,
      digest: release.digest,
    });
    const layer = await putBlob(store, bundleRepository, payload, simpleSigningMediaType);
    const config = await putBlob(store, bundleRepository, Buffer.from('{}'), mediaTypes.ociConfig);
    const annotations = { [signatureAnnotation]: signatureBase64 };
    const value = {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config,
      layers: [{ ...layer, annotations }],
    };
    const bytes = Buffer.from(JSON.stringify(value));
    const raw = { digest: digestOf(bytes), mediaType: mediaTypes.ociManifest, bytes };
    await store.putManifest(bundleRepository, raw);
    await store.tag(bundleRepository, signatureTag(release.digest), raw.digest);
    return root;
  };
  const mirrored = await signedAs(`registry.example:5000/mirror/${bundleRepository}:1.0.0`);
  assert.equal((await openWith(mirrored)).signedBy.id, third.trusted.id);
  for (const reference of ['registry.example/team/app', `registry.example/not-${bundleRepository}`])
    await assert.rejects(openWith(await signedAs(reference)), {
      code: 'SignatureUntrusted',
      message: /not for a bundle/,
    });
});
