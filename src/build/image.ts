import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { ownArchitecture, resolveImage } from '../oci/image.ts';
import { createLayoutWriter, type LayoutWriter } from '../oci/layout.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import { readBlob } from '../oci/read.ts';
import type { ContentSource } from '../oci/source.ts';
import { type ImageFile, packLayer } from './layer.ts';
import type { LayoutTarget } from './target.ts';

export type { ImageFile } from './layer.ts';

const configBytesMax = 1024 * 1024;

/** What a container of the image runs (image-spec, config.md). */
export interface ImageRunConfig {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  /** `NAME=value` each. */
  readonly env?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  readonly user?: string;
}

/** An image to put layers upon. */
export interface BaseImage {
  readonly content: ContentSource;
  readonly repository: string;
  readonly digest: Digest;
}

export interface BuildImageOptions {
  readonly out: LayoutTarget;
  readonly files: readonly ImageFile[];
  readonly config?: ImageRunConfig;
  /** As OCI names it; default `amd64`, or that of the base. */
  readonly architecture?: string;
  readonly base?: BaseImage;
  /** Permission bits of directories that are added for the files; default 0o755. */
  readonly directoryMode?: number;
}

/**
 * Builds an image of one layer, on a base or on nothing, into an OCI image layout. It holds no times and no names
 * of this machine: the same input gives the same digest.
 *
 * Errors: InputInvalid, NotFound, DiskFull; of the base: ContentMissing, DigestMismatch.
 */
export async function buildImage(options: BuildImageOptions): Promise<Descriptor> {
  const writer = await createLayoutWriter(options.out.directory);
  const base =
    options.base === undefined ? undefined : await copyBase(writer, options.base, options.architecture);
  const layer = await packLayer(
    writer,
    options.files,
    options.directoryMode === undefined ? {} : { directoryMode: options.directoryMode },
  );
  const config = Buffer.from(JSON.stringify(configOf(options, base?.config, layer.diffId)));
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: await writer.blob(config, mediaTypes.ociConfig),
    layers: [...(base?.layers ?? []), layer.descriptor],
  };
  const descriptor = await writer.manifest(manifest, mediaTypes.ociManifest);
  await writer.tag(options.out.reference, descriptor);
  return descriptor;
}

interface RawConfig {
  readonly architecture?: string;
  readonly os?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly rootfs?: { readonly diff_ids?: readonly string[] };
  readonly history?: readonly object[];
}

function configOf(options: BuildImageOptions, base: RawConfig | undefined, diffId: Digest): object {
  const { entrypoint, cmd, env, labels, workingDir, user } = options.config ?? {};
  const inherited = base?.config ?? {};
  const run = {
    ...inherited,
    ...(user === undefined ? {} : { User: user }),
    ...(env === undefined ? {} : { Env: [...((inherited.Env as string[] | undefined) ?? []), ...env] }),
    ...(entrypoint === undefined ? {} : { Entrypoint: entrypoint }),
    ...(cmd === undefined ? {} : { Cmd: cmd }),
    ...(workingDir === undefined ? {} : { WorkingDir: workingDir }),
    ...(labels === undefined
      ? {}
      : { Labels: sorted({ ...(inherited.Labels as Record<string, string> | undefined), ...labels }) }),
  };
  return {
    architecture: options.architecture ?? base?.architecture ?? 'amd64',
    os: base?.os ?? 'linux',
    config: run,
    rootfs: { type: 'layers', diff_ids: [...(base?.rootfs?.diff_ids ?? []), diffId] },
    ...(base?.history === undefined ? {} : { history: [...base.history, { created_by: 'sluice' }] }),
  };
}

function sorted(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Brings the layers of the base into the layout, as the OCI types they are in content. */
async function copyBase(
  writer: LayoutWriter,
  base: BaseImage,
  architecture: string | undefined,
): Promise<{ config: RawConfig; layers: Descriptor[] }> {
  const platform = { os: 'linux', architecture: architecture ?? ownArchitecture() };
  const { manifest } = await resolveImage(base.content, base.repository, base.digest, platform);
  const bytes = await readBlob(base.content, base.repository, manifest.config.digest, configBytesMax);
  const layers: Descriptor[] = [];
  for (const layer of manifest.layers) layers.push(await copyLayer(writer, base, layer));
  return { config: JSON.parse(Buffer.from(bytes).toString('utf8')) as RawConfig, layers };
}

async function copyLayer(writer: LayoutWriter, base: BaseImage, layer: Descriptor): Promise<Descriptor> {
  const blob = await base.content.blob(base.repository, layer.digest);
  if (blob === undefined) {
    throw new SluiceError(
      'ContentMissing',
      `the base: ${base.content.label} does not hold the layer ${layer.digest}`,
    );
  }
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-base-'));
  try {
    const path = join(scratch, 'layer');
    const hash = createHash('sha256');
    const hashed = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(Readable.from(blob.stream), hashed, createWriteStream(path));
    if (`sha256:${hash.digest('hex')}` !== layer.digest) {
      throw new SluiceError('DigestMismatch', `the base: the layer ${layer.digest} holds other bytes`);
    }
    const types: Record<string, string> = { [mediaTypes.dockerLayerGzip]: mediaTypes.ociLayerGzip };
    return await writer.blobFile(path, types[layer.mediaType] ?? layer.mediaType);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
