import { createHash, randomBytes } from 'node:crypto';
import { copyFile, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fsyncDirectory, writeDurable } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { type Digest, digestOf, hexOf, isDigest, referrersTag } from './digest.ts';
import { parseStrictJson } from './json.ts';
import {
  type Descriptor,
  descriptor,
  isManifestType,
  manifestBytesMax,
  mediaTypes,
  parseManifest,
  parseManifestOf,
  referrerDescriptor,
} from './manifest.ts';
import type { BlobReader, ContentSource, RawManifest } from './source.ts';

/** image-spec, annotations.md: how index.json names a manifest. */
export const refNameAnnotation = 'org.opencontainers.image.ref.name';

const indexBytesMax = 16 * 1024 * 1024;
const readBytes = 1024 * 1024;

export interface Layout extends ContentSource {
  /** The manifest that a reference names; '' names the only one. Errors: NotFound. */
  resolve(reference: string): Promise<Descriptor>;
  /** Everything that index.json lists. */
  entries(): Promise<readonly Descriptor[]>;
}

/**
 * Reads an OCI image layout (image-spec, image-layout.md). It has no repositories: any name reads from the one
 * layout, and tags are the names in index.json. Errors: NotFound, InputInvalid.
 */
export async function openLayout(directory: string): Promise<Layout> {
  await readVersion(directory);
  const label = `the layout ${directory}`;
  const entries = () => readEntries(directory);

  async function manifestBytes(digest: Digest): Promise<RawManifest | undefined> {
    const path = blobPath(directory, digest);
    const size = await sizeOf(path);
    if (size === undefined) return undefined;
    if (size > manifestBytesMax) {
      throw new SluiceError('InputTooLarge', `${label}: the manifest ${digest} has ${size} bytes`);
    }
    const bytes = await readFile(path);
    if (digestOf(bytes) !== digest) {
      throw new SluiceError('DigestMismatch', `${label}: the manifest ${digest} has been changed`);
    }
    const listed = (await entries()).find((entry) => entry.digest === digest);
    const { mediaType } = parseManifestOf(`${label}: ${digest}`, bytes, listed?.mediaType);
    return { digest, mediaType, bytes };
  }

  return {
    label,
    entries,
    async resolve(reference) {
      const listed = await entries();
      const found =
        reference === ''
          ? listed.filter((entry) => !isReferrersTag(nameOf(entry)))
          : named(listed, reference);
      const [first] = found;
      if (first !== undefined && new Set(found.map((entry) => entry.digest)).size === 1) return first;
      const names = listed.map((entry) => nameOf(entry) ?? entry.digest).slice(0, 10);
      throw new SluiceError(
        'NotFound',
        reference === '' ? `${label} holds several images` : `${label} has no image "${reference}"`,
        { next: `Name one of: ${names.join(', ') || '(it is empty)'}.` },
      );
    },
    async manifest(_repository, reference) {
      const digest = isDigest(reference) ? reference : named(await entries(), reference)[0]?.digest;
      return digest === undefined ? undefined : await manifestBytes(digest);
    },
    async blob(_repository, digest, options = {}) {
      return await openFile(blobPath(directory, digest), options);
    },
    async tags() {
      const names = (await entries()).map(nameOf).filter((name) => name !== undefined);
      return [...new Set(names)].sort();
    },
    async referrers(_repository, digest) {
      const listed = await entries();
      const found = new Map<Digest, Descriptor>();
      for (const entry of listed) {
        // What a layout lists besides, of any type (image-layout.md), refers to nothing.
        if (!isManifestType(entry.mediaType)) continue;
        const raw = await manifestBytes(entry.digest);
        if (raw === undefined) continue; // A layout may lack what it lists (image-layout.md).
        const manifest = parseManifest(raw.bytes, raw.mediaType);
        if (manifest.subject?.digest === digest) {
          found.set(raw.digest, referrerDescriptor(raw.digest, raw.bytes.length, manifest));
        }
        if (manifest.kind === 'index' && nameOf(entry) === referrersTag(digest)) {
          for (const child of manifest.manifests) if (child.digest !== digest) found.set(child.digest, child);
        }
      }
      return [...found.values()];
    },
  };
}

export interface LayoutWriter {
  /** Stores bytes. */
  blob(bytes: Uint8Array, mediaType: string): Promise<Descriptor>;
  /** Copies a file in. */
  blobFile(path: string, mediaType: string): Promise<Descriptor>;
  /** Stores a manifest from its value, or from exact bytes. */
  manifest(value: object | Uint8Array, mediaType: string): Promise<Descriptor>;
  /** Names a manifest in index.json; another that had the name loses it. '' lists it without a name. */
  tag(reference: string, descriptor: Descriptor): Promise<void>;
}

