import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildImages, type DemoImages } from './images.ts';
import { root, type Shell, type Teller } from './stage.ts';

export const from = '1.0.0';
export const to = '1.1.0';

/** The directory of the keys below that of the demo. */
export function keysOf(directory: string): string {
  return join(directory, 'keys');
}

/** The media of a release: the one that is installed from a directory, the one that is updated to an ISO. */
export function mediaOf(directory: string, version: string): string {
  return join(directory, 'media', version === to ? `${version}.iso` : version);
}

/**
 * Builds and signs both releases as a release engineer does, below `directory`.
 * @param releases where their own manifests are: `<version>/{network,cache}`.
 */
export async function buildReleases(
  directory: string,
  shell: Shell,
  teller: Teller,
  releases = join(root, 'demo', 'releases'),
): Promise<void> {
  const keys = keysOf(directory);
  teller.heading('A release engineer builds two releases and signs them');
  await shell.sluice(['bundle', 'keygen', '--out', keys]);
  teller.say('building images from busybox and curl of this machine');
  const images = await buildImages(join(directory, 'images'), [from, to]);
  await mkdir(join(directory, 'media'), { recursive: true });
  const build = async (version: string, previous: string | undefined, quiet: boolean) => {
    const payload = `oci:${join(directory, 'payloads', version)}:${version}`;
    await shell.sluice(payloadWords(join(releases, version), version, previous, images, payload), { quiet });
    await shell.sluice(bundleWords(version, images, payload, directory), { quiet });
  };
  // Both at once, and one of them quietly: once is enough to read. None goes on when this has ended.
  const built = await Promise.allSettled([build(from, undefined, true), build(to, from, false)]);
  for (const each of built) if (each.status === 'rejected') throw each.reason;
  await shell.sluice(['bundle', 'verify', mediaOf(directory, to), '--key', join(keys, 'sluice.pub')]);
}

/** The tags of a release and the images that they are. */
function tagsOf(version: string, images: DemoImages): [string, string][] {
  const tags = ['network-operator', 'cache-operator', 'node-os', ...(version === to ? ['cache-check'] : [])];
  return tags.map((tag) => [tag, images.source(`${version}-${tag}`)]);
}

function payloadWords(
  manifests: string,
  version: string,
  previous: string | undefined,
  images: DemoImages,
  out: string,
): string[] {
  return [
    ...['payload', 'build', '--version', version],
    ...(previous === undefined ? [] : ['--previous', previous]),
    ...['--manifests', join(manifests, 'network'), join(manifests, 'cache')],
    ...['--image', ...tagsOf(version, images).map(([tag, source]) => `${tag}=${source}`)],
    ...['--base', images.source('base'), '--out', out],
  ];
}

function bundleWords(version: string, images: DemoImages, payload: string, directory: string): string[] {
  return [
    ...['bundle', 'build', '--payload', payload],
    ...['--image', ...tagsOf(version, images).map(([tag, source]) => `${tag}=${source}`)],
    ...['--key', join(keysOf(directory), 'sluice.key'), '--out', mediaOf(directory, version)],
  ];
}
