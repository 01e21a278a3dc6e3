import { type BundleImage, type BundleRole, placeOf } from '../bundle/document.ts';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { readManifest } from '../oci/read.ts';
import { isRepositoryName, parseReference } from '../oci/reference.ts';
import { type Payload, type PayloadImage, readPayload } from '../payload/payload.ts';
import type { BuildBundleOptions } from './bundle.ts';
import { withArtifact } from './overlay.ts';
import { inParallel } from './parallel.ts';
import { findPinned } from './pinned.ts';
import { type ImagePlan, planImage } from './plan.ts';
import { type ImageSource, imageOf, type SourceOpener } from './source.ts';

/** Repository by which clusters name a payload that was never pushed anywhere. It is never dialled. */
const payloadRepositoryDefault = 'release.sluice.internal/openshift/release-images';

/** Images that are looked at at once: each costs a registry some requests. */
const planWidth = 8;

/** An image as the bundle will list it, and what of its source is to be copied. */
export interface PlannedImage {
  readonly image: BundleImage;
  readonly plan: ImagePlan;
}

/** Reads the payload, of the first platform that is wanted. Errors: ContentMissing, InputInvalid. */
export async function openPayload(options: BuildBundleOptions, source: ImageSource): Promise<Payload> {
  const architecture = options.platforms?.[0]?.split('/')[1];
  return await readPayload(source.content, source.repository, await imageOf(source, 'the payload'), {
    ...(architecture === undefined ? {} : { architecture }),
  });
}

/** The payload's source, with the OpenPGP signatures of the release as though they had been pushed beside it. */
export async function withReleaseSignatures(
  options: BuildBundleOptions,
  source: ImageSource,
  payload: Digest,
): Promise<{ source: ImageSource; notes: readonly string[] }> {
  if (options.releaseSignatures === undefined) return { source, notes: [] };
  const { findReleaseSignatures, signaturesArtifact } = await import('./release-signatures.ts');
  const { signatures, unasked } = await findReleaseSignatures(payload, options.releaseSignatures);
  const { raw } = await readManifest(source.content, source.repository, payload);
  const subject = { mediaType: raw.mediaType, digest: raw.digest, size: raw.bytes.length };
  const content = withArtifact(source.content, signaturesArtifact(subject, signatures));
  // With them the bundle may have more signatures, and then another digest.
  const notes = unasked.map((why) => `a store of release signatures could not be asked: ${why}`);
  return { source: { ...source, content }, notes };
}

/** What one image is, and where it is taken from. */
export interface Wanted {
  readonly facts: {
    role: BundleRole;
    name: string;
    source: string;
    digest: Digest;
    tag?: string | undefined;
  };
  readonly from: ImageSource;
}

/**
 * Finds every image and what belongs to it: those that the payload names, those that were named besides, the payload.
 * Errors: ReferenceUnresolved, ContentMissing, DigestMismatch, and those of the sources.
 */
export async function planImages(
  options: BuildBundleOptions,
  payload: Payload,
  source: ImageSource,
  opener: SourceOpener,
): Promise<PlannedImage[]> {
  const { wanted, used } = await findComponents(options, payload, source, opener);
  for (const [name, text] of [...options.images].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!used.has(name)) wanted.push(await findOther(name, await opener.open(text), options, payload));
  }
  wanted.push(...(await findOperators(wanted, options, opener)));
  const own = {
    role: 'payload' as const,
    name: 'payload',
    source: options.payloadRepository ?? source.registry ?? payloadRepositoryDefault,
    digest: payload.digest,
  };
  wanted.push({ facts: own, from: source });
  const plan = (images: readonly Wanted[]) =>
    inParallel(images, planWidth, async (each) => ({
      ...(await planOne(each, options.platforms, payload.version)),
      from: each.from,
    }));
  const planned = await plan(wanted);
  const pinned = await plan(await findPinned(payload, planned, source, opener));
  // The payload stays the last: it is what makes a release of the others.
  return [...planned.slice(0, -1), ...pinned, ...planned.slice(-1)];
}

