import { messageOf, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { ownArchitecture, resolveImage } from '../oci/image.ts';
import { parseReference } from '../oci/reference.ts';
import type { ContentSource } from '../oci/source.ts';
import { type LayerEntry, type LayerLimits, readLayer } from '../payload/layer.ts';
import { parseYamlDocuments } from '../payload/yaml.ts';
import { anyConfig } from './config.ts';

// A catalog of operators is an image with files that describe packages, channels and bundles ("file-based catalog").
// An operator can be installed only where every image that its bundle names can be pulled.
// https://olm.operatorframework.io/docs/reference/file-based-catalogs

/** On the image: where its files stand. */
const configsLabel = 'operators.operatorframework.io.index.configs.v1';
/** On the images of before, which hold a database instead. */
const databaseLabel = 'operators.operatorframework.io.index.database.v1';

/** The catalogs of vendors have some hundred MB of JSON, cut ones a few. */
const limits: LayerLimits = {
  unpackedBytesMax: 8 * 1024 * 1024 * 1024,
  entriesMax: 1_000_000,
  fileBytesMax: 256 * 1024 * 1024,
  keptBytesMax: 1024 * 1024 * 1024,
};
const imagesMax = 20_000;
const whiteout = '.wh.';
const opaque = '.wh..wh..opq';

/** An image that a catalog's bundles name. */
export interface CatalogImage {
  /** As the catalog has it: `<repository>@<digest>`. */
  readonly reference: string;
  readonly repository: string;
  readonly digest: Digest;
  /** The bundle that needs it, for messages: `web-operator.v1.2.0`. */
  readonly bundle: string;
}

/**
 * Every image that a catalog's operators need: the bundles themselves, and what they relate to; each once.
 *
 * Errors: InputInvalid (no catalog, files that cannot be read, images that are named by tag), and as `readLayer`.
 */
export async function readCatalogImages(
  content: ContentSource,
  repository: string,
  digest: Digest,
  platform: string | undefined,
): Promise<CatalogImage[]> {
  const { labels = {} } = (await anyConfig(content, repository, digest, platform)) ?? {};
  const configs = labels[configsLabel];
  if (configs === undefined) {
    const what =
      labels[databaseLabel] === undefined
        ? `it has no label ${configsLabel}`
        : 'it holds a database, the form of before';
    throw new SluiceError('InputInvalid', `${repository}@${digest} is no file-based catalog: ${what}`, {
      next: 'Make one with opm (opm render, opm generate dockerfile), or leave out --role NAME=catalog.',
    });
  }
  const directory = configs.replace(/^\/+|\/+$/g, '');
  const files = await readFiles({ content, repository, digest, platform }, directory);
  const images = new Map<string, CatalogImage>();
  const byTag = new Set<string>();
  for (const [path, bytes] of files) {
    for (const { reference, bundle } of referencesIn(path, bytes)) {
      const { host, repository: name, digest: named } = parseReference(reference);
      if (named === undefined) byTag.add(`${reference} (${bundle})`);
      else images.set(reference, { reference, repository: `${host}/${name}`, digest: named, bundle });
    }
    if (images.size > imagesMax)
      throw new SluiceError('InputTooLarge', `the catalog ${repository} names more than ${imagesMax} images`);
  }
  if (byTag.size > 0) {
    throw new SluiceError(
      'InputInvalid',
      `the catalog ${repository} names images by tag, which no mirror serves: ${[...byTag].slice(0, 5).join(', ')}`,
      { next: 'Cut the catalog to operators that name their images by digest.' },
    );
  }
  return [...images.values()].sort((a, b) => (a.reference < b.reference ? -1 : 1));
}

/** Files below a directory of an image, as a container would see them. */
async function readFiles(
  image: {
    readonly content: ContentSource;
    readonly repository: string;
    readonly digest: Digest;
    readonly platform: string | undefined;
  },
  directory: string,
): Promise<Map<string, Uint8Array>> {
  const { content, repository, digest } = image;
  const architecture = image.platform?.split('/')[1] ?? ownArchitecture();
  const resolved = await resolveImage(content, repository, digest, { os: 'linux', architecture });
  const files = new Map<string, Uint8Array>();
  const hidden: string[] = [];
  const covering = coversOf(directory);
  // The last layer counts first; what it has or hides is not looked for below it (image-spec, layer.md, "Whiteouts").
  for (const layer of [...resolved.manifest.layers].reverse()) {
    const entries = await readLayer(content, repository, layer, {
      what: `catalog ${repository}`,
      wanted: (path) => path === directory || path.startsWith(`${directory}/`) || covering.has(path),
      limits,
    });
    const now = [...hidden];
    for (const entry of entries) addEntry(entry, files, { below: now, hidden });
  }
  return files;
}

/** Names by which a layer hides the directory, or one that it lies in, as the layers below it have it. */
function coversOf(directory: string): Set<string> {
  const covers = new Set([opaque]);
  const names = directory.split('/');
  for (const [index, name] of names.entries()) {
    const at = names
      .slice(0, index)
      .map((each) => `${each}/`)
      .join('');
    covers.add(`${at}${whiteout}${name}`);
    covers.add(`${at}${opaque}`);
  }
  return covers;
}

function addEntry(
  { path, kind, data }: LayerEntry,
  files: Map<string, Uint8Array>,
  covers: { readonly below: readonly string[]; readonly hidden: string[] },
): void {
  const slash = path.lastIndexOf('/');
  // Paths are relative: what lies at the root has nothing before its name.
  const [at, name] = [path.slice(0, slash + 1), path.slice(slash + 1)];
  if (name === opaque) covers.hidden.push(`${at}*`);
  else if (name.startsWith(whiteout)) {
    const gone = `${at}${name.slice(whiteout.length)}`;
    covers.hidden.push(gone, `${gone}/*`);
  } else if (kind === 'file' && !files.has(path) && !covers.below.some((each) => isBelow(path, each))) {
    files.set(path, data);
  }
}

function isBelow(path: string, hidden: string): boolean {
  return hidden.endsWith('*') ? path.startsWith(hidden.slice(0, -1)) : path === hidden;
}

function* referencesIn(path: string, bytes: Uint8Array): Generator<{ reference: string; bundle: string }> {
  for (const document of documentsIn(path, bytes)) {
    const { schema, name, image, relatedImages } = (document ?? {}) as Record<string, unknown>;
    if (schema !== 'olm.bundle') continue;
    const bundle = String(name);
    const related = Array.isArray(relatedImages) ? relatedImages : [];
    for (const each of [
      image,
      ...related.map((one: unknown) => (one as { image?: unknown } | null)?.image),
    ]) {
      if (typeof each === 'string' && each !== '') yield { reference: each, bundle };
    }
  }
}

function documentsIn(path: string, bytes: Uint8Array): Iterable<unknown> {
  if (path.endsWith('.json')) return jsonDocuments(Buffer.from(bytes).toString('utf8'), path);
  return /\.ya?ml$/.test(path) ? parseYamlDocuments(bytes, path) : [];
}

/** JSON texts one after another, as opm writes them. Errors: InputInvalid. */
export function* jsonDocuments(text: string, where: string): Generator<unknown> {
  let from = 0;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text[at];
    if (inText) {
      if (code === '\\') at += 1;
      else if (code === '"') inText = false;
      continue;
    }
    if (code === '"') inText = true;
    else if (code === '{') depth += 1;
    else if (code === '}') {
      depth -= 1;
      if (depth > 0) continue;
      yield parseOne(text.slice(from, at + 1), where);
      from = at + 1;
    }
  }
  if (text.slice(from).trim() !== '') throw new SluiceError('InputInvalid', `${where} ends in the middle`);
}

function parseOne(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SluiceError('InputInvalid', `${where} is not JSON: ${messageOf(error)}`, { cause: error });
  }
}
