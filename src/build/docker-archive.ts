import { SluiceError } from '../errors/error.ts';
import { counted } from '../observe/count.ts';
import { type Digest, digestOf, isDigest } from '../oci/digest.ts';
import { parseConfig } from '../oci/image.ts';
import { parseStrictJson } from '../oci/json.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import type { BlobReader, ContentSource, RawManifest } from '../oci/source.ts';
import { sha256OfFile, type Tree, type TreeFile } from '../store/tree.ts';

// The archives that `docker save` and `podman save` write: manifest.json names for each image its configuration and
// its layers, mostly not packed (docker's store of containerd packs them). Such an image has no manifest of its own, so
// it gets one here that holds the very same bytes: the same archive always has the same digest.

const indexFile = 'manifest.json';
const indexBytesMax = 16 * 1024 * 1024;
const configBytesMax = 4 * 1024 * 1024;
const imagesMax = 1024;
const layersMax = 1024;
const chunkBytes = 1024 * 1024;

export interface DockerArchive extends ContentSource {
  /** The image of a tag (`name:tag`), or the only one where it is ''. Errors: NotFound. */
  resolve(reference: string): Descriptor;
}

interface ArchivedImage {
  readonly names: readonly string[];
  readonly descriptor: Descriptor;
}

/** @param tree is closed by the caller. Errors: InputInvalid, InputTooLarge. */
export async function openDockerArchive(tree: Tree): Promise<DockerArchive> {
  const label = `the archive ${tree.label}`;
  const manifests = new Map<Digest, RawManifest>();
  const places = new Map<Digest, string>();
  const images: ArchivedImage[] = [];
  const list = parseStrictJson(
    await readWhole(tree, indexFile, indexBytesMax),
    `${tree.label}: ${indexFile}`,
  );
  if (!Array.isArray(list) || list.length > imagesMax) {
    throw new SluiceError('InputInvalid', `${tree.label}: ${indexFile} lists no images`);
  }
  for (const [index, value] of list.entries()) {
    const entry = readEntry(value, `${tree.label}: ${indexFile}[${index}]`);
    const raw = await composeManifest(tree, entry, places);
    manifests.set(raw.digest, raw);
    const descriptor = { mediaType: raw.mediaType, digest: raw.digest, size: raw.bytes.length };
    images.push({ names: entry.names, descriptor });
  }
  const find = (reference: string) =>
    images.filter((image) =>
      image.names.some(
        (name) => name === reference || name.endsWith(`/${reference}`) || name.endsWith(`:${reference}`),
      ),
    );
  return {
    label,
    resolve(reference) {
      const found = reference === '' ? images : find(reference);
      const [first] = found;
      if (first !== undefined && new Set(found.map((each) => each.descriptor.digest)).size === 1)
        return first.descriptor;
      const names = images.flatMap((image) => image.names).slice(0, 10);
      throw new SluiceError(
        'NotFound',
        reference === '' ? `${label} holds several images` : `${label} has no image "${reference}"`,
        { next: `Name one of: ${names.join(', ') || '(none has a name)'}.` },
      );
    },
    async manifest(_repository, reference) {
      const digest = isDigest(reference) ? reference : find(reference)[0]?.descriptor.digest;
      return digest === undefined ? undefined : manifests.get(digest);
    },
    async blob(_repository, digest, options = {}) {
      const path = places.get(digest);
      return path === undefined ? undefined : await openBlob(tree, path, options.offset ?? 0);
    },
    tags: async () => images.flatMap((image) => image.names).sort(),
    referrers: async () => [],
  };
}

interface Entry {
  readonly config: string;
  readonly names: readonly string[];
  readonly layers: readonly string[];
}

