import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Delta, deltaTag, formatDelta } from '../bundle/delta.ts';
import {
  type BundleDocument,
  type BundleRole,
  bundleArchitecture,
  bundleName,
  bundleRepository,
  formatBundleDocument,
  parseBundleDocument,
} from '../bundle/document.ts';
import { listBundles } from '../bundle/listing.ts';
import { programDirectory } from '../bundle/program.ts';
import { writeDurable } from '../durable/file.ts';
import { SluiceError } from '../errors/error.ts';
import { formatHint, hintFile } from '../media/hint.ts';
import { type Digest, digestOf } from '../oci/digest.ts';
import type { Payload } from '../payload/payload.ts';
import { openStore, type Store } from '../store/store.ts';
import { parsePrivateKey } from '../trust/keys.ts';
import { anyConfig, isOsImage, otherPlatforms } from './config.ts';
import { planDelta, putDelta, removeDelta } from './delta.ts';
import { composeBundle, putBundle } from './document.ts';
import { openPayload, type PlannedImage, planImages, withReleaseSignatures } from './images.ts';
import { prepareOutput } from './output.ts';
import type { ProgramFiles } from './program.ts';
import type { RegistryAccess } from './registry-source.ts';
import type { ReleaseSignatureOptions } from './release-signatures.ts';
import { signBundle } from './sign.ts';
import { createSourceOpener } from './source.ts';
import { type TransferProgress, transferImages } from './transfer.ts';

export interface BuildBundleOptions {
  /** Source of the release payload: `oci:DIR:REF`, `docker://…`. One of a registry brings its images from where it names them. */
  readonly payload: string;
  /** Name → source. A name is a tag of image-references, the repository of such a tag, or a reference of its own. */
  readonly images: ReadonlyMap<string, string>;
  /** Roles of images that the payload does not name; default `additional`. */
  readonly roles?: ReadonlyMap<string, BundleRole>;
  /** Repository by which clusters name the payload; default: that of its registry, or one that is never dialled. */
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
  /** Whether this program travels along. */
  readonly program?: ProgramFiles;
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
    const { source, notes: told } = await withReleaseSignatures(options, given, payload.digest);
    const notes = [...told];
    const planned = await planImages(options, payload, source, opener);
    const document = await describe(options, payload, planned);
    // The payload holds manifests; where it was built says nothing.
    const run = planned.filter(({ image }) => image.role !== 'payload');
    if (options.platforms !== undefined) notes.push(...(await otherPlatforms(run, options.platforms)));
    const composed = await composeBundle(document);
    const base =
      options.since === undefined ? undefined : await planDelta(options.since, planned, composed.digest);
    // What leaves nothing out is no delta.
    const delta = base?.lacks.size === 0 ? undefined : base;
    if (base !== delta) notes.push(`${options.since} holds nothing of it: nothing is left out`);
    const directory = await output.begin(
      delta === undefined ? composed.digest : digestOf(formatDelta(delta)),
    );
    const store = await openStore(directory);
    await refuseOtherContent(store, document.name, composed.digest);
    if (delta !== undefined) await refuseWhole(store, document.name, composed.digest);
    const plans = planned.map((each) => each.plan);
    const leftOut = new Set(delta?.lacks.keys());
    await transferImages(store, plans, { onProgress: options.onProgress, leftOut });
    const descriptor = await putBundle(store, composed);
    await signBundle(store, descriptor, options.privatePem);
    if (delta === undefined) await removeDelta(store, composed.digest);
    else await putDelta(store, delta, options.privatePem, descriptor);
    await store.tag(bundleRepository, document.name, descriptor.digest);
    await writeDurable(join(directory, hintFile), formatHint({ bundles: await listBundles(store) }));
    await removeStoreNotes(directory);
    if (options.program !== undefined)
      await (await import('./program.ts')).putProgram(directory, options.privatePem, options.program);
    // What an interrupted build has put there; media that get one bundle more keep theirs.
    else if (output.format !== 'directory')
      await rm(join(directory, programDirectory), { recursive: true, force: true });
    const files = await output.finish();
    return {
      digest: composed.digest,
      document,
      files,
      delta,
      notes: [...notes, ...notesOf(payload, document)],
    };
  } finally {
    await opener.close();
    await output.close();
  }
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
    const { labels = {} } = (await anyConfig(plan.content, plan.from, image.digest, platform)) ?? {};
    const kernel = labels['ostree.linux'];
    if (wanted === undefined && !isOsImage(labels)) continue;
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

/** A delta beside all that it leaves out would say of whole media that they need a base. */
async function refuseWhole(store: Store, name: string, digest: Digest): Promise<void> {
  if ((await store.resolveTag(bundleRepository, name)) === undefined) return;
  if ((await store.resolveTag(bundleRepository, deltaTag(digest))) !== undefined) return;
  throw new SluiceError('Conflict', `${name} stands there whole already`, {
    next: 'Write the delta to another directory, or take that one as it is: it needs no base.',
  });
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
