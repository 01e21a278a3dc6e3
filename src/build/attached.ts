import type { Attachment } from '../bundle/document.ts';
import { SluiceError } from '../errors/error.ts';
import { type Digest, referrersTag } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';

/** Endings of the tags under which cosign keeps what belongs to an image. */
const attachedTags = ['.sig', '.att', '.sbom'];
const attachedMax = 64;

/**
 * Signatures, attestations and referrers of these manifests (an index and each of its children), and what refers to
 * those in turn. Only "not there" counts as none: a registry that cannot answer ends the build.
 *
 * Errors: InputTooLarge, and those of the source.
 */
export async function findAttached(
  content: ContentSource,
  repository: string,
  subjects: readonly Digest[],
): Promise<Attachment[]> {
  const found = new Map<Digest, Attachment>();
  const asked = new Set<Digest>(subjects);
  for (const subject of asked) {
    for (const attachment of await attachedTo(content, repository, subject)) {
      // A fallback list that names its own subject is a known fault of tools.
      if (subjects.includes(attachment.digest) || found.get(attachment.digest)?.tag !== undefined) continue;
      found.set(attachment.digest, attachment);
      if (attachment.tag === undefined) asked.add(attachment.digest);
    }
    if (found.size > attachedMax) {
      throw new SluiceError(
        'InputTooLarge',
        `${subject} has more than ${attachedMax} signatures and referrers`,
      );
    }
  }
  return [...found.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
}

async function attachedTo(
  content: ContentSource,
  repository: string,
  subject: Digest,
): Promise<Attachment[]> {
  const found: Attachment[] = [];
  const tags = attachedTags.map((ending) => `${referrersTag(subject)}${ending}`);
  const tagged = await Promise.all(tags.map((tag) => content.manifest(repository, tag)));
  for (const [index, raw] of tagged.entries()) {
    const tag = tags[index];
    if (raw !== undefined && tag !== undefined) found.push({ digest: raw.digest, tag });
  }
  for (const referrer of await content.referrers(repository, subject)) {
    // A referrers list may name what is no longer there; that is no part of the image.
    if ((await content.manifest(repository, referrer.digest)) !== undefined)
      found.push({ digest: referrer.digest });
  }
  return found;
}
