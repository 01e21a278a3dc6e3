import { SluiceError } from '../errors/error.ts';
import type { Descriptor, IndexManifest, Platform } from './manifest.ts';

/** On an attestation inside an index: the digest of the image that it speaks of (BuildKit). */
const attestedAnnotation = 'vnd.docker.reference.digest';
const platformForm = /^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9.]+)?$/;

/** Whether a text is a platform as it is written for people: `linux/amd64`, `linux/arm/v7`. */
export function isPlatformName(text: string): boolean {
  return platformForm.test(text);
}

/**
 * Children of an index that these platforms need. An attestation goes with the image that it speaks of; what says
 * no platform (an index inside, an artifact) is always needed.
 *
 * @param platforms undefined: all of them.
 */
export function selectChildren(
  index: IndexManifest,
  platforms: readonly string[] | undefined,
): readonly Descriptor[] {
  if (platforms === undefined) return index.manifests;
  const isWanted = (child: Descriptor) => child.platform === undefined || isAmong(child.platform, platforms);
  const wanted = new Set<string>(index.manifests.filter(isWanted).map((child) => child.digest));
  return index.manifests.filter((child) => {
    const attested = child.annotations?.[attestedAnnotation];
    return attested === undefined ? isWanted(child) : wanted.has(attested);
  });
}

function isAmong(platform: Platform, platforms: readonly string[]): boolean {
  const name = `${platform.os}/${platform.architecture}`;
  return platforms.some((each) => each === name || each === `${name}/${platform.variant ?? ''}`);
}

/**
 * Refuses an index that has none of the platforms: a node would find that out too late. Errors: ContentMissing.
 * @param named the platforms that it has, those of indexes in it with them; none: it has no platforms to choose.
 */
export function requirePlatform(
  named: readonly Platform[],
  platforms: readonly string[],
  where: string,
): void {
  if (named.length === 0 || named.some((platform) => isAmong(platform, platforms))) return;
  const has = named.map((each) => `${each.os}/${each.architecture}`).join(', ');
  throw new SluiceError(
    'ContentMissing',
    `${where} has no image for ${platforms.join(', ')}; it has ${has}`,
    {
      next: 'Choose other platforms (--platform), or all of them by leaving it out.',
    },
  );
}
