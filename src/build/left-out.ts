import { annotations } from '../api/names.ts';
import { SluiceError } from '../errors/error.ts';
import { type PayloadManifest, readManifests } from '../payload/manifest.ts';
import { inclusionPrefix, profileDefault } from '../payload/profile.ts';
import { pinnedImages, unpinnedImages } from './pod-images.ts';

/** Profiles of the releases that exist. */
const knownProfiles: readonly string[] = [
  profileDefault,
  'single-node-developer',
  'single-node-production-edge',
  'ibm-cloud-managed',
  'hypershift',
];
const linesMax = 10;

/** What clusters take of a payload's objects. */
export interface Taken {
  /** Objects that no cluster will take, in words, and why. */
  readonly excluded: readonly string[];
  /**
   * Images that Pods name by digest and that are none of the payload's, with who needs them: whoever builds the bundle
   * must give them.
   */
  readonly foreign: readonly { readonly image: string; readonly of: string }[];
  /** How many objects a cluster of the usual profile applies, of how many. Checks count as neither. */
  readonly applied: { readonly profile: string; readonly count: number; readonly of: number };
}

/**
 * Reads the objects of a payload before it is built: whoever builds a release wants to know what is wrong with it while
 * he can still mend it. Checks need no annotation of inclusion: they are never applied.
 *
 * Errors: InputInvalid (a file that cannot be read: an update to the release would fail by it), ReferenceUnresolved (a
 * Pod of an object that clusters take has an image by no digest: it would be pulled from nowhere).
 *
 * @param own digests of the payload's images.
 * @param files names of the files in the payload → their text.
 * @param whereOf the place of a file among those that are built from, for messages.
 */
export function takenOf(
  files: ReadonlyMap<string, string>,
  own: ReadonlySet<string>,
  whereOf: (file: string) => string,
): Taken {
  const bytes = new Map([...files].map(([name, text]) => [name, Buffer.from(text)]));
  const { manifests, problems } = readManifests(bytes);
  if (problems.length > 0) {
    const lines = problems.map(({ file, problem }) => `${whereOf(file)}: ${problem}`);
    throw new SluiceError('InputInvalid', `a release with this cannot be applied: ${enumerate(lines)}`);
  }
  const excluded: string[] = [];
  const unpinned: string[] = [];
  const foreign: { image: string; of: string }[] = [];
  let checks = 0;
  let count = 0;
  for (const manifest of manifests) {
    const given = manifest.object.metadata.annotations ?? {};
    const where = `${describe(manifest)} (${whereOf(manifest.file)})`;
    const why = given[annotations.preflightCheck] === 'true' ? undefined : whyNotTaken(given);
    if (given[annotations.preflightCheck] === 'true') checks += 1;
    else if (given[`${inclusionPrefix}${profileDefault}`] === 'true') count += 1;
    if (why !== undefined) excluded.push(`${where}: ${why}`);
    else for (const image of unpinnedImages(manifest)) unpinned.push(`${image} of ${where}`);
    if (!reachesClusters(manifest)) continue;
    for (const image of pinnedImages(manifest)) {
      if (!own.has(image.slice(image.lastIndexOf('@') + 1))) foreign.push({ image, of: where });
    }
  }
  if (unpinned.length > 0) {
    throw new SluiceError(
      'ReferenceUnresolved',
      `no tag of image-references names the image ${enumerate(unpinned)}: without internet it could not be pulled`,
      {
        next: 'Add each to image-references beside its manifest, as a tag whose from.name is the image without tag and digest, and give --image TAG=SOURCE for it.',
      },
    );
  }
  return { excluded, foreign, applied: { profile: profileDefault, count, of: manifests.length - checks } };
}

/** Whether a cluster may come to run what an object says: it is applied, or it is a check of the release. */
export function reachesClusters({ object }: PayloadManifest): boolean {
  const given = object.metadata.annotations ?? {};
  if (given[annotations.preflightCheck] === 'true') return true;
  return whyNotTaken(given) === undefined && given[deletion] !== 'true';
}

/** "true" on an object that updates take away. */
const deletion = 'release.openshift.io/delete';

/** Why no cluster takes an object, by its annotations. */
function whyNotTaken(given: Readonly<Record<string, string>>): string | undefined {
  const includes = Object.entries(given).filter(([key]) => key.startsWith(inclusionPrefix));
  if (includes.length === 0) return 'it has no annotation of inclusion';
  const known = includes.filter(([key]) => knownProfiles.includes(key.slice(inclusionPrefix.length)));
  if (known.some(([, value]) => value === 'true')) return undefined;
  const [key, value] = known[0] ?? includes[0] ?? [];
  return known.length === 0 ? `${key} names no profile that is known` : `${key} is "${value}", not "true"`;
}

/** An object in words: `Deployment demo/web`. */
export function describe({ object }: PayloadManifest): string {
  const { name, namespace } = object.metadata;
  return `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

function enumerate(lines: readonly string[]): string {
  const more = lines.length - linesMax;
  return [...lines.slice(0, linesMax), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
