import { SluiceError } from '../errors/error.ts';
import { type Digest, digestOf } from './digest.ts';
import { type Manifest, parseManifest } from './manifest.ts';
import type { ContentSource, RawManifest } from './source.ts';

/**
 * A manifest that must be there, with its bytes.
 * Errors: ContentMissing, and those of `parseManifest`.
 */
export async function readManifest(
  source: ContentSource,
  repository: string,
  reference: string,
): Promise<{ raw: RawManifest; manifest: Manifest }> {
  const raw = await source.manifest(repository, reference);
  if (raw === undefined) {
    const joined = reference.startsWith('sha256:')
      ? `${repository}@${reference}`
      : `${repository}:${reference}`;
    throw new SluiceError('ContentMissing', `${source.label} has no manifest ${joined}`);
  }
  return { raw, manifest: parseManifest(raw.bytes, raw.mediaType) };
}

/**
 * A whole small blob, verified.
 * @param bytesMax the most it may hold. Errors: ContentMissing, InputTooLarge, DigestMismatch.
 */
export async function readBlob(
  source: ContentSource,
  repository: string,
  digest: Digest,
  bytesMax: number,
): Promise<Uint8Array> {
  const blob = await source.blob(repository, digest);
  if (blob === undefined) {
    throw new SluiceError('ContentMissing', `${source.label} has no blob ${repository}@${digest}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of blob.stream) {
    size += chunk.length;
    if (size > bytesMax) {
      throw new SluiceError(
        'InputTooLarge',
        `the blob ${repository}@${digest} is larger than ${bytesMax} bytes`,
      );
    }
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (digestOf(bytes) !== digest) {
    throw new SluiceError(
      'DigestMismatch',
      `${source.label}: the bytes of ${repository}@${digest} have another digest`,
    );
  }
  return bytes;
}
