import { SluiceError } from '../errors/error.ts';
import { type Digest, isAnyDigest, referrersTag } from '../oci/digest.ts';
import { type Descriptor, parseManifest, referrerDescriptor } from '../oci/manifest.ts';
import type { ContentSource } from '../oci/source.ts';

/** Manifests of one repository that are looked at for one answer, and bytes that are read for it. */
const manifestsMax = 100_000;
const bytesMax = 1024 * 1024 * 1024;

/** What is asked of the content that is looked through. */
interface Looked extends Pick<ContentSource, 'label' | 'manifest'> {
  links(repository: string, kind: 'manifest'): Promise<Digest[]>;
  hasLink(repository: string, kind: 'manifest', digest: Digest): Promise<boolean>;
}

interface Referrer {
  readonly subject: Digest;
  readonly descriptor: Descriptor;
}

/**
 * Finds the manifests of a repository whose subject is a digest. The layout has no index of them, so that the
 * manifests themselves are read, each once: what a digest says never changes. The fallback tag is read too, as
 * a set, and what it names about itself or names in vain is left out. Errors: InputTooLarge: media that
 * nobody has verified must not keep us reading.
 */
export function createReferrers(
  content: Looked,
  limits: { readonly manifestsMax: number; readonly bytesMax: number } = { manifestsMax, bytesMax },
): (repository: string, digest: Digest) => Promise<Descriptor[]> {
  const known = new Map<Digest, Referrer | undefined>();

  const tooMany = (repository: string, what: string) =>
    new SluiceError(
      'InputTooLarge',
      `${content.label}: the manifests of ${repository} are more than ${what}`,
    );

  async function look(
    repository: string,
    revision: Digest,
    count: (bytes: number) => void,
  ): Promise<Referrer | undefined> {
    if (known.has(revision)) return known.get(revision);
    const raw = await content.manifest(repository, revision).catch(() => undefined); // A damaged one refers to nothing.
    if (raw === undefined) return undefined;
    count(raw.bytes.length);
    const manifest = parseManifest(raw.bytes, raw.mediaType);
    const found =
      manifest.subject === undefined
        ? undefined
        : {
            subject: manifest.subject.digest,
            descriptor: referrerDescriptor(revision, raw.bytes.length, manifest),
          };
    known.set(revision, found);
    return found;
  }

  return async (repository, digest) => {
    const found = new Map<Digest, Descriptor>();
    let bytes = 0;
    const count = (more: number) => {
      bytes += more;
      if (bytes > limits.bytesMax) throw tooMany(repository, `${limits.bytesMax} bytes`);
    };
    const revisions = await content.links(repository, 'manifest');
    if (revisions.length > limits.manifestsMax) throw tooMany(repository, `${limits.manifestsMax}`);
    for (const revision of revisions) {
      const referrer = await look(repository, revision, count);
      if (referrer?.subject === digest) found.set(revision, referrer.descriptor);
    }
    for (const entry of await fallback(content, repository, digest)) {
      if (entry.digest === digest || found.has(entry.digest) || !isAnyDigest(entry.digest)) continue;
      if (await content.hasLink(repository, 'manifest', entry.digest)) found.set(entry.digest, entry);
    }
    return [...found.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
  };
}

async function fallback(content: Looked, repository: string, digest: Digest): Promise<readonly Descriptor[]> {
  const raw = await content.manifest(repository, referrersTag(digest));
  if (raw === undefined) return [];
  const manifest = parseManifest(raw.bytes, raw.mediaType);
  return manifest.kind === 'index' ? manifest.manifests : [];
}
