import type { ImageDigestMirrorSet } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { type ImageReference, parseReference } from '../oci/reference.ts';
import type { ImageLocation } from './runner.ts';

/** Where an image can be pulled from, in the order to try; or why it is not pulled at all. */
export type ImageResolution =
  | { readonly digest: Digest; readonly locations: readonly ImageLocation[] }
  | { readonly refused: 'InvalidImageName' | 'ErrImageNeverPull'; readonly message: string };

interface Mirrored {
  readonly source: string;
  readonly mirrors: readonly string[];
  readonly sourceAllowed: boolean;
}

/**
 * Resolves the image of a container through the mirror sets: of all sources that the name begins with, the longest
 * decides (containers-registries.conf(5)). An image without a digest is refused: what a tag means today nobody has
 * verified.
 *
 * @param ownHost `host:port` of this node's own registry, asked before the others.
 */
export function resolveImage(
  image: string,
  sets: readonly ImageDigestMirrorSet[],
  ownHost: string,
): ImageResolution {
  let reference: ImageReference;
  try {
    reference = parseReference(image);
  } catch (error) {
    return {
      refused: 'InvalidImageName',
      message: `Failed to apply default image tag "${image}": couldn't parse image name "${image}": ${messageOf(error)}`,
    };
  }
  const { digest } = reference;
  if (digest === undefined) {
    return {
      refused: 'InvalidImageName',
      message: `"${image}" names no digest: this node runs images by digest only`,
    };
  }
  const name = `${reference.host}/${reference.repository}`;
  const matches = mirrorsOf(sets).filter(({ source }) => covers(source, name));
  const longest = Math.max(0, ...matches.map(({ source }) => source.length));
  const deciding = matches.filter(({ source }) => source.length === longest);
  const names = new Set<string>();
  for (const { source, mirrors } of deciding) {
    const rest = source.startsWith('*.') ? `/${reference.repository}` : name.slice(source.length);
    for (const mirror of mirrors) names.add(`${mirror}${rest}`);
  }
  // Sets that speak of the same source must all allow it.
  if (deciding.every(({ sourceAllowed }) => sourceAllowed)) names.add(name);
  const locations = [...names].flatMap((text) => locationOf(text, digest));
  const isOwn = (location: ImageLocation) => location.host === ownHost;
  return {
    digest,
    locations: [...locations.filter(isOwn), ...locations.filter((location) => !isOwn(location))],
  };
}

/**
 * The registries of the control plane, as `host:port`: this node's own, the name that stands for all of them, and the
 * mirrors at their port. Only these are given the password; a Pod may name any host.
 */
export function controlPlaneHosts(
  sets: readonly ImageDigestMirrorSet[],
  ownHost: string,
  commonHost: string,
): ReadonlySet<string> {
  const port = portOf(ownHost);
  const mirrors = mirrorsOf(sets).flatMap((each) => each.mirrors.map((mirror) => mirror.split('/')[0] ?? ''));
  return new Set([ownHost, commonHost, ...mirrors.filter((host) => portOf(host) === port)]);
}

function portOf(host: string): string | undefined {
  return /:(\d+)$/.exec(host)?.[1];
}

function mirrorsOf(sets: readonly ImageDigestMirrorSet[]): Mirrored[] {
  return sets.flatMap((set) =>
    (set.spec.imageDigestMirrors ?? []).map(({ source, mirrors, mirrorSourcePolicy }) => ({
      source,
      mirrors: mirrors ?? [],
      sourceAllowed: mirrorSourcePolicy !== 'NeverContactSource',
    })),
  );
}

/** Whether an image name lies at or below a source; a source ends only where a path component does. */
function covers(source: string, name: string): boolean {
  if (source.startsWith('*.')) {
    const host = name.slice(0, name.indexOf('/')).replace(/:\d+$/, '');
    return host.endsWith(source.slice(1));
  }
  return name === source || name.startsWith(`${source}/`);
}

function locationOf(name: string, digest: Digest): ImageLocation[] {
  try {
    const { host, repository } = parseReference(name);
    return [{ host, repository, digest }];
  } catch {
    return []; // A mirror that is no name of a repository; the others may do.
  }
}
