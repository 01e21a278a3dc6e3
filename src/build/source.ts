import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { messageOf, SluiceError } from '../errors/error.ts';
import { type Media, openMedia, openTree } from '../media/media.ts';
import type { Digest } from '../oci/digest.ts';
import { type Layout, openLayout } from '../oci/layout.ts';
import type { ImageReference } from '../oci/reference.ts';
import type { ContentSource } from '../oci/source.ts';
import type { Tree, TreeFile } from '../store/tree.ts';
import { openDockerArchive } from './docker-archive.ts';
import { mediaSource, resolveOnMedia } from './media-source.ts';
import { plainArchive } from './packed.ts';
import { createRegistryOpener, type RegistryAccess } from './registry-source.ts';
import { type Place, parsePlace } from './target.ts';

/** Layouts have no repositories; any name reads from them. */
export const layoutRepository = 'image';

const chunkBytes = 1024 * 1024;
/** Directories inside each other in an archive of a layout; it has three. */
const depthMax = 8;

/** Where an image comes from. */
export interface ImageSource {
  /** As it was given, for messages. */
  readonly label: string;
  readonly content: ContentSource;
  /** By which the content is asked. */
  readonly repository: string;
  /** Digest that the reference names; undefined where none was given and there are several images. */
  readonly digest: Digest | undefined;
  /** `host/repository` where it comes from a registry. */
  readonly registry?: string;
}

/** Opens sources, each place once, and cleans up what it unpacked. */
export interface SourceOpener {
  /** Errors: Usage, NotFound, InputInvalid; of registries: Unreachable, Unauthorized. */
  open(text: string): Promise<ImageSource>;
  close(): Promise<void>;
}

/** A place that holds images without repositories. */
interface Shelf {
  readonly content: ContentSource;
  resolve(reference: string): Promise<Digest>;
}

/**
 * @param scratch a directory on a disk with room for unpacked archives; made when it is needed.
 * @param access how registries are reached; default: as the environment says.
 */
export function createSourceOpener(
  scratch: string,
  access: RegistryAccess = { env: process.env },
): SourceOpener {
  const shelves = new Map<string, Promise<Shelf>>();
  const unpacked: string[] = [];
  const trees: Tree[] = [];
  const media = new Map<string, Promise<{ opened: Media; content: ContentSource }>>();
  const registries = createRegistryOpener(access);

  const shelfOf = (layout: Layout): Shelf => ({
    content: layout,
    resolve: async (reference) => (await layout.resolve(reference)).digest,
  });
  const openScratch = async (): Promise<string> => {
    await mkdir(scratch, { recursive: true });
    const directory = await mkdtemp(join(scratch, 'archive-'));
    unpacked.push(directory);
    return directory;
  };
  const openPlain = async (path: string): Promise<Tree> =>
    (await openTree(await plainArchive(path, openScratch))).tree;
  const openArchive = async (path: string): Promise<Shelf> => {
    const directory = await openScratch();
    const tree = await openPlain(path);
    try {
      await unpackTree(tree, '', directory, 0);
    } finally {
      await tree.close();
    }
    return shelfOf(await openLayout(directory));
  };
  const openDocker = async (path: string): Promise<Shelf> => {
    const tree = await openPlain(path);
    trees.push(tree);
    const archive = await openDockerArchive(tree);
    return { content: archive, resolve: async (reference) => archive.resolve(reference).digest };
  };
  const openShelf = {
    oci: async (path: string) => shelfOf(await openLayout(path)),
    'oci-archive': openArchive,
    'docker-archive': openDocker,
  };

  async function openRegistry(text: string, image: ImageReference): Promise<ImageSource> {
    const content = await registries.open(image);
    const { repository, tag } = image;
    const source = { label: text, content, repository, registry: `${image.host}/${repository}` };
    if (image.digest !== undefined || tag === undefined) return { ...source, digest: image.digest };
    const raw = await content.manifest(repository, tag);
    if (raw === undefined) throw new SluiceError('NotFound', `${text} does not exist`);
    return { ...source, digest: raw.digest };
  }

  async function openOnMedia(text: string, place: Extract<Place, { kind: 'media' }>): Promise<ImageSource> {
    const known =
      media.get(place.path) ??
      openMedia(place.path).then((opened) => ({ opened, content: mediaSource(opened) }));
    media.set(place.path, known);
    const { opened, content } = await known;
    const { repository } = place;
    return {
      label: text,
      content,
      repository,
      digest: await resolveOnMedia(opened, repository, place.reference),
    };
  }

  return {
    async open(text) {
      const place = parsePlace(text);
      if (place.kind === 'docker') return await openRegistry(text, place.image);
      if (place.kind === 'media') return await openOnMedia(text, place);
      const { kind, path, reference } = place;
      const key = `${kind}:${path}`;
      const shelf = shelves.get(key) ?? openShelf[kind](path);
      shelves.set(key, shelf);
      const { content, resolve } = await shelf;
      const digest = reference === '' ? await resolve('').catch(() => undefined) : await resolve(reference);
      return { label: text, content, repository: layoutRepository, digest };
    },
    async close() {
      await registries.close();
      for (const tree of trees) await tree.close();
      for (const each of media.values()) await each.then(({ opened }) => opened.close()).catch(() => {});
      for (const directory of unpacked) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The image that a source names, or the one in it that has this digest. Errors: ContentMissing, DigestMismatch. */
export async function imageOf(source: ImageSource, what: string, wanted?: Digest): Promise<Digest> {
  const { digest, content, label } = source;
  if (wanted === undefined) {
    if (digest !== undefined) return digest;
    throw new SluiceError('ReferenceUnresolved', `${what}: ${label} names none of its images`, {
      next: 'Name one of them: append :REFERENCE.',
    });
  }
  if (digest === wanted) return wanted;
  if ((await content.manifest(source.repository, wanted)) !== undefined) return wanted;
  if (digest === undefined)
    throw new SluiceError('ContentMissing', `${what}: ${label} does not hold ${wanted}`);
  throw new SluiceError('DigestMismatch', `${what}: ${label} is ${digest}, but the payload names ${wanted}`, {
    next: 'Give the very image that the payload was built with: a copy that was packed anew is another.',
  });
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
