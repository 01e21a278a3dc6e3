import { createHash, type Hash } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { extract } from 'tar-stream';
import { SluiceError, systemCode } from '../errors/error.ts';
import { counted } from '../observe/count.ts';
import { type Digest, hexOf } from './digest.ts';
import { type ImageConfig, ownArchitecture, parseConfig, resolveImage } from './image.ts';
import type { Descriptor } from './manifest.ts';
import { readBlob } from './read.ts';
import { createRootfs, type Rootfs } from './rootfs.ts';
import type { ContentSource } from './source.ts';

export interface UnpackOptions {
  /** Default: linux on this machine's architecture. Used where the digest is that of an index. */
  readonly platform?: { readonly os: string; readonly architecture: string };
  /** Bytes of all layers together, uncompressed. Default 32 GiB. */
  readonly bytesMax?: number;
  /** Files of all layers together. Default 1 000 000. */
  readonly entriesMax?: number;
  readonly signal?: AbortSignal;
}

const configBytesMax = 4 * 1024 * 1024;
const defaultBytesMax = 32 * 1024 ** 3;
const defaultEntriesMax = 1_000_000;

/**
 * Puts the layers of an image into the empty directory `rootfs` (image-spec, layer.md), each byte verified before
 * the call succeeds; on an error the directory is emptied. Owners are those of this process, devices and setuid
 * bits are left out: what runs there runs as an unprivileged user.
 * Errors: ContentMissing, DigestMismatch, InputInvalid, InputTooLarge, DiskFull.
 */
export async function unpackImage(
  source: ContentSource,
  repository: string,
  digest: Digest,
  rootfs: string,
  options: UnpackOptions = {},
): Promise<ImageConfig> {
  const platform = options.platform ?? { os: 'linux', architecture: ownArchitecture() };
  const { manifest } = await resolveImage(source, repository, digest, platform);
  const config = parseConfig(await readBlob(source, repository, manifest.config.digest, configBytesMax));
  if (config.diffIds.length !== manifest.layers.length) {
    throw new SluiceError(
      'InputInvalid',
      `${repository}@${digest} has ${counted(manifest.layers.length, 'layer')}, and its configuration names ${config.diffIds.length}`,
    );
  }
  await mkdir(rootfs, { recursive: true });
  const budget = {
    bytes: options.bytesMax ?? defaultBytesMax,
    entries: options.entriesMax ?? defaultEntriesMax,
  };
  try {
    const root = createRootfs(rootfs);
    for (const [index, layer] of manifest.layers.entries()) {
      const diffId = config.diffIds[index];
      await unpackLayer({ source, repository, layer, diffId, root, budget, signal: options.signal });
    }
    await root.finish();
    return config;
  } catch (error) {
    for (const name of await readdir(rootfs)) await rm(join(rootfs, name), { recursive: true, force: true });
    if (systemCode(error) !== 'ENOSPC') throw error;
    throw new SluiceError('DiskFull', `out of disk space while ${repository} was unpacked to ${rootfs}`, {
      cause: error,
    });
  }
}

interface LayerWork {
  readonly source: ContentSource;
  readonly repository: string;
  readonly layer: Descriptor;
  readonly diffId: Digest | undefined;
  readonly root: Rootfs;
  /** What all layers together may still have. */
  readonly budget: { bytes: number; entries: number };
  readonly signal: AbortSignal | undefined;
}

async function unpackLayer(work: LayerWork): Promise<void> {
  const { layer, repository, budget, root } = work;
  const blob = await work.source.blob(
    repository,
    layer.digest,
    work.signal === undefined ? {} : { signal: work.signal },
  );
  if (blob === undefined) {
    throw new SluiceError(
      'ContentMissing',
      `${work.source.label} has no layer ${repository}@${layer.digest}`,
    );
  }
  const packedHash = createHash('sha256');
  const plainHash = createHash('sha256');
  const compressed = hashing(blob.stream, packedHash, layer.size, `the layer ${layer.digest}`);
  const { head, rest } = await peek(compressed);
  const archive = extract();
  const plain = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      budget.bytes -= chunk.length;
      if (budget.bytes < 0)
        throw new SluiceError('InputTooLarge', `${repository} unpacks to more than is allowed`);
      plainHash.update(chunk);
      yield chunk;
    }
  };
  const decompress = decompressorFor(head);
  const input = Readable.from(rest);
  const feeding =
    decompress === undefined ? pipeline(input, plain, archive) : pipeline(input, decompress, plain, archive);
  feeding.catch((error: Error) => archive.destroy(error));
  root.startLayer();
  try {
    for await (const entry of archive) {
      budget.entries -= 1;
      if (budget.entries < 0)
        throw new SluiceError('InputTooLarge', `${repository} has more files than is allowed`);
      await root.add(entry.header, entry as unknown as AsyncIterable<Uint8Array>);
      entry.resume();
    }
    await feeding;
  } catch (error) {
    archive.destroy();
    // Where the bytes were wrong, what the archive says about them is not the reason.
    throw await feeding.then(
      () => error,
      (cause: unknown) => (cause instanceof SluiceError ? cause : explain(error, layer.digest)),
    );
  }
  if (packedHash.digest('hex') !== hexOf(layer.digest)) {
    throw new SluiceError('DigestMismatch', `the layer ${repository}@${layer.digest} has other bytes`);
  }
  if (`sha256:${plainHash.digest('hex')}` !== work.diffId) {
    throw new SluiceError(
      'DigestMismatch',
      `the layer ${layer.digest} unpacks to other bytes than its image says`,
    );
  }
}

function explain(error: unknown, digest: Digest): unknown {
  if (
    error instanceof SluiceError ||
    systemCode(error) === 'ENOSPC' ||
    (error as Error).name === 'AbortError'
  ) {
    return error;
  }
  return new SluiceError('InputInvalid', `the layer ${digest} is no archive: ${(error as Error).message}`, {
    cause: error,
  });
}

async function* hashing(
  stream: AsyncIterable<Uint8Array>,
  hash: Hash,
  size: number,
  what: string,
): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const chunk of stream) {
    received += chunk.length;
    if (received > size) throw new SluiceError('DigestMismatch', `${what} has more than its ${size} bytes`);
    hash.update(chunk);
    yield chunk;
  }
  if (received !== size)
    throw new SluiceError('DigestMismatch', `${what} ended after ${received} of ${size} bytes`);
}

/** The first chunk, and a stream that starts with it. */
async function peek(
  stream: AsyncGenerator<Uint8Array>,
): Promise<{ head: Uint8Array; rest: AsyncGenerator<Uint8Array> }> {
  const first = await stream.next();
  const head = first.done === true ? new Uint8Array() : first.value;
  const rest = (async function* () {
    try {
      if (head.length > 0) yield head;
      yield* stream;
    } finally {
      await stream.return(undefined);
    }
  })();
  return { head, rest };
}

/** By the magic number, since media types of layers are not always true. RFC 1952 §2.3.1, RFC 8878 §3.1.1. */
function decompressorFor(head: Uint8Array): Transform | undefined {
  const magic = Buffer.from(head.subarray(0, 4)).toString('hex');
  if (magic.startsWith('1f8b')) return createGunzip();
  return magic === '28b52ffd' ? createZstdDecompress() : undefined;
}
