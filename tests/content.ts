import { gzipSync, zstdCompressSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { type Digest, digestOf } from '../src/oci/digest.ts';
import { type Descriptor, mediaTypes } from '../src/oci/manifest.ts';
import type { ContentSource, RawManifest } from '../src/oci/source.ts';
import type { Store } from '../src/store/store.ts';

/** An entry of a layer; a file unless its header says otherwise. */
export interface SampleEntry {
  readonly header: Partial<Header> & { name: string };
  readonly data?: string | Buffer;
}

/** A tar archive of these entries. */
export async function tarOf(entries: readonly SampleEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { header, data } of entries) {
    archive.entry({ mtime: new Date(0), ...header } as Header, data ?? '');
  }
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A small image: its parts by digest, for any kind of place. */
export interface SampleImage {
  readonly raw: RawManifest;
  readonly descriptor: Descriptor;
  readonly blobs: ReadonlyMap<Digest, Buffer>;
}

/** An image of these layers, each a tar archive, or of raw layer bytes. */
export function imageOf(
  layers: readonly Buffer[],
  options: {
    compress?: 'gzip' | 'zstd' | 'none';
    labels?: Record<string, string>;
    architecture?: string;
  } = {},
): SampleImage {
  const blobs = new Map<Digest, Buffer>();
  const add = (bytes: Buffer, mediaType: string): Descriptor => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const how = options.compress ?? 'gzip';
  const packed = layers.map((layer) => {
    if (how === 'gzip') return add(gzipSync(layer), mediaTypes.ociLayerGzip);
    return how === 'zstd'
      ? add(zstdCompressSync(layer), mediaTypes.ociLayerZstd)
      : add(layer, mediaTypes.ociLayerTar);
  });
  const config = {
    architecture: options.architecture ?? 'amd64',
    os: 'linux',
    config: { Env: ['PATH=/bin'], Entrypoint: ['/bin/hello'], Labels: options.labels ?? {} },
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => digestOf(layer)) },
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: add(Buffer.from(JSON.stringify(config)), mediaTypes.ociConfig),
    layers: packed,
  };
  return { ...manifestOf(manifest, mediaTypes.ociManifest), blobs };
}

/** The exact bytes of a manifest. */
export function manifestOf(value: object, mediaType: string): { raw: RawManifest; descriptor: Descriptor } {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = digestOf(bytes);
  return { raw: { digest, mediaType, bytes }, descriptor: { mediaType, digest, size: bytes.length } };
}

/** Puts an image into a store, as a copy does. */
export async function putImage(
  store: Store,
  repository: string,
  image: Pick<SampleImage, 'raw' | 'blobs'>,
  tag?: string,
): Promise<void> {
  for (const [digest, bytes] of image.blobs) await putBlob(store, digest, bytes);
  await store.linkLayers(repository, [...image.blobs.keys()]);
  await store.putManifest(repository, image.raw);
  if (tag !== undefined) await store.tag(repository, tag, image.raw.digest);
}

/** Writes one blob where it is not there. */
export async function putBlob(store: Store, digest: Digest, bytes: Uint8Array): Promise<void> {
  const writer = await store.begin(digest, bytes.length);
  if (writer === undefined) return;
  await writer.write(bytes.subarray(writer.offset));
  await writer.commit();
}

/** Every byte of a blob. */
export async function bytesOf(
  source: ContentSource,
  repository: string,
  digest: Digest,
  offset = 0,
): Promise<Buffer> {
  const blob = await source.blob(repository, digest, { offset });
  if (blob === undefined) throw new Error(`${source.label} has no blob ${digest}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of blob.stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
