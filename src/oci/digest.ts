import { createHash, type Hash } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';

/**
 * A content digest as the OCI image specification writes it (descriptor.md, "Digests"). Bundles use sha256 alone;
 * a store and its registry keep what others pushed under sha512 as well.
 */
export type Digest = `sha256:${string}` | `sha512:${string}`;

/** Of no bytes at all: the only digest under which an empty blob may stand. */
export const emptyDigest: Digest = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Whether a blob without bytes may stand under this digest. */
export function isEmptyDigest(digest: Digest): boolean {
  return digest === emptyDigest || digest === emptySha512;
}

const emptySha512: Digest = `sha512:${createHash('sha512').digest('hex')}`;

const sha256Form = /^sha256:[0-9a-f]{64}$/;
const sha512Form = /^sha512:[0-9a-f]{128}$/;

/** Errors: DigestInvalid, also for algorithms that the specification knows and Sluice does not read. */
export function parseDigest(text: string): Digest {
  if (isDigest(text)) return text;
  if (/^sha512:[0-9a-f]{128}$/.test(text)) {
    throw new SluiceError('DigestInvalid', `the digest ${text.slice(0, 20)}… uses sha512`, {
      next: 'Only sha256 digests are read: publish the content under its sha256 digest.',
    });
  }
  throw new SluiceError('DigestInvalid', `"${text.slice(0, 90)}" is not a digest`);
}

/** Whether `text` is a sha256 digest. Upper-case hexadecimal is not (image-spec, descriptor.md). */
export function isDigest(text: string): text is Digest {
  return sha256Form.test(text);
}

/** Whether `text` is a digest that a registry keeps content under: sha256 or sha512. */
export function isAnyDigest(text: string): text is Digest {
  return sha256Form.test(text) || sha512Form.test(text);
}

export type DigestAlgorithm = 'sha256' | 'sha512';
export const digestAlgorithms: readonly DigestAlgorithm[] = ['sha256', 'sha512'];

export function algorithmOf(digest: Digest): DigestAlgorithm {
  return digest.startsWith('sha512:') ? 'sha512' : 'sha256';
}

/** A running hash of the kind that a digest needs. */
export function hashFor(digest: Digest): Hash {
  return createHash(algorithmOf(digest));
}

/** Whether these are the bytes that a digest names. */
export function isDigestOf(digest: Digest, bytes: Uint8Array): boolean {
  return hashFor(digest).update(bytes).digest('hex') === hexOf(digest);
}

/** The digest of these exact bytes. */
export function digestOf(bytes: Uint8Array): Digest {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** The hexadecimal digits: 64, or 128 of a sha512. */
export function hexOf(digest: Digest): string {
  return digest.slice('sha256:'.length);
}

/** The tag under which tools without the referrers API keep what belongs to `digest` (distribution-spec, "Referrers Tag Schema"). */
export function referrersTag(digest: Digest): string {
  // The tag schema cuts what is encoded at 64 characters.
  return `${algorithmOf(digest)}-${hexOf(digest).slice(0, 64)}`;
}
