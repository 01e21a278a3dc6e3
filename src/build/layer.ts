import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { LayoutWriter } from '../oci/layout.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import { isTreePath } from '../store/tree.ts';
import { comparePaths, packTar, type TarEntry } from './tar.ts';

/** A file of an image. Exactly one of `data`, `from`, `target` says what it is. */
export interface ImageFile {
  /** Absolute or relative to the root of the image: `/usr/bin/check`. */
  readonly path: string;
  /** Permission bits; default 0o644. */
  readonly mode?: number;
  readonly data?: string | Uint8Array;
  /** A file on this machine whose content it gets. */
  readonly from?: string;
  /** Makes it a symbolic link to this target. */
  readonly target?: string;
}

const fileMode = 0o644;
const directoryMode = 0o755;
/** Level of gzip: what image builders use. */
const gzipLevel = 6;

export interface PackedLayer {
  readonly descriptor: Descriptor;
  /** Digest of the layer when it is not packed. */
  readonly diffId: Digest;
}

/**
 * Packs files into a layer of an OCI layout: gzip, sorted, times and owners fixed, directories added where they are
 * missing. The same files give the same digest. Errors: InputInvalid, NotFound.
 *
 * @param options.directoryMode permission bits of added directories; default 0o755.
 */
export async function packLayer(
  writer: LayoutWriter,
  files: readonly ImageFile[],
  options: { directoryMode?: number } = {},
): Promise<PackedLayer> {
  const entries = await layerEntries(files, options.directoryMode ?? directoryMode);
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-layer-'));
  try {
    const path = join(scratch, 'layer.tar.gz');
    const hash = createHash('sha256');
    const hashed = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(packTar(entries), hashed, createGzip({ level: gzipLevel }), createWriteStream(path));
    const descriptor = await writer.blobFile(path, mediaTypes.ociLayerGzip);
    return { descriptor, diffId: `sha256:${hash.digest('hex')}` };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function layerEntries(files: readonly ImageFile[], parentMode: number): Promise<TarEntry[]> {
  const entries = new Map<string, TarEntry>();
  for (const file of files) {
    const path = file.path.replace(/^\/+/, '');
    if (path === '' || !isTreePath(path)) {
      throw new SluiceError('InputInvalid', `"${file.path}" cannot be the path of a file in an image`);
    }
    if (entries.has(path)) throw new SluiceError('InputInvalid', `/${path} is given twice`);
    entries.set(path, await entryOf(path, file));
  }
  for (const path of [...entries.keys()]) {
    for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      const parent = path.slice(0, slash);
      const known = entries.get(parent);
      if (known === undefined) entries.set(parent, { kind: 'directory', path: parent, mode: parentMode });
      else if (known.kind !== 'directory') {
        throw new SluiceError('InputInvalid', `/${parent} is a file, and /${path} would be below it`);
      }
    }
  }
  return [...entries.values()].sort((a, b) => comparePaths(a.path, b.path));
}

async function entryOf(path: string, file: ImageFile): Promise<TarEntry> {
  if (file.target !== undefined) return { kind: 'link', path, target: file.target };
  const mode = file.mode ?? fileMode;
  if (file.from === undefined) {
    const content = Buffer.from(file.data ?? '');
    return { kind: 'file', path, mode, size: content.length, content };
  }
  const facts = await stat(file.from).catch((cause: unknown) => {
    throw new SluiceError('NotFound', `${file.from}, the content of /${path}, cannot be read`, { cause });
  });
  if (!facts.isFile()) throw new SluiceError('InputInvalid', `${file.from} is not a regular file`);
  return { kind: 'file', path, mode, size: facts.size, content: file.from };
}
