import { SluiceError } from '../errors/error.ts';
import type { Media } from '../media/media.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import type { TreeContent } from '../store/content.ts';

/**
 * Media that others made, as a source of images: whatever repository holds a digest gives it, so that the images of
 * a payload are found wherever a mirroring tool put them. Nothing of it is believed: each byte is hashed while it is
 * taken, and the key that signs the new bundle is the decision to trust it.
 */
export function mediaSource(media: Media): ContentSource {
  const { content } = media;
  const homes = new Map<string, Promise<string | undefined>>();

  function homeOf(kind: 'manifest' | 'blob', digest: Digest, named: string): Promise<string | undefined> {
    const key = `${kind} ${digest}`;
    const known = homes.get(key) ?? findHome(content, kind, digest, named);
    homes.set(key, known);
    return known;
  }

  return {
    label: content.label,
    async manifest(repository, reference) {
      const subject = /^sha256-([0-9a-f]{64})(?:\.|$)/.exec(reference)?.[1];
      const digest = isDigest(reference)
        ? reference
        : subject === undefined
          ? undefined
          : (`sha256:${subject}` as Digest);
      if (digest === undefined) return await content.manifest(repository, reference);
      const home = await homeOf('manifest', digest, repository);
      return home === undefined ? undefined : await content.manifest(home, reference);
    },
    async blob(repository, digest, options) {
      const home = await homeOf('blob', digest, repository);
      return home === undefined ? undefined : await content.blob(home, digest, options);
    },
    tags: (repository) => content.tags(repository),
    async referrers(repository, digest) {
      const home = await homeOf('manifest', digest, repository);
      return home === undefined ? [] : await content.referrers(home, digest);
    },
  };
}

async function findHome(
  content: TreeContent,
  kind: 'manifest' | 'blob',
  digest: Digest,
  named: string,
): Promise<string | undefined> {
  if (await content.hasLink(named, kind, digest)) return named;
  for (const repository of await content.repositories()) {
    if (await content.hasLink(repository, kind, digest)) return repository;
  }
  return undefined;
}

/** The digest that a tag names on media; undefined without one. Errors: NotFound. */
export async function resolveOnMedia(
  media: Media,
  repository: string,
  reference: string | undefined,
): Promise<Digest | undefined> {
  if (reference === undefined || isDigest(reference)) return reference;
  const digest = await media.content.resolveTag(repository, reference);
  if (digest !== undefined) return digest;
  const tags = (await media.content.tags(repository)).slice(0, 10);
  throw new SluiceError('NotFound', `${media.path} has no ${repository}:${reference}`, {
    next:
      tags.length > 0
        ? `It has the tags ${tags.join(', ')}.`
        : `It has the repositories ${(await media.content.repositories()).slice(0, 10).join(', ')}.`,
  });
}
