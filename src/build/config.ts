import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { type ImageConfig, ownArchitecture, readConfig, resolveImage } from '../oci/image.ts';
import { readManifest } from '../oci/read.ts';
import type { ContentSource } from '../oci/source.ts';

/**
 * The configuration of an image of any platform, this machine's where an index has it: a release for one
 * architecture is often built on another. Errors: ContentMissing, DigestMismatch, InputInvalid.
 */
export async function anyConfig(
  content: ContentSource,
  repository: string,
  digest: Digest,
  platform?: string,
): Promise<ImageConfig> {
  const { manifest } = await readManifest(content, repository, digest);
  if (manifest.kind === 'image') return await readConfig(content, repository, digest);
  const platforms = manifest.manifests.flatMap((child) =>
    child.platform?.os === 'linux' ? [child.platform] : [],
  );
  const wanted = platform?.split('/')[1] ?? ownArchitecture();
  const own = platforms.find((each) => each.architecture === wanted) ?? platforms[0];
  if (own === undefined) throw new SluiceError('InputInvalid', `the index ${digest} has no image for linux`);
  const image = await resolveImage(content, repository, digest, own);
  return await readConfig(content, repository, image.digest);
}

/** Whether an image is one that nodes boot, by its labels: of bootc, or the kernel that rpm-ostree names. */
export function isOsImage(labels: Readonly<Record<string, string>>): boolean {
  return labels['ostree.linux'] !== undefined || labels['containers.bootc'] !== undefined;
}
