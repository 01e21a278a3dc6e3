import { openBundle } from '../bundle/bundle.ts';
import { bundleRepository } from '../bundle/document.ts';
import { messageOf } from '../errors/error.ts';
import type { ContentSource } from '../oci/source.ts';
import { readPayload } from '../payload/payload.ts';
import type { TrustedKey } from '../trust/keys.ts';
import type { GraphRelease } from './graph.ts';

export interface ReadReleases {
  readonly releases: readonly GraphRelease[];
  /** Bundles that cannot be used, in words: what is unsigned is no node. */
  readonly problems: readonly string[];
}

/** Bundles of one source; more are not read. */
const bundlesMax = 1000;

/** Every release that the sources hold, opened by its signature, with what its payload says of channels. */
export async function readReleases(
  sources: readonly ContentSource[],
  keys: readonly TrustedKey[],
): Promise<ReadReleases> {
  const releases: GraphRelease[] = [];
  const problems: string[] = [];
  for (const content of sources) {
    const tags = (await content.tags(bundleRepository)).filter((tag) => !tag.startsWith('sha256-'));
    for (const name of tags.sort().slice(0, bundlesMax)) {
      try {
        releases.push(await readRelease(content, name, keys));
      } catch (error) {
        problems.push(`${content.label}: ${name}: ${messageOf(error)}`);
      }
    }
  }
  return { releases, problems };
}

async function readRelease(
  content: ContentSource,
  name: string,
  keys: readonly TrustedKey[],
): Promise<GraphRelease> {
  const { document, signedBy } = await openBundle(content, { name }, keys);
  const image = document.images.find((each) => each.role === 'payload');
  const repository = image?.repository ?? '';
  const payload = await readPayload(content, repository, document.payload);
  return {
    version: document.version,
    arch: document.arch,
    image: `${image?.source ?? repository}@${document.payload}`,
    digest: document.payload,
    previous: document.previous,
    channels: payload.channels,
    url: payload.url,
    bundle: document.name,
    signedBy: signedBy.name,
  };
}
