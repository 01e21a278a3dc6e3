import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { documentFile } from '../bundle/bundle.ts';
import {
  type BundleDocument,
  bundleRepository,
  formatBundleDocument,
  payloadArchitecture,
} from '../bundle/document.ts';
import { type Digest, digestOf } from '../oci/digest.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import type { Store } from '../store/store.ts';
import { putBlob } from './sign.ts';
import { packTar } from './tar.ts';

/** The image that carries a bundle's document, before it is stored anywhere. */
export interface BundleImageContent {
  readonly manifest: Uint8Array;
  readonly config: Uint8Array;
  readonly layer: Uint8Array;
  /** Of the manifest: the identity of the bundle. */
  readonly digest: Digest;
}

/** Makes the image of a bundle: the same document always gives the same digest. */
export async function composeBundle(document: BundleDocument): Promise<BundleImageContent> {
  const { layer, diffId } = await packDocument(formatBundleDocument(document));
  const config = Buffer.from(
    JSON.stringify({
      // No time and no machine: a bundle of several architectures says the first.
      architecture: document.arch === 'multi' ? 'amd64' : payloadArchitecture(document),
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [diffId] },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config: descriptorOf(config, mediaTypes.ociConfig),
      layers: [descriptorOf(layer, mediaTypes.ociLayerGzip)],
      annotations: {
        'org.opencontainers.image.title': document.name,
        'org.opencontainers.image.version': document.version,
      },
    }),
  );
  return { manifest, config, layer, digest: digestOf(manifest) };
}

/** Stores the image of a bundle, without a tag. */
export async function putBundle(store: Store, content: BundleImageContent): Promise<Descriptor> {
  await putBlob(store, bundleRepository, content.config, mediaTypes.ociConfig);
  await putBlob(store, bundleRepository, content.layer, mediaTypes.ociLayerGzip);
  const { digest, manifest: bytes } = content;
  await store.putManifest(bundleRepository, { digest, mediaType: mediaTypes.ociManifest, bytes });
  return descriptorOf(bytes, mediaTypes.ociManifest);
}

function descriptorOf(bytes: Uint8Array, mediaType: string): Descriptor {
  return { mediaType, digest: digestOf(bytes), size: bytes.length };
}

async function packDocument(document: Uint8Array): Promise<{ layer: Uint8Array; diffId: Digest }> {
  const chunks: Uint8Array[] = [];
  const file = {
    kind: 'file' as const,
    path: documentFile,
    mode: 0o444,
    size: document.length,
    content: document,
  };
  for await (const chunk of packTar([file])) chunks.push(chunk);
  const tar = Buffer.concat(chunks);
  const layer = await promisify(gzip)(tar, { level: 9 });
  return { layer, diffId: `sha256:${createHash('sha256').update(tar).digest('hex')}` };
}
