import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { messageOf, SluiceError } from '../errors/error.ts';
import { openTree } from '../media/media.ts';
import type { Digest } from '../oci/digest.ts';
import { type Layout, openLayout } from '../oci/layout.ts';
import type { Descriptor } from '../oci/manifest.ts';
import type { Tree, TreeFile } from '../store/tree.ts';
import { splitPlace } from './target.ts';

/** Layouts have no repositories; any name reads from them. */
export const layoutRepository = 'image';

const chunkBytes = 1024 * 1024;
/** Directories inside each other in an archive of a layout; it has three. */
const depthMax = 8;

/** Where an image comes from. */
export interface ImageSource {
  /** As it was given, for messages. */
  readonly label: string;
  readonly content: Layout;
  /** What the reference names; undefined where none was given and the layout holds several images. */
  readonly descriptor: Descriptor | undefined;
}

/** Opens sources, each layout once, and cleans up what it unpacked. */
export interface SourceOpener {
  /** Errors: Usage, NotFound, InputInvalid. */
  open(text: string): Promise<ImageSource>;
  close(): Promise<void>;
}

/** @param scratch a directory on a disk with room for unpacked archives; made when it is needed. */
export function createSourceOpener(scratch: string): SourceOpener {
  const layouts = new Map<string, Promise<Layout>>();
  const unpacked: string[] = [];
  const openArchive = async (path: string): Promise<Layout> => {
    await mkdir(scratch, { recursive: true });
    const directory = await mkdtemp(join(scratch, 'archive-'));
    unpacked.push(directory);
    const { tree } = await openTree(path);
    try {
      await unpackTree(tree, '', directory, 0);
    } finally {
      await tree.close();
    }
    return await openLayout(directory);
  };
  return {
    async open(text) {
      const { kind, path, reference } = splitPlace(text);
      const key = `${kind}:${path}`;
      let layout = layouts.get(key);
      if (layout === undefined) {
        layout = kind === 'oci' ? openLayout(path) : openArchive(path);
        layouts.set(key, layout);
      }
      const content = await layout;
      if (reference !== '') return { label: text, content, descriptor: await content.resolve(reference) };
      const descriptor = await content.resolve('').catch(() => undefined);
      return { label: text, content, descriptor };
    },
    async close() {
      for (const directory of unpacked) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The image that a source names, or the one of its layout that has this digest. Errors: ContentMissing, DigestMismatch. */
export async function imageOf(source: ImageSource, what: string, wanted?: Digest): Promise<Digest> {
  const { descriptor, content, label } = source;
  if (wanted === undefined) {
    if (descriptor !== undefined) return descriptor.digest;
    throw new SluiceError('ReferenceUnresolved', `${what}: ${label} holds several images`, {
      next: 'Name one of them: append :REFERENCE.',
    });
  }
  if (descriptor?.digest === wanted) return wanted;
  if ((await content.manifest(layoutRepository, wanted)) !== undefined) return wanted;
  if (descriptor === undefined)
    throw new SluiceError('ContentMissing', `${what}: ${label} does not hold ${wanted}`);
  throw new SluiceError(
    'DigestMismatch',
    `${what}: ${label} is ${descriptor.digest}, but the payload names ${wanted}`,
    { next: 'Give the very image that the payload was built with: a copy that was packed anew is another.' },
  );
}

async function unpackTree(tree: Tree, path: string, directory: string, depth: number): Promise<void> {
  if (depth > depthMax)
    throw new SluiceError('InputTooLarge', `${tree.label} is nested deeper than ${depthMax}`);
  await mkdir(directory, { recursive: true });
  for (const entry of await tree.list(path)) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    const target = join(directory, entry.name);
    if (dirname(target) !== directory)
      throw new SluiceError('InputInvalid', `${tree.label} holds the name ${entry.name}`);
    if (entry.directory) await unpackTree(tree, inner, target, depth + 1);
    else await unpackFile(tree, inner, target);
  }
}

async function unpackFile(tree: Tree, path: string, target: string): Promise<void> {
  const file = await tree.open(path);
  if (file === undefined) throw new SluiceError('InputInvalid', `${tree.label}: ${path} cannot be read`);
  try {
    await pipeline(Readable.from(chunks(file)), createWriteStream(target));
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw new SluiceError('DiskFull', `${target} cannot be written: ${messageOf(error)}`, { cause: error });
  } finally {
    await file.close();
  }
}

async function* chunks(file: TreeFile): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.size; ) {
    const chunk = await file.read(at, Math.min(chunkBytes, file.size - at));
    if (chunk.length === 0) return;
    at += chunk.length;
    yield chunk;
  }
}