async function composeManifest(tree: Tree, entry: Entry, places: Map<Digest, string>): Promise<RawManifest> {
  const configBytes = await readWhole(tree, entry.config, configBytesMax);
  const { diffIds } = parseConfig(configBytes);
  if (diffIds.length !== entry.layers.length) {
    throw new SluiceError(
      'InputInvalid',
      `${tree.label}: ${entry.config} tells of ${counted(diffIds.length, 'layer')}, not of ${entry.layers.length}`,
    );
  }
  const config = { mediaType: mediaTypes.ociConfig, digest: digestOf(configBytes), size: configBytes.length };
  places.set(config.digest, entry.config);
  const layers: Descriptor[] = [];
  for (const [index, path] of entry.layers.entries()) {
    const digest = diffIds[index] as Digest;
    // Docker writes a layer that stands twice once, and a link for the other: the same layer is at hand then.
    const place = (await hasFile(tree, path))
      ? path
      : (places.get(digest) ?? samePlace(entry, diffIds, digest, path));
    const file = await open(tree, place);
    try {
      const layer = await layerOf(file, digest);
      layers.push(layer);
      places.set(layer.digest, place);
    } finally {
      await file.close();
    }
  }
  const manifest = { schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers };
  const bytes = Buffer.from(JSON.stringify(manifest));
  return { digest: digestOf(bytes), mediaType: mediaTypes.ociManifest, bytes };
}

function samePlace(entry: Entry, diffIds: readonly Digest[], digest: Digest, path: string): string {
  return entry.layers.find((other, index) => other !== path && diffIds[index] === digest) ?? path;
}

/** A layer that is not packed has the digest that the configuration names; of another one its own bytes decide. */
async function layerOf(file: TreeFile, diffId: Digest): Promise<Descriptor> {
  const start = Buffer.from(await file.read(0, 4)).toString('hex');
  const mediaType = start.startsWith('1f8b')
    ? mediaTypes.ociLayerGzip
    : start === '28b52ffd'
      ? mediaTypes.ociLayerZstd
      : undefined;
  if (mediaType === undefined) return { mediaType: mediaTypes.ociLayerTar, digest: diffId, size: file.size };
  return { mediaType, digest: `sha256:${await sha256OfFile(file)}`, size: file.size };
}

async function openBlob(tree: Tree, path: string, offset: number): Promise<BlobReader> {
  const file = await open(tree, path);
  return { size: file.size, stream: chunks(file, offset), close: () => file.close() };
}

async function* chunks(file: TreeFile, offset: number): AsyncGenerator<Uint8Array> {
  try {
    for (let at = offset; at < file.size; ) {
      const chunk = await file.read(at, Math.min(chunkBytes, file.size - at));
      if (chunk.length === 0) return;
      at += chunk.length;
      yield chunk;
    }
  } finally {
    await file.close();
  }
}

async function hasFile(tree: Tree, path: string): Promise<boolean> {
  const file = await tree.open(path);
  await file?.close();
  return file !== undefined;
}

async function open(tree: Tree, path: string): Promise<TreeFile> {
  const file = await tree.open(path);
  if (file !== undefined) return file;
  throw new SluiceError('InputInvalid', `${tree.label} names ${path}, which is not in it`);
}

async function readWhole(tree: Tree, path: string, bytesMax: number): Promise<Uint8Array> {
  const file = await open(tree, path);
  try {
    if (file.size > bytesMax)
      throw new SluiceError('InputTooLarge', `${tree.label}: ${path} has ${file.size} bytes`);
    return await file.read(0, file.size);
  } finally {
    await file.close();
  }
}

function readEntry(value: unknown, where: string): Entry {
  const { Config: config, RepoTags: names, Layers: layers } = (value ?? {}) as Record<string, unknown>;
  const isTexts = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((each) => typeof each === 'string');
  if (typeof config !== 'string' || !isTexts(layers) || layers.length > layersMax) {
    throw new SluiceError('InputInvalid', `${where} names no configuration or no layers`);
  }
  return { config, layers, names: isTexts(names) ? names : [] };
}