/** Writes to an OCI image layout, a new one or one that is there. Errors: DiskFull. */
export async function createLayoutWriter(directory: string): Promise<LayoutWriter> {
  await mkdir(join(directory, 'blobs', 'sha256'), { recursive: true });
  if ((await sizeOf(join(directory, 'index.json'))) === undefined) {
    await writeEntries(directory, []);
    await writeDurable(join(directory, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  }
  const writer: LayoutWriter = {
    async blob(bytes, mediaType) {
      const digest = digestOf(bytes);
      const path = blobPath(directory, digest);
      if ((await sizeOf(path)) !== bytes.length) await writeDurable(path, bytes);
      return { mediaType, digest, size: bytes.length };
    },
    async blobFile(path, mediaType) {
      const temporary = join(directory, 'blobs', `.${randomBytes(6).toString('hex')}.tmp`);
      try {
        await copyFile(path, temporary);
        const { digest, size } = await flushAndHash(temporary);
        await rename(temporary, blobPath(directory, digest));
        await fsyncDirectory(join(directory, 'blobs', 'sha256'));
        return { mediaType, digest, size };
      } catch (error) {
        await rm(temporary, { force: true });
        if (systemCode(error) !== 'ENOSPC') throw error;
        throw new SluiceError('DiskFull', `no space left to write to ${directory}`, { cause: error });
      }
    },
    manifest: (value, mediaType) =>
      writer.blob(value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value)), mediaType),
    async tag(reference, target) {
      const others = (await readEntries(directory)).filter((entry) =>
        reference === '' ? entry.digest !== target.digest : nameOf(entry) !== reference,
      );
      const annotations =
        reference === '' ? target.annotations : { ...target.annotations, [refNameAnnotation]: reference };
      const entry = annotations === undefined ? target : { ...target, annotations };
      await writeEntries(directory, [...others, entry]);
    },
  };
  return writer;
}

async function readVersion(directory: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(join(directory, 'oci-layout'), 'utf8');
  } catch (error) {
    throw new SluiceError('NotFound', `${directory} is not an OCI image layout: it has no file oci-layout`, {
      cause: error,
    });
  }
  const version = /"imageLayoutVersion"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? 'no version';
  if (!version.startsWith('1.')) {
    throw new SluiceError('InputInvalid', `${directory} is an image layout of ${version}, not of version 1`);
  }
}

async function readEntries(directory: string): Promise<Descriptor[]> {
  const path = join(directory, 'index.json');
  const size = await sizeOf(path);
  if (size === undefined) throw new SluiceError('NotFound', `${directory} has no index.json`);
  if (size > indexBytesMax) throw new SluiceError('InputTooLarge', `${path} has ${size} bytes`);
  const document = parseStrictJson(await readFile(path), path) as { manifests?: unknown } | null;
  if (!Array.isArray(document?.manifests))
    throw new SluiceError('InputInvalid', `${path} lists no manifests`);
  return document.manifests.map((entry, index) => descriptor(entry, `${path}: manifests[${index}]`));
}

async function writeEntries(directory: string, manifests: readonly Descriptor[]): Promise<void> {
  const index = { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests };
  await writeDurable(join(directory, 'index.json'), JSON.stringify(index));
}

async function openFile(
  path: string,
  options: { offset?: number; signal?: AbortSignal },
): Promise<BlobReader | undefined> {
  const size = await sizeOf(path);
  if (size === undefined) return undefined;
  return { size, stream: fileBytes(path, options) };
}

async function* fileBytes(
  path: string,
  options: { offset?: number; signal?: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    for (let at = options.offset ?? 0; ; ) {
      options.signal?.throwIfAborted();
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(readBytes), 0, readBytes, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

async function flushAndHash(path: string): Promise<{ digest: Digest; size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of fileBytes(path, {})) {
    hash.update(chunk);
    size += chunk.length;
  }
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { digest: `sha256:${hash.digest('hex')}`, size };
}

function blobPath(directory: string, digest: Digest): string {
  return join(directory, 'blobs', 'sha256', hexOf(digest));
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const facts = await stat(path);
    return facts.isFile() ? facts.size : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** What a reference names: the full name, or its tag where tools wrote a whole image name. */
function named(entries: readonly Descriptor[], reference: string): Descriptor[] {
  const exact = entries.filter((entry) => nameOf(entry) === reference);
  return exact.length > 0 ? exact : entries.filter((entry) => nameOf(entry)?.endsWith(`:${reference}`));
}

function nameOf(entry: Descriptor): string | undefined {
  return entry.annotations?.[refNameAnnotation];
}

function isReferrersTag(name: string | undefined): boolean {
  return name !== undefined && /^sha256-[0-9a-f]{64}(?:\.|$)/.test(name);
}
