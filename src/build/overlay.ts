import type { Digest } from '../oci/digest.ts';
import type { ContentSource, RawManifest } from '../oci/source.ts';

/** A manifest that is made while building, with its blobs. */
export interface Artifact {
  readonly raw: RawManifest;
  readonly blobs: ReadonlyMap<Digest, Uint8Array>;
  /** The manifest that it refers to. */
  readonly subject: Digest;
  readonly artifactType: string;
}

/** A source with one artifact more, as though it had been pushed there. */
export function withArtifact(content: ContentSource, artifact: Artifact): ContentSource {
  const { raw, blobs, subject, artifactType } = artifact;
  return {
    label: content.label,
    manifest: async (repository, reference) =>
      reference === raw.digest ? raw : await content.manifest(repository, reference),
    async blob(repository, digest, options = {}) {
      const bytes = blobs.get(digest);
      if (bytes === undefined) return await content.blob(repository, digest, options);
      return { size: bytes.length, stream: once(bytes.subarray(options.offset ?? 0)) };
    },
    tags: (repository) => content.tags(repository),
    async referrers(repository, digest) {
      const found = await content.referrers(repository, digest);
      if (digest !== subject) return found;
      const { mediaType } = raw;
      return [...found, { mediaType, digest: raw.digest, size: raw.bytes.length, artifactType }];
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
