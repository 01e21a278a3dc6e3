import { isSluiceError, SluiceError } from '../errors/error.ts';
import type { Media } from '../media/media.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import type { Descriptor } from '../oci/manifest.ts';
import type { ContentSource } from '../oci/source.ts';

/**
 * Media that others made, as a source of images: whatever repository holds a digest gives it, so that the images of
 * a payload are found wherever a mirroring tool put them. Nothing of it is believed: each byte is hashed while it is
 * taken, and the key that signs the new bundle is the decision to trust it.
 */
export function mediaSource(media: Media): ContentSource {
  const { content } = media;
  const homes = new Map<string, Promise<string[]>>();
  const checked = new Map<string, Promise<void>>();
  let repositories: Promise<string[]> | undefined;

  /** Every repository that holds it; where it is asked for is looked at first. */
  function homesOf(kind: 'manifest' | 'blob', digest: Digest, named: string): Promise<string[]> {
    const find = async () => {
      repositories ??= content.repositories();
      const found: string[] = [];
      for (const repository of new Set([named, ...(await repositories)])) {
        if (await content.hasLink(repository, kind, digest)) found.push(repository);
        // Bytes are the same everywhere; what belongs to an image may stand in one of its places only.
        if (kind === 'blob' && found.length > 0) break;
      }
      return found;
    };
    const key = `${kind} ${digest}`;
    const known = homes.get(key) ?? find();
    homes.set(key, known);
    return known;
  }

  /** A damaged manifest may be the signature that is looked for. Errors: DigestMismatch. */
  function requireReadable(repository: string): Promise<void> {
    const read = async () => {
      for (const digest of await content.links(repository, 'manifest')) {
        try {
          await content.manifest(repository, digest);
        } catch (error) {
          // What is no manifest of today (schema 1) signs nothing.
          if (!isSluiceError(error, 'InputInvalid')) throw error;
        }
      }
    };
    const known = checked.get(repository) ?? read();
    checked.set(repository, known);
    return known;
  }

  return {
    label: content.label,
    async manifest(repository, reference) {
      const subject = /^sha256-([0-9a-f]{64})(?:\.|$)/.exec(reference)?.[1];
      if (subject !== undefined) {
        for (const home of await homesOf('manifest', `sha256:${subject}`, repository)) {
          const raw = await content.manifest(home, reference);
          if (raw !== undefined) return raw;
        }
        return undefined;
      }
      if (!isDigest(reference)) return await content.manifest(repository, reference);
      const [home] = await homesOf('manifest', reference, repository);
      return home === undefined ? undefined : await content.manifest(home, reference);
    },
    async blob(repository, digest, options) {
      const [home] = await homesOf('blob', digest, repository);
      return home === undefined ? undefined : await content.blob(home, digest, options);
    },
    tags: (repository) => content.tags(repository),
    async referrers(repository, digest) {
      const found = new Map<Digest, Descriptor>();
      for (const home of await homesOf('manifest', digest, repository)) {
        await requireReadable(home);
        for (const each of await content.referrers(home, digest)) found.set(each.digest, each);
      }
      return [...found.values()];
    },
  };
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
