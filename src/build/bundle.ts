import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Delta } from '../bundle/delta.ts';
import {
  type BundleDocument,
  type BundleImage,
  type BundleRole,
  bundleArchitecture,
  bundleName,
  bundleRepository,
  formatBundleDocument,
  parseBundleDocument,
  placeOf,
} from '../bundle/document.ts';
import { listBundles } from '../bundle/listing.ts';
import { writeDurable } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import { formatHint, hintFile } from '../media/hint.ts';
import type { Digest } from '../oci/digest.ts';
import { readManifest } from '../oci/read.ts';
import { isRepositoryName, parseReference } from '../oci/reference.ts';
import { type Payload, type PayloadImage, readPayload } from '../payload/payload.ts';
import { openStore, type Store } from '../store/store.ts';
import { parsePrivateKey } from '../trust/keys.ts';
import { anyConfig } from './config.ts';
import { planDelta, putDelta } from './delta.ts';
import { composeBundle, putBundle } from './document.ts';
import { prepareOutput } from './output.ts';
import { withArtifact } from './overlay.ts';
import { inParallel } from './parallel.ts';
import { type ImagePlan, planImage } from './plan.ts';
import type { RegistryAccess } from './registry-source.ts';
import type { ReleaseSignatureOptions } from './release-signatures.ts';
import { signBundle } from './sign.ts';
import { createSourceOpener, type ImageSource, imageOf, type SourceOpener } from './source.ts';
import { type TransferProgress, transferImages } from './transfer.ts';

/** Repository by which clusters name a payload that was never pushed anywhere. It is never dialled. */
export const payloadRepositoryDefault = 'release.sluice.internal/openshift/release-images';

/** Images that are looked at at once: each costs a registry some requests. */
const planWidth = 8;

export interface BuildBundleOptions {
  /** Source of the release payload: `oci:DIR:REF`, `docker://…`. One of a registry brings its images from where it names them. */
  readonly payload: string;
  /** Name → source. A name is a tag of image-references, the repository of such a tag, or a reference of its own. */
  readonly images: ReadonlyMap<string, string>;
  /** Roles of images that the payload does not name; default `additional`. */
  readonly roles?: ReadonlyMap<string, BundleRole>;
  /** Repository by which clusters name the payload; default `payloadRepositoryDefault`. */
  readonly payloadRepository?: string;
  /** Tag name of the OS image; default: the one image that is labelled as such. */
  readonly osImage?: string;
  /** Platforms of indexes to keep (`linux/amd64`); default: all. */
  readonly platforms?: readonly string[];
  /** How registries are reached; default: as the environment says. */
  readonly access?: RegistryAccess;
  /** OpenPGP signatures of the release to carry along. */
  readonly releaseSignatures?: ReleaseSignatureOptions;
  /** Private key, PEM. */
  readonly privatePem: string;
  /** A directory, or a file that ends in `.iso`, `.squashfs` or `.tar`. */
  readonly out: string;
  /** Media with bundles, or the inventory of a cluster: blobs that are there are left out. */
  readonly since?: string;
  /** Most bytes of one file of the output: it becomes parts. */
  readonly splitBytes?: number;
  readonly onProgress?: (progress: TransferProgress) => void;
}

export interface BuiltBundle {
  /** Identity: the digest of the signed manifest. */
  readonly digest: Digest;
  readonly document: BundleDocument;
  /** What was left out of it, to the base; undefined: nothing. */
  readonly delta: Delta | undefined;
  /** What was written; the first is the one to open. */
  readonly files: readonly string[];
  /** What the reader should know, though it stops nothing. */
  readonly notes: readonly string[];
}

interface PlannedImage {
  readonly image: BundleImage;
  readonly plan: ImagePlan;
}

/**
 * Builds a signed bundle. Everything is found before anything is written, everything is hashed while it is copied,
 * and the signature is the very last thing: what could not get everything is never signed.
 *
 * Errors: Usage, InputInvalid, ReferenceUnresolved, ContentMissing, DigestMismatch, Conflict, NotFound, DiskFull.
 */
export async function buildBundle(options: BuildBundleOptions): Promise<BuiltBundle> {
  parsePrivateKey(options.privatePem, 'the signing key');
  for (const name of options.roles?.keys() ?? []) {
    if (!options.images.has(name))
      throw new SluiceError('Usage', `a role is given for ${name}, but no source`);
  }
  const output = await prepareOutput(options.out, options.splitBytes);
  const opener = createSourceOpener(output.scratch, options.access);
  try {
    const given = await opener.open(options.payload);
    const payload = await openPayload(options, given);
    const source = await withReleaseSignatures(options, given, payload.digest);
    const planned = await planImages(options, payload, source, opener);
    const document = await describe(options, payload, planned);
    const composed = await composeBundle(document);
    const directory = await output.begin(composed.digest);
    const store = await openStore(directory);
    await refuseOtherContent(store, document.name, composed.digest);
    const delta =
      options.since === undefined ? undefined : await planDelta(options.since, planned, composed.digest);
    const plans = planned.map((each) => each.plan);
    const leftOut = new Set(delta?.lacks.keys());
    await transferImages(store, plans, { onProgress: options.onProgress, leftOut });
    const descriptor = await putBundle(store, composed);
    await signBundle(store, descriptor, options.privatePem);
    if (delta !== undefined) await putDelta(store, delta, options.privatePem, descriptor);
    await store.tag(bundleRepository, document.name, descriptor.digest);
    await writeDurable(join(directory, hintFile), formatHint({ bundles: await listBundles(store) }));
    await removeStoreNotes(directory);
    const files = await output.finish();
    return { digest: composed.digest, document, files, delta, notes: notesOf(payload, document) };
  } finally {
    await opener.close();
    await output.close();
  }
}

