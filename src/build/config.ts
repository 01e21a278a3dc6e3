import { isSluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { type ImageConfig, ownArchitecture, platformsOf, readConfig, resolveImage } from '../oci/image.ts';
import { readManifest } from '../oci/read.ts';
import type { ContentSource } from '../oci/source.ts';

/**
 * The configuration of an image of any platform, this machine's where an index has it: a release for one
 * architecture is often built on another. Undefined of an index that holds no images. Errors: ContentMissing,
 * DigestMismatch, InputInvalid.
 */
export async function anyConfig(
  content: ContentSource,
  repository: string,
  digest: Digest,
  platform?: string,
): Promise<ImageConfig | undefined> {
  const architecture = platform?.split('/')[1] ?? ownArchitecture();
  // An attestation in an index says that it is for `unknown`.
  const named = (await platformsOf(content, repository, digest)).filter(({ os }) => os !== 'unknown');
  const linux = named.filter(({ os }) => os === 'linux');
  const own = linux.find((each) => each.architecture === architecture) ?? linux[0] ?? named[0];
  try {
    const image = await resolveImage(content, repository, digest, own ?? { os: 'linux', architecture });
    return await readConfig(content, repository, image.digest);
  } catch (error) {
    if (own === undefined && isSluiceError(error, 'ContentMissing')) return undefined;
    throw error;
  }
}

/** Whether an image is one that nodes boot, by its labels: of bootc, or the kernel that rpm-ostree names. */
export function isOsImage(labels: Readonly<Record<string, string>>): boolean {
  return labels['ostree.linux'] !== undefined || labels['containers.bootc'] !== undefined;
}

/**
 * Images of one platform that is none of those wanted, as lines for people: what the wanted platform cannot run may
 * be meant (data, for instance), and would be found out too late where it is not. Errors: those of the source.
 */
export async function otherPlatforms(
  images: readonly {
    readonly image: { readonly name: string; readonly digest: Digest };
    readonly plan: { readonly content: ContentSource; readonly from: string };
  }[],
  platforms: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  for (const { image, plan } of images) {
    const { manifest } = await readManifest(plan.content, plan.from, image.digest);
    if (manifest.kind !== 'image') continue;
    const { os, architecture } = await readConfig(plan.content, plan.from, image.digest);
    const own = `${os}/${architecture}`;
    if (os === '' || architecture === '') continue; // No image that is run.
    if (platforms.some((each) => each === own || each.startsWith(`${own}/`))) continue;
    found.push(
      `${image.name} is for ${own} alone, and goes along though ${platforms.join(', ')} is asked for`,
    );
  }
  return found;
}
