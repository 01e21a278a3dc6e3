import { createCipheriv, createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPayload } from '../src/build/payload.ts';
import { packTar } from '../src/build/tar.ts';
import { digestOf } from '../src/oci/digest.ts';
import { createLayoutWriter } from '../src/oci/layout.ts';
import { type Descriptor, mediaTypes } from '../src/oci/manifest.ts';

export interface BenchRelease {
  readonly payload: string;
  /** Tag name → `oci:DIR:REF`. */
  readonly images: ReadonlyMap<string, string>;
}

export interface BenchReleaseOptions {
  readonly dir: string;
  readonly version: string;
  readonly previous: readonly string[];
  readonly images: number;
  readonly layersPerImage: number;
  readonly layerBytes: number;
  /** Share of layers that differ from a release with another `generation`, 0 to 1. */
  readonly changed: number;
  readonly generation: number;
}

/** Bytes that do not compress, the same for the same seed, as fast as a disk takes them. */
export function noise(seed: string, bytes: number): Buffer {
  const key = createHash('sha256').update(seed).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/**
 * A release as real ones are: many images of several layers, of which a z-stream changes some. Layers are not packed,
 * so that what is measured is the copy and not gzip.
 */
export async function makeBenchRelease(options: BenchReleaseOptions): Promise<BenchRelease> {
  const layout = join(options.dir, `images-${options.version}`);
  const writer = await createLayoutWriter(layout);
  const images = new Map<string, string>();
  const total = options.images * options.layersPerImage;
  for (let image = 0; image < options.images; image += 1) {
    const layers: Descriptor[] = [];
    const diffIds: string[] = [];
    for (let layer = 0; layer < options.layersPerImage; layer += 1) {
      const index = image * options.layersPerImage + layer;
      // Spread evenly: every tenth layer changes where a tenth changes.
      const isChanged = Math.floor((index + 1) * options.changed) > Math.floor(index * options.changed);
      const seed = `${index} of ${total} ${isChanged ? options.generation : 'kept'}`;
      const bytes = await layerOf(seed, options.layerBytes);
      layers.push(await writer.blob(bytes, mediaTypes.ociLayerTar));
      diffIds.push(digestOf(bytes));
    }
    const config = {
      architecture: 'amd64',
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: diffIds },
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config: await writer.blob(Buffer.from(JSON.stringify(config)), mediaTypes.ociConfig),
      layers,
    };
    const tag = `component-${String(image).padStart(3, '0')}`;
    await writer.tag(tag, await writer.manifest(manifest, mediaTypes.ociManifest));
    images.set(tag, `oci:${layout}:${tag}`);
  }
  return { images, payload: await makePayload(options, images) };
}

async function layerOf(seed: string, bytes: number): Promise<Buffer> {
  const content = noise(seed, bytes);
  const chunks: Uint8Array[] = [];
  for await (const chunk of packTar([{ kind: 'file', path: 'data', mode: 0o644, size: bytes, content }]))
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function makePayload(
  options: BenchReleaseOptions,
  images: ReadonlyMap<string, string>,
): Promise<string> {
  const manifests = join(options.dir, `manifests-${options.version}`, 'operator');
  await mkdir(manifests, { recursive: true });
  await writeFile(join(manifests, 'ns.yaml'), 'apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n');
  const tags = [...images.keys()].map((name) => ({
    name,
    from: { kind: 'DockerImage', name: `bench.example/${name}` },
  }));
  await writeFile(
    join(manifests, 'image-references'),
    JSON.stringify({ kind: 'ImageStream', apiVersion: 'image.openshift.io/v1', spec: { tags } }),
  );
  const out = { directory: join(options.dir, `payload-${options.version}`), reference: options.version };
  await buildPayload({
    version: options.version,
    previous: options.previous,
    manifests: [manifests],
    images,
    out,
    scratch: options.dir,
    access: { env: {} },
  });
  return `oci:${out.directory}:${options.version}`;
}
