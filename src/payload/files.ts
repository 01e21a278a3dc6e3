import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { ownArchitecture, readConfig, resolveImage } from '../oci/image.ts';
import type { ContentSource } from '../oci/source.ts';
import { type LayerEntry, type LayerLimits, readLayer } from './layer.ts';
import { manifestFileBytesMax } from './yaml.ts';

/** The directory of a payload image in which everything of a release stands. */
export const releaseDirectory = 'release-manifests';

/** A real payload has about a thousand files with 20 MB, on a base image of some hundred MB. */
const limits: LayerLimits = {
  unpackedBytesMax: 8 * 1024 * 1024 * 1024,
  entriesMax: 1_000_000,
  fileBytesMax: manifestFileBytesMax,
  keptBytesMax: 256 * 1024 * 1024,
};
const filesMax = 10_000;
const whiteout = '.wh.';
const opaque = '.wh..wh..opq';

/**
 * The files of /release-manifests of an image, by name, as a container would see them; directories below it are
 * left out, as the cluster-version operator does.
 *
 * @param architecture which image of an index; default: this machine's. Errors: as `readLayer`.
 */
export async function readReleaseFiles(
  content: ContentSource,
  repository: string,
  digest: Digest,
  architecture: string | undefined,
): Promise<{ files: Map<string, Uint8Array>; architecture: string }> {
  const platform = { os: 'linux', architecture: architecture ?? ownArchitecture() };
  const image = await resolveImage(content, repository, digest, platform);
  const config = await readConfig(content, repository, image.digest);
  const files = new Map<string, Uint8Array>();
  const hidden = new Set<string>();
  // The last layer counts first; what it has or hides is not looked for below it.
  for (const layer of [...image.manifest.layers].reverse()) {
    const entries = await readLayer(content, repository, layer, {
      what: `payload ${digest}`,
      wanted: isRelevant,
      limits,
    });
    if (addLayer(entries, files, hidden)) break;
    if (files.size > filesMax)
      throw new SluiceError('InputTooLarge', `payload ${digest} has more than ${filesMax} files`);
  }
  return { files, architecture: config.architecture };
}

function isRelevant(path: string): boolean {
  return (
    path === releaseDirectory ||
    path === `${whiteout}${releaseDirectory}` ||
    path === opaque ||
    path.startsWith(`${releaseDirectory}/`)
  );
}

/**
 * Adds what a layer shows to what the layers above it show.
 *
 * @returns whether nothing below this layer can be seen any more. Whiteouts: image-spec, layer.md.
 */
function addLayer(
  entries: readonly LayerEntry[],
  files: Map<string, Uint8Array>,
  hidden: Set<string>,
): boolean {
  const covered = new Set<string>();
  const added = new Map<string, Uint8Array>();
  let last = false;
  for (const { path, kind, data } of entries) {
    if (path === opaque || path === `${whiteout}${releaseDirectory}`) last = true;
    // A file or a link in the place of the directory hides it as well.
    if (path === releaseDirectory && kind !== 'directory') last = true;
    const name = path.startsWith(`${releaseDirectory}/`)
      ? path.slice(releaseDirectory.length + 1)
      : undefined;
    if (name === undefined || name.includes('/')) continue;
    if (name === opaque) last = true;
    else if (name.startsWith(whiteout)) covered.add(name.slice(whiteout.length));
    else if (kind === 'file') added.set(name, data);
    else {
      covered.add(name);
      added.delete(name);
    }
  }
  for (const [name, data] of added) {
    if (!files.has(name) && !hidden.has(name)) files.set(name, data);
    hidden.add(name);
  }
  for (const name of covered) hidden.add(name);
  return last;
}
