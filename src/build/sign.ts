import { bundleRepository } from '../bundle/document.ts';
import { type Digest, digestOf } from '../oci/digest.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import type { Store } from '../store/store.ts';
import {
  keyIdAnnotation,
  signatureAnnotation,
  signatureArtifactType,
  signatureTag,
  signManifest,
  simpleSigningMediaType,
} from '../trust/cosign.ts';
import { publicKeyOf } from '../trust/keys.ts';

/** Puts bytes into a repository of a store as a blob. */
export async function putBlob(
  store: Store,
  repository: string,
  bytes: Uint8Array,
  mediaType: string,
): Promise<Descriptor> {
  const digest = digestOf(bytes);
  await store.putBlob(digest, bytes);
  await store.linkLayer(repository, digest);
  return { mediaType, digest, size: bytes.length };
}

async function putManifest(store: Store, repository: string, value: object): Promise<Descriptor> {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = digestOf(bytes);
  await store.putManifest(repository, { digest, mediaType: mediaTypes.ociManifest, bytes });
  return { mediaType: mediaTypes.ociManifest, digest, size: bytes.length };
}

/**
 * Signs a bundle's manifest in cosign's key format. One manifest serves both ways of finding it: it stands under
 * cosign's tag, and has the bundle as its subject, so that it is among the referrers.
 *
 * @returns digest of the signature manifest.
 */
export async function signBundle(store: Store, subject: Descriptor, privatePem: string): Promise<Digest> {
  const { payload, signatureBase64 } = signManifest({
    privatePem,
    dockerReference: bundleRepository,
    digest: subject.digest,
  });
  const layer = await putBlob(store, bundleRepository, payload, simpleSigningMediaType);
  // cosign writes an image configuration here, too, whose layers are the signed documents.
  const config = Buffer.from(
    JSON.stringify({
      architecture: '',
      os: '',
      config: {},
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const signature = await putManifest(store, bundleRepository, {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    artifactType: signatureArtifactType,
    config: await putBlob(store, bundleRepository, config, mediaTypes.ociConfig),
    layers: [
      {
        ...layer,
        annotations: {
          [signatureAnnotation]: signatureBase64,
          [keyIdAnnotation]: publicKeyOf(privatePem, 'the signing key').id,
        },
      },
    ],
    subject,
  });
  await store.tag(bundleRepository, signatureTag(subject.digest), signature.digest);
  return signature.digest;
}
