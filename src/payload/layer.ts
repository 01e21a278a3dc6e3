import { createHash } from 'node:crypto';
import { PassThrough, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { type Extract, extract, type Header } from 'tar-stream';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { Descriptor } from '../oci/manifest.ts';
import type { ContentSource } from '../oci/source.ts';

export interface LayerLimits {
  /** Bytes of the tar, unpacked. */
  readonly unpackedBytesMax: number;
  readonly entriesMax: number;
  /** Bytes of one file that is kept. */
  readonly fileBytesMax: number;
  /** Bytes of all files that are kept. */
  readonly keptBytesMax: number;
}

/** An entry of a layer. */
export interface LayerEntry {
  /** Without leading `/` or `./` and without a trailing slash. */
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'other';
  /** Content of a file. */
  readonly data: Uint8Array;
}

export interface LayerOptions {
  /** For messages, for instance 'image web'. */
  readonly what: string;
  readonly wanted: (path: string) => boolean;
  readonly limits: LayerLimits;
}

/**
 * The entries of a layer that `wanted` picks by their path, in the order of the tar; files are kept in memory.
 * The whole layer is read and hashed: nothing is returned of a layer whose digest does not match. Plain, gzip and
 * zstd are told apart by their first bytes, since media types are sometimes wrong about them.
 *
 * Errors: ContentMissing, DigestMismatch, InputInvalid (no tar), InputTooLarge, MediaLost.
 */
export async function readLayer(
  source: ContentSource,
  repository: string,
  layer: Descriptor,
  options: LayerOptions,
): Promise<LayerEntry[]> {
  const { what } = options;
  let digest: Digest | undefined;
  try {
    const bytes = hashed(await open(source, repository, layer, what), (found) => {
      digest = found;
    });
    const { unpacker, stream } = await chooseUnpacker(bytes);
    const tar = extract();
    const feeding = pipeline(stream, unpacker, limited(options), tar);
    const [entries] = await Promise.all([keepWanted(tar, options), feeding]);
    if (digest !== layer.digest) throw mismatch(what, layer);
    return entries;
  } catch (error) {
    if (isSluiceError(error) && !isSluiceError(error, 'InputInvalid', 'InputTooLarge')) throw error;
    // A changed byte shows as a broken archive first; only the digest of all the bytes tells damage from a bad image.
    if ((await digestOfBlob(source, repository, layer, what)) !== layer.digest) throw mismatch(what, layer);
    if (isSluiceError(error)) throw error;
    throw new SluiceError(
      'InputInvalid',
      `${what}: the layer ${layer.digest} is no tar: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

async function open(
  source: ContentSource,
  repository: string,
  layer: Descriptor,
  what: string,
): Promise<AsyncIterable<Uint8Array>> {
  const blob = await source.blob(repository, layer.digest);
  if (blob !== undefined) return blob.stream;
  throw new SluiceError('ContentMissing', `${what}: ${source.label} does not hold the layer ${layer.digest}`);
}

async function* hashed(
  stream: AsyncIterable<Uint8Array>,
  onEnd: (digest: Digest) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of stream) {
    hash.update(chunk);
    yield chunk;
  }
  onEnd(`sha256:${hash.digest('hex')}`);
}

async function digestOfBlob(
  source: ContentSource,
  repository: string,
  layer: Descriptor,
  what: string,
): Promise<Digest> {
  let digest: Digest | undefined;
  const stream = hashed(await open(source, repository, layer, what), (found) => {
    digest = found;
  });
  for await (const _ of stream);
  return digest ?? layer.digest;
}

async function chooseUnpacker(
  bytes: AsyncGenerator<Uint8Array>,
): Promise<{ unpacker: Transform; stream: AsyncGenerator<Uint8Array> }> {
  const head: Uint8Array[] = [];
  let size = 0;
  while (size < 4) {
    const next = await bytes.next();
    if (next.done === true) break;
    head.push(next.value);
    size += next.value.length;
  }
  const start = Buffer.concat(head.map((chunk) => chunk.subarray(0, 4)));
  async function* again(): AsyncGenerator<Uint8Array> {
    try {
      yield* head;
      yield* bytes;
    } finally {
      // Whoever stops within the head leaves a stream that only this ends, with the file that it reads.
      await bytes.return(undefined);
    }
  }
  return { unpacker: unpackerFor(start), stream: again() };
}

function unpackerFor(start: Buffer): Transform {
  if (start.length >= 2 && start.readUInt16BE(0) === 0x1f8b) return createGunzip(); // RFC 1952 section 2.3.1
  if (start.length >= 4 && start.readUInt32LE(0) === 0xfd2fb528) return createZstdDecompress(); // RFC 8878 section 3.1.1
  return new PassThrough();
}

function limited(options: LayerOptions) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { unpackedBytesMax } = options.limits;
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > unpackedBytesMax) throw tooLarge(options.what, `unpacked ${unpackedBytesMax} bytes`);
      yield chunk;
    }
  };
}

async function keepWanted(tar: Extract, options: LayerOptions): Promise<LayerEntry[]> {
  const { limits, what } = options;
  const kept: LayerEntry[] = [];
  let entries = 0;
  let keptBytes = 0;
  for await (const entry of tar) {
    entries += 1;
    if (entries > limits.entriesMax) throw tooLarge(what, `${limits.entriesMax} entries`);
    const path = plainPath(entry.header.name);
    if (!options.wanted(path)) {
      entry.resume();
      continue;
    }
    const kind = kindOf(entry.header);
    const size = kind === 'file' ? (entry.header.size ?? 0) : 0;
    keptBytes += size;
    if (size > limits.fileBytesMax) throw tooLarge(what, `${limits.fileBytesMax} bytes in the file /${path}`);
    if (keptBytes > limits.keptBytesMax)
      throw tooLarge(what, `${limits.keptBytesMax} bytes in the files that count`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry) chunks.push(chunk as Uint8Array);
    kept.push({ path, kind, data: kind === 'file' ? Buffer.concat(chunks) : new Uint8Array() });
  }
  return kept;
}

function kindOf(header: Header): LayerEntry['kind'] {
  switch (header.type) {
    case 'file':
    case 'contiguous-file':
      return 'file';
    case 'directory':
      return 'directory';
    default:
      return 'other';
  }
}

function plainPath(name: string): string {
  return name.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
}

function mismatch(what: string, layer: Descriptor): SluiceError {
  return new SluiceError('DigestMismatch', `${what}: the layer ${layer.digest} holds other bytes`);
}

function tooLarge(what: string, limit: string): SluiceError {
  return new SluiceError('InputTooLarge', `${what}: a layer has more than ${limit}`);
}