async function findComponents(
  options: BuildBundleOptions,
  payload: Payload,
  source: ImageSource,
  opener: SourceOpener,
): Promise<{ wanted: Wanted[]; used: ReadonlySet<string> }> {
  const used = new Set<string>();
  const images = [...payload.images.values()].sort((a, b) => (a.tag < b.tag ? -1 : 1));
  const found = await inParallel(images, planWidth, async (image): Promise<Wanted | string> => {
    const name = [image.tag, image.repository].find((each) => options.images.has(each));
    if (name !== undefined) used.add(name);
    const from = await sourceOfComponent(options, image, { source, opener, name });
    if (from === undefined) return image.tag;
    const digest = await imageOf(from, `image ${image.tag}`, image.digest);
    return { facts: { role: 'component', name: image.tag, source: image.repository, digest }, from };
  });
  const missing = found.filter((each) => typeof each === 'string');
  if (missing.length > 0) {
    throw new SluiceError('ReferenceUnresolved', `no source is given for ${missing.join(', ')}`, {
      next: 'Give one for each: --image NAME=oci:DIR:REF or NAME=docker://HOST/NAME.',
    });
  }
  return { wanted: found.filter((each) => typeof each !== 'string'), used };
}

async function sourceOfComponent(
  options: BuildBundleOptions,
  image: PayloadImage,
  from: { source: ImageSource; opener: SourceOpener; name: string | undefined },
): Promise<ImageSource | undefined> {
  const { source, opener, name } = from;
  if (name !== undefined) return await opener.open(options.images.get(name) ?? '');
  // The payload's own place often holds its images too.
  if ((await source.content.manifest(source.repository, image.digest)) !== undefined) return source;
  // Who takes the payload from a registry wants its images from where it names them.
  return source.registry === undefined ? undefined : await opener.open(`docker://${image.reference}`);
}

async function findOther(
  name: string,
  from: ImageSource,
  options: BuildBundleOptions,
  payload: Payload,
): Promise<Wanted> {
  const reference = readName(name, payload);
  const digest = await imageOf(from, `image ${name}`, reference.digest);
  const role = options.roles?.get(name) ?? 'additional';
  const repository = `${reference.host}/${reference.repository}`;
  return { facts: { role, name: repository, source: repository, digest, tag: reference.tag }, from };
}

/**
 * What the operators of catalogs need and nobody has named: taken from where a catalog names it, or from the catalog's
 * own place. Errors: ReferenceUnresolved, with all that is nowhere.
 */
async function findOperators(
  given: readonly Wanted[],
  options: BuildBundleOptions,
  opener: SourceOpener,
): Promise<Wanted[]> {
  const catalogs = given.filter((each) => each.facts.role === 'catalog');
  if (catalogs.length === 0) return [];
  const { readCatalogImages } = await import('./catalog.ts');
  const known = new Set(given.map(({ facts }) => `${facts.source}@${facts.digest}`));
  const found: Wanted[] = [];
  const missing: string[] = [];
  for (const { facts: catalog, from } of catalogs) {
    const platform = options.platforms?.[0];
    for (const image of await readCatalogImages(from.content, from.repository, catalog.digest, platform)) {
      const { repository, digest, reference } = image;
      if (known.has(`${repository}@${digest}`)) continue;
      known.add(`${repository}@${digest}`);
      const own = (await from.content.manifest(from.repository, digest)) !== undefined;
      const source = own || from.registry === undefined ? from : await opener.open(`docker://${reference}`);
      if (!own && from.registry === undefined) missing.push(`${reference} (${image.bundle})`);
      else
        found.push({
          facts: { role: 'operator', name: repository, source: repository, digest },
          from: source,
        });
    }
  }
  if (missing.length === 0) return found;
  throw new SluiceError(
    'ReferenceUnresolved',
    `operators of a catalog need images for which no source is given: ${missing.join(', ')}`,
    {
      next: 'Give one for each (--image REPOSITORY@DIGEST=SOURCE), or cut the catalog to what is to be installed.',
    },
  );
}

function readName(name: string, payload: Payload) {
  try {
    return parseReference(name);
  } catch (cause) {
    const tags = [...payload.images.keys()].sort().join(', ');
    throw new SluiceError('ReferenceUnresolved', `the payload ${payload.version} names no image "${name}"`, {
      cause,
      next: isRepositoryName(name)
        ? `Use a tag of the payload (${tags}), or write the whole reference of another image: registry.example/${name}.`
        : `Use a tag of the payload: ${tags}.`,
    });
  }
}

async function planOne(
  { facts, from }: Wanted,
  platforms: readonly string[] | undefined,
  version: string,
): Promise<PlannedImage> {
  const place = placeOf(facts, version);
  const plan = await planImage(from, { image: facts.name, digest: facts.digest, ...place, platforms });
  const { role, name, digest } = facts;
  const { size, closureBytes, attached } = plan;
  const image = { name, source: facts.source, ...place, role, digest, size, closureBytes, attached };
  return { image, plan };
}