async function openPayload(options: BuildBundleOptions, source: ImageSource): Promise<Payload> {
  const architecture = options.platforms?.[0]?.split('/')[1];
  return await readPayload(source.content, source.repository, await imageOf(source, 'the payload'), {
    ...(architecture === undefined ? {} : { architecture }),
  });
}

/** The payload's source, with the OpenPGP signatures of the release as though they had been pushed beside it. */
async function withReleaseSignatures(
  options: BuildBundleOptions,
  source: ImageSource,
  payload: Digest,
): Promise<ImageSource> {
  if (options.releaseSignatures === undefined) return source;
  const { findReleaseSignatures, signaturesArtifact } = await import('./release-signatures.ts');
  const signatures = await findReleaseSignatures(payload, options.releaseSignatures);
  const { raw } = await readManifest(source.content, source.repository, payload);
  const subject = { mediaType: raw.mediaType, digest: raw.digest, size: raw.bytes.length };
  return { ...source, content: withArtifact(source.content, signaturesArtifact(subject, signatures)) };
}

/** What one image is, and where it is taken from. */
interface Wanted {
  readonly facts: {
    role: BundleRole;
    name: string;
    source: string;
    digest: Digest;
    tag?: string | undefined;
  };
  readonly from: ImageSource;
}

async function planImages(
  options: BuildBundleOptions,
  payload: Payload,
  source: ImageSource,
  opener: SourceOpener,
): Promise<PlannedImage[]> {
  const { wanted, used } = await findComponents(options, payload, source, opener);
  for (const [name, text] of [...options.images].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!used.has(name)) wanted.push(await findOther(name, await opener.open(text), options, payload));
  }
  const own = {
    role: 'payload' as const,
    name: 'payload',
    source: options.payloadRepository ?? source.registry ?? payloadRepositoryDefault,
    digest: payload.digest,
  };
  wanted.push({ facts: own, from: source });
  return await inParallel(wanted, planWidth, (each) => planOne(each, options.platforms, payload.version));
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

async function describe(
  options: BuildBundleOptions,
  payload: Payload,
  planned: readonly PlannedImage[],
): Promise<BundleDocument> {
  const arch = architectureOf(payload, options.platforms);
  const os = await findOsImage(options.osImage, planned, options.platforms?.[0]);
  const document: BundleDocument = {
    formatVersion: 1,
    name: bundleName(payload.version, arch),
    version: payload.version,
    arch,
    previous: payload.previous,
    ...(options.platforms === undefined ? {} : { platforms: [...new Set(options.platforms)].sort() }),
    payload: payload.digest,
    ...(os === undefined ? {} : { os }),
    images: planned.map((each) => each.image),
    versions: { [payload.version]: payload.digest },
  };
  // What a reader would refuse must not be signed: the reader itself looks at it.
  return parseBundleDocument(formatBundleDocument(document));
}

/** A release of many architectures that was cut to one is of that one. */
function architectureOf(payload: Payload, platforms: readonly string[] | undefined) {
  const [only, ...others] = new Set((platforms ?? []).map((each) => each.split('/')[1] ?? ''));
  return bundleArchitecture(only !== undefined && others.length === 0 ? only : payload.architecture);
}

async function findOsImage(
  wanted: string | undefined,
  planned: readonly PlannedImage[],
  platform: string | undefined,
): Promise<BundleDocument['os']> {
  const found = [];
  for (const { image, plan } of planned) {
    if (image.role !== 'component' || (wanted !== undefined && image.name !== wanted)) continue;
    const { labels } = await anyConfig(plan.content, plan.from, image.digest, platform);
    const kernel = labels['ostree.linux'];
    if (wanted === undefined && kernel === undefined && labels['containers.bootc'] === undefined) continue;
    const version = labels['org.opencontainers.image.version'] ?? labels.version;
    found.push({
      tag: image.name,
      digest: image.digest,
      ...(version ? { version } : {}),
      ...(kernel ? { kernel } : {}),
    });
  }
  if (found.length > 1) {
    throw new SluiceError(
      'ReferenceUnresolved',
      `several images are OS images: ${found.map((os) => os.tag).join(', ')}`,
      {
        next: 'Say which one nodes boot: --os-image TAG.',
      },
    );
  }
  if (wanted !== undefined && found.length === 0) {
    throw new SluiceError(
      'ReferenceUnresolved',
      `the payload names no image ${wanted} that could be the OS image`,
    );
  }
  return found[0];
}

async function refuseOtherContent(store: Store, name: string, digest: Digest): Promise<void> {
  const standing = await store.resolveTag(bundleRepository, name);
  if (standing === undefined || standing === digest) return;
  throw new SluiceError(
    'Conflict',
    `other content stands there under the name ${name} already (${standing})`,
    {
      next: 'Write it to another directory: a name means the same content everywhere.',
    },
  );
}

/** What the store notes for itself (its marks, its temporary files) does not travel. */
async function removeStoreNotes(directory: string): Promise<void> {
  const notes = join(directory, 'sluice');
  for (const name of ['partial', 'quarantine', 'scratch', 'verified'])
    await rm(join(notes, name), { recursive: true, force: true });
  await rmdir(notes).catch(() => {}); // Others may keep files there.
}

function notesOf(payload: Payload, document: BundleDocument): string[] {
  const notes = payload.problems.map(({ file, problem }) => `payload: ${file} cannot be read: ${problem}`);
  if (document.os === undefined)
    notes.push('no image is an OS image: nodes will not reboot into this release');
  return notes;
}
